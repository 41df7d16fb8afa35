"""Every value is in one fragment; a sketch is written in few bytes and read as it was, or refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from airflow_lineage_provider.errors import SketchDamaged, SketchError, SketchTooNew
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.packed import FORMAT, packed
from airflow_lineage_provider.sketches.partition import MOST_CUTS, Partition
from airflow_lineage_provider.sketches.sketch import Sketch

NAN = float("nan")


@pytest.mark.parametrize(
    ("kind", "cuts", "expected"),
    [
        ("int", (0, 10), {-5: 0, 0: 1, 9: 1, 10: 2, None: 3}),
        ("decimal(10,2)", (Decimal("1.5"),), {Decimal("1.49"): 0, Decimal("1.5"): 1, 2: 1, None: 2}),
        ("date", (date(2020, 1, 1),), {date(2019, 12, 31): 0, date(2020, 1, 1): 1, None: 2}),
        ("timestamp", (datetime(2020, 1, 1, 12),), {datetime(2020, 1, 1, 11, 59): 0, datetime(2021, 1, 1): 1, None: 2}),
        ("string", ("b", "é"), {"": 0, "B": 0, "b": 1, "z": 1, "é": 2, "\U0001f600": 2, None: 3}),
        ("boolean", (True,), {False: 0, True: 1, None: 2}),
        ("double", (0.0,), {-0.0: 1, float("-inf"): 0, float("inf"): 1, None: 2, NAN: 3}),
        ("bigint", (), {1: 0, None: 1}),
    ],
)
def test_every_value_is_in_one_fragment(kind: str, cuts: tuple[Any, ...], expected: dict[Any, int]) -> None:
    made = Partition(type=kind, cuts=cuts)
    assert {value: made.fragment_of(value) for value in expected} == expected
    assert made.count == max(expected.values()) + 1


def test_strings_are_cut_by_their_bytes() -> None:
    """UTF-16's order, Java's own, has these the other way round."""
    assert Partition(type="string", cuts=("\uff21",)).fragment_of("\U0001f600") == 1


@pytest.mark.parametrize(
    ("kind", "cuts", "told"),
    [
        ("array<int>", (), "no order"),
        ("string collate UNICODE", ("a",), "not that of its bytes"),
        ("int", (1, 1), "more than the one before"),
        ("int", (2, 1), "more than the one before"),
        ("int", (None,), "None is no cut"),
        ("int", ("1",), "'1' is no cut"),
        ("int", (True,), "True is no cut"),
        ("double", (NAN,), "nan is no cut"),
        ("date", (datetime(2020, 1, 1),), "is no cut"),
        ("int", tuple(range(MOST_CUTS + 1)), "too many"),
    ],
)
def test_what_cannot_be_cut_is_refused(kind: str, cuts: tuple[Any, ...], told: str) -> None:
    with pytest.raises(SketchError, match=told):
        Partition(type=kind, cuts=cuts)


def test_a_value_of_another_type_is_in_no_fragment() -> None:
    with pytest.raises(SketchError, match="'a' is no value of type int"):
        Partition(type="int", cuts=()).fragment_of("a")


def sketch(share: float = 0.5, count: int = 10_000) -> Sketch:
    random = Random(1)
    chosen = frozenset(one for one in range(count) if random.random() < share)
    return Sketch(leaf=2, column="o_orderkey", count=count, fragments=chosen, versions=("v1" * 40,) * 8)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_a_sketch_is_read_as_it_was_written_in_few_bytes(share: float) -> None:
    made = sketch(share)
    written = made.to_bytes()
    assert Sketch.from_bytes(written) == made
    assert len(written) <= 10_000
    beside = replace(made, together=(0, 3))
    assert Sketch.from_bytes(beside.to_bytes()) == beside
    assert (written[3], beside.to_bytes()[3]) == (1, 2), "a release that reads it alone would read it wrongly"


def test_what_is_damaged_is_refused() -> None:
    written = sketch().to_bytes()
    for at in range(0, len(written), 97):
        wrong = bytearray(written)
        wrong[at] ^= 0x11
        with pytest.raises(SketchDamaged):
            Sketch.from_bytes(bytes(wrong))
    for cut in (b"", written[:3], written[:8], written[:-1], written + b"x"):
        with pytest.raises(SketchDamaged):
            Sketch.from_bytes(cut)


@pytest.mark.parametrize("body", [b"", b"{}", b"{}\0", b'{"count":8}\0a', b"\xff\0a", b"[1]\0a"])
def test_bytes_with_a_right_checksum_and_no_sketch_are_refused(body: bytes) -> None:
    with pytest.raises(SketchDamaged):
        Sketch.from_bytes(packed(b"SKT", body))
    with pytest.raises(SketchDamaged):
        kept_cuts.from_bytes(packed(b"CUT", body))


def test_a_newer_format_is_named() -> None:
    written = bytearray(sketch().to_bytes())
    written[3] = FORMAT + 1
    with pytest.raises(SketchTooNew, match=f"format {FORMAT + 1}"):
        Sketch.from_bytes(bytes(written))


def test_a_sketch_has_the_partitions_fragments_alone() -> None:
    with pytest.raises(SketchError, match="no fragment 3: there are 3"):
        Sketch(leaf=0, column="a", count=3, fragments=frozenset({3}))
    with pytest.raises(SketchError, match="accurate, superset"):
        Sketch(leaf=0, column="a", count=3, fragments=frozenset(), kind="good")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "cuts"),
    [
        ("bigint", (-(1 << 63), 0, 12345678901234567890)),
        ("decimal(10,2)", (Decimal("-1.50"), Decimal("1E+3"))),
        ("double", (float("-inf"), -1e-300, 0.1, float("inf"))),
        ("string", ("", "a\0'\n", "é", "\U0001f600")),
        ("date", (date(1, 1, 1), date(2020, 2, 29))),
        ("timestamp", (datetime(2020, 1, 1, 12, 0, 0, 1, UTC),)),
        ("timestamp_ntz", (datetime(2020, 1, 1, 12, 0, 0, 1),)),
        ("boolean", (False, True)),
        ("int", ()),
    ],
)
def test_cuts_are_read_as_they_were_written(kind: str, cuts: tuple[Any, ...]) -> None:
    made = Partition(type=kind, cuts=cuts)
    kept = kept_cuts.KeptCuts(partition=made, asked=10, rows=tuple(range(made.count)))
    written = kept.to_bytes()
    assert kept_cuts.KeptCuts.from_bytes(written) == kept
    assert kept_cuts.from_bytes(written) == made
    for at in range(len(written)):
        with pytest.raises(SketchDamaged):
            kept_cuts.from_bytes(written[:at] + bytes([written[at] ^ 0x11]) + written[at + 1 :])


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"int","cuts":["a"]}',
        b'{"type":"map<int,int>","cuts":["1"]}',
        b'{"type":"int","cuts":["2","1"]}',
        b'{"type":"int","cuts":["2"],"rows":[1]}',
    ],
)
def test_cuts_that_are_none_are_refused(body: bytes) -> None:
    with pytest.raises(SketchDamaged, match="cannot be read"):
        kept_cuts.from_bytes(packed(b"CUT", body))
