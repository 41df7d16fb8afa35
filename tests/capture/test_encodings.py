"""Every encoding gives the edges that it was given, and the smallest is chosen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.capture import choosing
from airflow_lineage_provider.capture.choosing import choose, sampled
from airflow_lineage_provider.capture.csr import Csr, Edges, csr
from airflow_lineage_provider.capture.encodings import ENCODINGS
from airflow_lineage_provider.capture.encodings.written import from_bytes, to_bytes
from airflow_lineage_provider.capture.shape import shape_of
from airflow_lineage_provider.errors import EnvironmentProblem, RecordDamaged
from tests.in_turn import in_turn
from tests.in_turn import sampled as some_of

OTHERS = 40


@st.composite
def relations(draw: st.DrawFn) -> Csr:
    """Edges from up to 30 rows to 40: single rows, ranges, all, none."""
    rows = draw(st.integers(0, 30))
    some = st.one_of(
        st.just(range(0)),
        st.integers(0, OTHERS - 1).map(lambda one: range(one, one + 1)),
        st.tuples(st.integers(0, OTHERS), st.integers(0, OTHERS)).map(lambda ends: range(min(ends), max(ends))),
        st.sets(st.integers(0, OTHERS - 1)),
        st.just(range(OTHERS)),
    )
    behind = [sorted(draw(some)) for _ in range(rows)]
    pairs = [(row, rid) for row, some in enumerate(behind) for rid in some]
    edges = np.array(draw(st.permutations(pairs + pairs[:3])), np.int64).reshape(-1, 2)
    return csr(Edges(edges[:, 0], edges[:, 1]), rows, OTHERS)


def _pairs(edges: Edges) -> list[tuple[int, int]]:
    return list(zip(edges.asked.tolist(), edges.rid.tolist(), strict=True))


@settings(deadline=None, max_examples=40)
@given(edges=relations(), data=st.data())
def test_every_encoding_gives_what_it_was_given(edges: Csr, data: st.DataObject) -> None:
    asked = np.array(data.draw(st.lists(st.integers(0, max(edges.rows - 1, 0)), max_size=8 if edges.rows else 0)), np.int64)
    behind = [set(edges.rids[edges.indptr[row] : edges.indptr[row + 1]].tolist()) for row in range(edges.rows)]
    expected = [(place, rid) for place, row in enumerate(asked.tolist()) for rid in sorted(behind[row])]
    assert _pairs(edges.of(asked)) == expected
    for name, encoding in ENCODINGS.items():
        if encoding.holds(edges, OTHERS):
            written = from_bytes(to_bytes(encoding.encode(edges, OTHERS)))
            assert len(written) == edges.rows
            assert _pairs(encoding.of(written, asked, OTHERS)) == expected, name


@settings(deadline=None, max_examples=40)
@given(edges=relations(), wanted=st.lists(st.integers(-1, OTHERS + 1), max_size=40))
def test_every_encoding_may_be_asked_from_the_other_side(edges: Csr, wanted: list[int]) -> None:
    rids = np.array(wanted, np.int64)
    pairs = [(rid, row) for row, rid in _pairs(edges.of(np.arange(edges.rows)))]
    expected = sorted((place, row) for place, one in enumerate(wanted) for rid, row in pairs if rid == one)
    for name, encoding in ENCODINGS.items():
        if encoding.holds(edges, OTHERS):
            assert _pairs(encoding.having(encoding.encode(edges, OTHERS), rids, OTHERS)) == expected, name


@settings(deadline=None, max_examples=40)
@given(edges=relations())
def test_the_inverse_has_the_same_pairs(edges: Csr) -> None:
    own = set(_pairs(edges.of(np.arange(edges.rows))))
    back = edges.inverse(OTHERS)
    assert {(row, rid) for rid, row in _pairs(back.of(np.arange(OTHERS)))} == own
    assert _pairs(back.inverse(edges.rows).of(np.arange(edges.rows))) == sorted(own)


def test_edges_of_very_large_row_sets_are_sorted_as_pairs() -> None:
    large = 1 << 40
    made = csr(Edges(np.array([1, 0, 1, 1]), np.array([large - 1, 5, 7, large - 1])), 2, large << 24)
    assert made.indptr.tolist() == [0, 1, 3]
    assert made.rids.tolist() == [5, 7, large - 1]


def _scattered(size: int, others: int, seed: int) -> list[int]:
    return sorted(np.random.default_rng(seed).choice(others, size, replace=False).tolist())


_MASKS = [0x801, 0x249, 0xFFF, 0x555, 0x3A5, 0x9F1, 0x711, 0x0F3, 0xABC, 0x123]
_PARITIES = [[rid for rid in range(1 << 12) if (rid & mask).bit_count() % 2] for mask in _MASKS]
_RANGES = [[rid for at in _scattered(8, 1_000, row) for rid in range(at * 100, at * 100 + 3 + (at + row) % 6)] for row in range(300)]


@pytest.mark.parametrize(
    ("behind", "others", "chosen"),
    [
        ([[3], [], [1]], 10, "rid array"),
        ([list(range(1000)), list(range(1000))], 1000, "whole"),
        (_RANGES, 100_000, "intervals"),
        ([_scattered(3, 5_000_000, row) for row in range(500)], 5_000_000, "rid index"),
        ([_scattered(200, 50_000, row) for row in range(50)], 50_000, "differences"),
        ([_scattered(20_000, 65_536, row) for row in range(3)], 65_536, "roaring bitmaps"),
        (_PARITIES, 1 << 12, "shared roBDD"),
    ],
)
def test_the_smallest_is_chosen(behind: list[list[int]], others: int, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "SLOW", 0.02)  # a millisecond may be gone on a machine that has other work
    edges = csr(
        Edges(np.repeat(np.arange(len(behind)), list(map(len, behind))), np.array([rid for some in behind for rid in some])),
        len(behind), others,
    )  # fmt: skip
    found = choose([edges], others, shape_of(edges, others))
    sizes = {name: len(to_bytes(one.encode(edges, others))) for name, one in ENCODINGS.items() if one.holds(edges, others)}
    assert found.encoding.name == chosen
    assert sizes[chosen] <= 1.05 * min(sizes.values())
    if chosen != "rid index":
        assert f": {sizes[chosen] / sizes['rid index']:.0%} of the size of a rid index" in found.because


def _edges(behind: Sequence[Any], others: int) -> Csr:
    degrees = [len(some) for some in behind]
    return csr(Edges(np.repeat(np.arange(len(behind)), degrees), np.concatenate([np.asarray(one) for one in behind])), len(behind), others)


def _skewed(name: str) -> tuple[Csr, int]:
    """Maps of which a few rows, or the last rows, are nothing like the others."""
    random, others = np.random.default_rng(7), 1 << 18
    scattered = [random.choice(others, 2, replace=False) for _ in range(8_000)]
    dense = [np.flatnonzero(random.random(others) < 0.2) for _ in range(3)]
    ranges = [np.arange(start, start + 300) for start in random.integers(0, others - 300, 1_000)]
    near = [np.cumsum(random.integers(1, 200, 500)) for _ in range(400)]
    zipf = [random.choice(others, min(int(size), 60_000), replace=False) for size in random.zipf(1.5, 2_000)]
    made = {
        "few large groups after many small": [*scattered, *dense],
        "few large groups before many small": [*dense, *scattered],
        "ranges after single rows": [*scattered, *ranges],
        "neighbours among ranges": [one for both in zip(ranges[:400], near, strict=True) for one in both],
        "nothing but the last": [*([np.empty(0, np.int64)] * 20_000), *dense],
        "zipf": zipf,
        "prefixes after single rows": [*scattered[:500], *(np.arange(0, 3 * size, 3) for size in range(0, 6_000, 60))],
    }[name]
    return _edges(made, others), others


SKEWED = [
    "few large groups after many small", "few large groups before many small", "ranges after single rows", "neighbours among ranges",
    "nothing but the last", "zipf", "prefixes after single rows",
]  # fmt: skip


@pytest.mark.parametrize(("name", "all_of_it"), in_turn(some_of(SKEWED, 2), [True, False]))
def test_of_skewed_maps_too_it_is_within_a_twentieth(name: str, all_of_it: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    edges, others = _skewed(name)
    starts = [*range(0, edges.rows, 4_000), edges.rows]
    parts = [edges.part(first, stop - first) for first, stop in pairwise(starts)]
    monkeypatch.setattr(choosing, "_ALL", 1 << 40 if all_of_it else 0)
    monkeypatch.setattr(choosing, "seconds", lambda *_: 0.0)  # a processor may be shared
    found = choose(parts, others, shape_of(edges, others))
    sizes = {
        name: sum(len(to_bytes(one.encode(part, others))) for part in parts)
        for name, one in ENCODINGS.items()
        if all(one.holds(part, others) for part in parts)
    }
    assert sizes[found.encoding.name] <= 1.05 * min(sizes.values()), (sizes, found)


@settings(deadline=None, max_examples=60)
@given(edges=relations(), count=st.integers(1, 9), size=st.integers(1, 40), middle=st.integers(0, 30), most=st.integers(1, 2))
def test_a_sample_has_rows_of_the_parts(edges: Csr, count: int, size: int, middle: int, most: int) -> None:
    middle = min(middle, edges.rows)
    parts = [one for one in (edges.part(0, middle), edges.part(middle, edges.rows - middle)) if one.rows]
    behind = [[part.rids[start:stop].tolist() for start, stop in pairwise(part.indptr)] for part in parts]
    found = sampled(parts, most, count, size) if parts else []
    assert len(found) <= min(most, len(parts))
    for one in found:
        rows = [one.rids[start:stop].tolist() for start, stop in pairwise(one.indptr)]
        # In their order, the beginning of each.
        assert any(_are_among(rows, own) for own in behind)
    assert sum(len(one.rids) + one.rows for one in found) <= 2 * count * size + count
    whole = sampled(parts, 2, 1, 10_000) if parts else []
    assert all(one.rows in {part.rows for part in parts} for one in whole)


def _are_among(rows: list[list[int]], others: list[list[int]]) -> bool:
    left = iter(others)
    return all(any(other[: len(row)] == row for other in left) for row in rows)


def test_what_is_smaller_and_slow_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = csr(Edges(np.repeat(np.arange(10), list(map(len, _PARITIES))), np.concatenate(_PARITIES)), 10, 1 << 12)
    monkeypatch.setattr("airflow_lineage_provider.capture.choosing.seconds", lambda one, *_: 1e-4 if one.plain else 9.0)
    found = choose([edges], 1 << 12, shape_of(edges, 1 << 12))
    assert found.encoding.plain
    assert "; shared roBDD would be smaller, and too slow" in found.because


def test_without_pyroaring_nothing_is_written_as_bitmaps(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [_scattered(20_000, 65_536, row) for row in range(3)]
    edges = csr(Edges(np.repeat(np.arange(3), 20_000), np.concatenate(sets)), 3, 65_536)
    bitmaps = ENCODINGS["roaring bitmaps"]
    written = bitmaps.encode(edges, 65_536)
    monkeypatch.setitem(sys.modules, "pyroaring", None)
    assert choose([edges], 65_536, shape_of(edges, 65_536)).encoding.name != bitmaps.name
    with pytest.raises(EnvironmentProblem, match=r"roaring bitmaps needs pyroaring.*\[capture\]"):
        bitmaps.of(written, np.array([0]), 65_536)


def test_a_damaged_bitmap_is_said_to_be() -> None:
    with pytest.raises(RecordDamaged, match="a bitmap of captured lineage cannot be read"):
        ENCODINGS["roaring bitmaps"].of(pa.array([b"nonsense"], pa.large_binary()), np.array([0]), 10)


def test_no_rows_at_all() -> None:
    empty = csr(Edges(np.empty(0, np.int64), np.empty(0, np.int64)), 0, 0)
    assert choose([], 0, shape_of(empty, 0)).encoding.name == "whole"
    assert _pairs(empty.of(np.empty(0, np.int64))) == []
    assert empty.inverse(3).rows == 3


@pytest.mark.parametrize("content", [b"", b"nonsense", to_bytes(pa.array([[1, 2], [3]]))[:-40], to_bytes(pa.array([1, 2, 3]))[:60]])
def test_a_part_that_is_damaged_is_said_to_be(content: bytes) -> None:
    with pytest.raises(RecordDamaged, match="captured lineage cannot be read"):
        from_bytes(content)


def test_lists_of_which_most_are_empty_take_little_more_than_those_that_are_not() -> None:
    full = csr(Edges(np.repeat(np.arange(300), 5), np.arange(1500)), 300, 1500)
    sparse = csr(Edges(np.repeat(np.arange(300) * 211, 5), np.arange(1500)), 65_536, 1500)
    for name in ("rid index", "intervals", "differences"):
        sizes = [len(to_bytes(ENCODINGS[name].encode(edges, 1500))) for edges in (full, sparse)]
        assert sizes[1] < sizes[0] + 20 * 300, name
