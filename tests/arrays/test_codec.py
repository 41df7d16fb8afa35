"""A relation as bytes: what is read is what was written, what is no relation is refused by name, and nothing is larger than it need be."""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyarrow import parquet

from airflow_lineage_provider.arrays import Relation, columns, compress, decode, encode, opened, pco
from airflow_lineage_provider.arrays.boxes import Boxes
from airflow_lineage_provider.arrays.columns import COUNTED, PCO, deflated, packed, pcoded, read
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.pco import PAGED
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.tail import AtHand
from airflow_lineage_provider.arrays.whole_numbers import Source, number, signed
from airflow_lineage_provider.errors import EnvironmentProblem, InvalidOption, RelationDamaged, RelationTooNew, TooManyCells
from airflow_lineage_provider.words import ArrayEncoding, words
from tests.arrays.drawing import Given, drawn, relations
from tests.arrays.operations import moved, summed
from tests.in_turn import in_turn
from tests.new_process import NewPython

ENCODINGS: tuple[ArrayEncoding, ...] = words(ArrayEncoding)
COLUMNS = ("out_lo", "out_hi", "in_lo", "in_hi", "lo_moves", "hi_moves")


def same(one: Relation, other: Relation) -> bool:
    shapes = (one.out_shape, one.in_shape) == (other.out_shape, other.in_shape)
    pairs = [(getattr(one, name), getattr(other, name)) for name in COLUMNS]
    return shapes and all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs)


@drawn(25, one_in=4, given_=relations(), encoding=st.sampled_from(ENCODINGS))
def test_what_is_written_is_read(given_: Given, encoding: ArrayEncoding) -> None:
    relation = compress(given_.pairs, given_.output, given_.source)
    found = opened(encode(relation, encoding))
    assert same(decode(encode(relation, encoding)), relation)
    assert (len(found), found.few, found.motions) == (len(relation), relation.few, relation.motions)
    assert same(found, relation)


RANDOM = np.random.default_rng(1)
LONG: dict[str, Ints] = {
    "random": RANDOM.integers(-5, 70_000, 40_000),
    "small": RANDOM.integers(0, 3, 40_000),
    "wide": RANDOM.integers(-(2**40), 2**40, 1_000),
    "rising": np.cumsum(RANDOM.integers(0, 9, 40_000)),
    "repeated": np.tile(RANDOM.permutation(9_000), 5),
    "few": RANDOM.integers(0, 9, 20),
    "two": np.array([3, -3]),
    "one": np.array([-7]),
    "none": np.array([], dtype=np.int64),
    "constant": np.full(5_000, 12),
    "counting": np.arange(7, 40_007),
    "counting again": np.tile(np.repeat(np.arange(-3, 200), 7), 9)[:-20],
    "nearly counting": np.append(np.arange(40_000), 3),
}


def numbers(source: Source, rows: int) -> Ints | int:
    column = read(source, rows)
    return column if isinstance(column, int) else column.numbers()


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("write", [packed, deflated, pcoded])
def test_columns(name: str, write: Callable[[Ints], bytes | tuple[bytes, bytes]]) -> None:
    found = write(LONG[name])
    source = Source(found) if isinstance(found, bytes) else Source(found[0], AtHand(found[1]))
    assert np.array_equal(np.broadcast_to(numbers(source, len(LONG[name])), LONG[name].shape), LONG[name])
    assert source.ended


def test_the_smallest_form_is_taken() -> None:
    sizes = {name: [len(packed(column)), len(deflated(column)), sum(map(len, pcoded(column)))] for name, column in LONG.items()}
    assert all(plain >= gzip for plain, gzip, _ in sizes.values())
    assert all(pco <= gzip for _, gzip, pco in sizes.values())
    assert (sizes["constant"], sizes["none"]) == ([2] * 3, [2] * 3)
    assert max(*sizes["counting"], *sizes["counting again"]) <= 6
    assert pcoded(LONG["nearly counting"])[0][0] != COUNTED
    assert [pcoded(LONG["random"][:rows])[0][0] for rows in (40_000, 5_000)] == [PAGED, PCO]
    assert sizes["small"][0] < 40_000 / 3.9


def parquet_gzip(pairs: Ints) -> int:
    table = pa.table({str(at): column.astype(np.int32) for at, column in enumerate(pairs.T)})
    parquet.write_table(table, written := io.BytesIO(), compression="gzip")
    return len(written.getvalue())


SIDE = 300


UNORDERED = (
    "sorted as a whole", "sorted by rows", "the same permutation, other rows", "pairs at random", "half of all pairs", "groups", "join",
)  # fmt: skip


@cache
def _unordered() -> dict[str, tuple[Ints, tuple[int, ...], tuple[int, ...]]]:
    """Relations in which little or nothing merges, which are the worst that there is."""
    rows, columns = np.indices((SIDE, SIDE)).reshape(2, -1)
    random, cells = np.random.default_rng(3), SIDE * SIDE
    by_row = np.concatenate([random.permutation(SIDE) for _ in range(SIDE)])
    image = (SIDE, SIDE)
    return {
        "sorted as a whole": (np.stack([rows, columns, *np.unravel_index(random.permutation(cells), image)], axis=1), image, image),
        "sorted by rows": (np.stack([rows, columns, rows, by_row], axis=1), image, image),
        "the same permutation, other rows": (
            np.stack([rows, columns, rows * 7 % SIDE, np.tile(by_row[:SIDE], SIDE)], axis=1),
            image,
            image,
        ),
        "pairs at random": (random.integers(0, cells, (cells, 2)), (cells,), (cells,)),
        "half of all pairs": (np.argwhere(random.random(image) < 0.5), (SIDE,), (SIDE,)),
        "groups": (np.stack([random.integers(0, 100, cells), np.arange(cells)], axis=1), (100,), (cells,)),
        "join": (np.stack([np.arange(cells), np.sort(random.integers(0, 9_000, cells))], axis=1), (cells,), (9_000,)),
    }


@pytest.mark.parametrize(("name", "encoding"), in_turn(UNORDERED, ["provrc-gzip", "provrc-pco"]))
def test_never_larger_than_the_pairs_in_parquet(name: str, encoding: ArrayEncoding) -> None:
    pairs, output, source = _unordered()[name]
    relation = compress(pairs, output, source)
    assert len(encode(relation, encoding)) <= 1.01 * parquet_gzip(pairs)
    assert same(decode(encode(relation, encoding)), relation)


def test_what_is_regular_is_tens_of_bytes() -> None:
    for output, pairs, source in ((*moved(np.flip, (60, 70)), (60, 70)), (*summed((60, 70), 1), (60, 70))):
        assert {len(encode(compress(pairs, output, source), one)) < 50 for one in ENCODINGS} == {True}


# --- what is no relation -----------------------------------------------------------------------------------------------------

WRITTEN = {one: encode(compress(_unordered()["half of all pairs"][0], (SIDE,), (SIDE,)), one) for one in ENCODINGS}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_is_cut_off_or_changed_is_refused(encoding: ArrayEncoding) -> None:
    data = WRITTEN[encoding]
    for end in (0, 3, 4, 5, 8, 9, 12, 100, len(data) - 1):
        with pytest.raises(RelationDamaged):
            decode(data[:end])
    for at in (0, 5, 9, 50, len(data) - 1):
        with pytest.raises(RelationDamaged):
            decode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    with pytest.raises(RelationDamaged):
        decode(data + b"\0")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_is_cut_off_or_changed_is_refused_when_it_is_opened(encoding: ArrayEncoding) -> None:
    data = WRITTEN[encoding]
    for wrong in (data[:-1], data[:100], data[:50] + bytes([data[50] ^ 1]) + data[51:], data + b"\0"):
        with pytest.raises(RelationDamaged, match=r"^lineage from a to b cannot be read: the bytes of the relation are not those"):
            opened(wrong, "lineage from a to b")


@drawn(40, data=st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    for read_ in (decode, opened):
        with pytest.raises(RelationDamaged):
            read_(data)


def signed_off(body: bytes, version: int = 2) -> bytes:
    """Bytes whose checksum is right."""
    return b"PRVC" + bytes([version]) + zlib.crc32(body).to_bytes(4, "little") + body


@drawn(60, at=st.integers(0, 2**16), bits=st.integers(1, 255), encoding=st.sampled_from(ENCODINGS))
def test_what_was_changed_on_purpose_is_a_relation_or_refused(at: int, bits: int, encoding: ArrayEncoding) -> None:
    """Whoever makes the checksum right, too, gets a relation between two arrays, or an error by name."""
    body = bytearray(WRITTEN[encoding][9:])
    body[at % len(body)] ^= bits
    try:
        relation = decode(signed_off(bytes(body)))
    except (RelationDamaged, TooManyCells) as problem:
        with pytest.raises(type(problem)):
            asked_for_all(opened(signed_off(bytes(body))))
        return
    for one, other in zip(asked_for_all(opened(signed_off(bytes(body)))), asked_for_all(relation), strict=True):
        assert np.array_equal(one, other)


def asked_for_all(relation: Relation) -> list[Any]:
    """What is behind all cells, and before them."""
    found = []
    for backward, shape in ((True, relation.out_shape), (False, relation.in_shape)):
        every = Region(shape, bits=np.ones(shape, dtype=np.bool_))
        found.append(follow([Step(relation, backward)], ("", ""), every)[0].mask)
    return found


def two_sides(relation: Relation) -> tuple[bool, bool]:
    """Which have been read."""
    return "out_lo" in vars(relation), "in_lo" in vars(relation)


def halves() -> tuple[bytes, Relation]:
    """A relation of the upper half of an array in the order of another's cells, shuffled, with runs."""
    at = np.arange(1000)
    pairs = np.stack([1000 + at, np.random.default_rng(2).permutation(1000)], axis=1)
    relation = compress(np.concatenate([pairs, pairs[:300] + 1]), (2002,), (1002,))
    return encode(relation), relation


def test_a_side_is_read_when_a_hop_needs_it() -> None:
    data, relation = halves()
    asked = Region((2002,), parts=Boxes(np.array([[5]]), np.array([[900]])))
    one, other = opened(data), opened(encode(compress(np.stack([np.arange(1002), np.arange(1002) // 3], axis=1), (1002,), (400,))))
    assert two_sides(one) == (False, False)
    found, _ = follow([Step(one, True), Step(other, True)], ("", "", ""), asked)
    assert (found.count, two_sides(one), two_sides(other)) == (0, (True, False), (False, False))
    wide = Region((2002,), parts=Boxes(np.array([[5]]), np.array([[1100]])))
    found, _ = follow([Step(one, True)], ("", ""), wide)
    assert np.array_equal(found.mask, follow([Step(relation, True)], ("", ""), wide)[0].mask)
    assert (two_sides(one), "pairs" in vars(one)) == ((True, False), True), "its pairs are had out of the bytes"


@pytest.mark.parametrize("side", [0, 1])
def test_what_is_written_wrongly_is_refused_by_the_question_that_needs_it(side: int) -> None:
    """Cells beyond one of the arrays, under a checksum that is right: no answer, and none that is shorter."""
    _, relation = halves()
    shapes = [relation.out_shape, relation.in_shape]
    shapes[side] = (shapes[side][0] - 20,)
    names = [getattr(relation, name) for name in COLUMNS]
    data = encode(Relation(shapes[0], shapes[1], *names))
    with pytest.raises(RelationDamaged, match="no relation between two arrays"):
        decode(data)
    found = opened(data, "lineage from a to b")
    every = Region(shapes[0], parts=Boxes(np.array([[0]]), np.array([[shapes[0][0] - 1]])))
    for _ in range(2):
        with pytest.raises(RelationDamaged, match=r"^lineage from a to b cannot be read: .* between two arrays: row [0-9]+ of"):
            follow([Step(found, True)], ("", ""), every)
    assert two_sides(found) == (side == 1, False)


def test_older_releases_read_what_has_no_column_that_counts() -> None:
    """And what they wrote is read: a column of differences in place of one that counts."""
    assert {data[4] for data in WRITTEN.values()} == {1}
    at = np.arange(300)
    relation = compress(np.stack([at, at * 7 % 300], axis=1), (300,), (300,))
    assert encode(relation)[4] == 2
    with mock.patch.object(columns, "_counting", return_value=b""):
        older = encode(relation)
    assert older[4] == 1
    assert len(older) > len(encode(relation))
    assert same(decode(older), relation)
    assert same(opened(older), decode(encode(relation)))


@pytest.mark.parametrize(("first", "repeat", "side"), [(0, 2**60, 3), (0, 1, 2**61), (-5, 2**40, 2**40), (0, 3, 2)])
def test_what_counts_further_than_there_are_rows_takes_no_more_than_they(first: int, repeat: int, side: int) -> None:
    source = Source(bytes([COUNTED]) + signed(first) + number(repeat) + number(side))
    found = numbers(source, 50)
    assert np.array_equal(found, [first + row // repeat % side for row in range(50)])


def test_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(RelationTooNew, match="version 4, and this release reads up to 3"):
        decode(signed_off(WRITTEN["provrc"][9:], version=4))
    with pytest.raises(RelationDamaged):
        decode(signed_off(WRITTEN["provrc"][9:], version=0))


ONE_ROW = number(1) + number(5) + number(1) + number(5)
STILL = bytes([0]) + signed(0)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (number(70) + number(1) * 70, "is no relation|no relation between"),
        (number(1) + number(2**40) + number(0) + number(0), "no relation between"),
        (ONE_ROW + number(1) + (bytes([0]) + signed(5)) + STILL * 5, "no box of cells of the output"),
        (ONE_ROW + number(1) + STILL * 4 + (bytes([0]) + signed(2)) + STILL, "moves with an axis"),
        (ONE_ROW + number(1) + STILL * 5, "end at"),
        (ONE_ROW + number(1) + STILL * 6 + b"x", "go on where it ends"),
        (ONE_ROW + number(2) + bytes([200]) + STILL * 5, "no kind that this release knows"),
        (ONE_ROW + number(2) + bytes([17]) + signed(0) + number(0) + number(0), "numbers of 0 bits"),
        (ONE_ROW + number(2) + bytes([17]) + signed(0) + number(8) + number(1) + b"x" + STILL * 5, "1 bytes in place of 2"),
        (ONE_ROW + number(2) + bytes([2]) + signed(0) + number(8) + number(2) + b"xx" + STILL * 5, "cannot be decompressed"),
        (ONE_ROW + number(2) + bytes([3]) + signed(0) + number(8) + number(1) + b"x" + STILL * 5, "cannot be decompressed"),
        (ONE_ROW + number(1) + bytes([0]) + signed(2**63) + STILL * 5, "has the number"),
        (b"\xff" * 11, "more than 70 bits"),
        (ONE_ROW + number(2) + bytes([COUNTED]) + signed(0) + number(0) + number(2), "counts nothing"),
        (ONE_ROW + number(2) + bytes([COUNTED]) + signed(0) + number(1) + number(2**62), "has the number"),
        (ONE_ROW + number(2) + bytes([COUNTED]) + signed(4) + number(1) + number(2) + STILL * 5, "no box of cells"),
    ],
)
def test_what_is_made_by_hand_is_refused(body: bytes, said: str) -> None:
    with pytest.raises(RelationDamaged, match=said):
        decode(signed_off(body))


def test_no_more_is_inflated_than_the_rows_need() -> None:
    """A hundred megabytes of zeros in a hundred kilobytes."""
    bomb = zlib.compress(bytes(10**8), 9)
    column = bytes([2]) + signed(0) + number(8) + number(len(bomb)) + bomb
    with pytest.raises(RelationDamaged, match="3 bytes in place of 2"):
        decode(signed_off(ONE_ROW + number(2) + column + STILL * 5))


def test_more_rows_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CELL_LIMIT", "10")
    with pytest.raises(TooManyCells, match="AIRFLOW_LINEAGE_CELL_LIMIT"):
        decode(WRITTEN["provrc"])


@pytest.mark.parametrize("given", [None, 3, "PRVC", [80, 82]], ids=repr)
def test_what_are_no_bytes_is_refused(given: Any) -> None:
    with pytest.raises(RelationDamaged, match="is read from bytes"):
        decode(given)


def test_an_unknown_encoding_is_refused() -> None:
    wrong: Any = "provrc-zstd"
    with pytest.raises(InvalidOption, match="it can be provrc, provrc-gzip, provrc-pco"):
        encode(compress(np.zeros((1, 2), dtype=int), (1,), (1,)), wrong)


def test_without_pcodec_small_relations_are_written_and_large_ones_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    large = decode(WRITTEN["provrc-pco"])
    monkeypatch.setitem(sys.modules, "pcodec", None)
    small = compress(np.array([(at, at * 3 % 7) for at in range(7)]), (7,), (7,))
    assert same(decode(encode(small)), small)
    assert same(decode(encode(large, "provrc-gzip")), large)
    for ask in (lambda: encode(large), lambda: decode(WRITTEN["provrc-pco"])):
        with pytest.raises(EnvironmentProblem, match=r"airflow-provider-lineage\[arrays\]"):
            ask()


def test_pcodec_is_loaded_when_it_is_needed(new_python: NewPython) -> None:
    code = (
        "import sys, numpy as np\n"
        "from airflow_lineage_provider import arrays\n"
        "log = arrays.Log(); log.array('a', (9,)); log.array('b', (9,))\n"
        "log.lineage('a', 'b', [(at, 8 - at) for at in range(9)])\n"
        "arrays.decode(arrays.encode(log.relation('a', 'b')))\n"
        "assert log.prov_query(['b', 'a'], 0).count == 1\n"
        "assert 'pcodec' not in sys.modules"
    )
    new_python(code)


def test_bits_of_pcodec_are_not_believed() -> None:
    """300 moves in a column that says that its numbers have six bits: it is no small number, and its last eight bits are another."""
    data = pco.written(np.array([1, 300, 2], dtype=np.uint64), 16)
    forged = columns.Packed(kind=PCO, rows=3, first=0, least=0, width=6, data=data)
    assert forged.numbers().tolist() == [1, 300, 2]
    assert not forged.is_within(65)
