"""Columns in pages: a question reads those that its cells are in, and what was changed is refused by whoever reads it."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Relation, columns, decode, encode, opened, pco
from airflow_lineage_provider.arrays.boxes import Boxes
from airflow_lineage_provider.arrays.columns import read
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.pco import PAGED, Narrow, Paged
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.sealed import Seal
from airflow_lineage_provider.arrays.whole_numbers import Source, number, signed
from airflow_lineage_provider.errors import RelationDamaged, RelationTooNew, TooManyCells
from tests.arrays.test_codec import ONE_ROW, STILL, asked_for_all, same, signed_off


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight rows, in columns of few bytes, however much smaller they would be otherwise."""
    monkeypatch.setattr(columns, "_WORTH", 1)
    monkeypatch.setattr(pco, "_PAGE", 8)
    monkeypatch.setattr(pco, "_LARGE", 8)


def shuffled() -> Relation:
    """A row for each of 15 × 20 cells, each from another one."""
    at = np.indices((15, 20)).reshape(2, -1)
    low, still = at[:, np.random.default_rng(4).permutation(300)], np.zeros((2, 300), dtype=np.int8)
    return Relation((15, 20), (15, 20), at, at.copy(), low, low.copy(), still, still.copy())


def parted(data: bytes) -> tuple[bytes, bytes]:
    """What is sealed of a relation with pages, and the pages."""
    source = Source(data[9:])
    length = source.number()
    return data[9 + source.at : 9 + source.at + length], data[9 + source.at + length :]


def in_pages(head: bytes, tail: bytes) -> bytes:
    """The same under a checksum that is right."""
    return signed_off(number(len(head)) + head, version=3) + tail


@pytest.fixture
def pages_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pages each reading took."""
    found: list[int] = []
    read_ = Paged._read

    def counting(column: Paged, pages: range | list[int]) -> Narrow:
        found.append(len(pages))
        return read_(column, pages)

    monkeypatch.setattr(Paged, "_read", counting)
    return found


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("bits", [3, 16, 17, 40])
@pytest.mark.parametrize("least", [0, -7])
def test_a_column_in_pages_is_read_by_the_page(bits: int, least: int, pages_read: list[int]) -> None:
    for rows in (511, 512, 513, 8 * 512 + 1, 9_000):
        column = np.random.default_rng(rows).integers(least, least + 2**bits, rows)
        column[0], column[-1] = least, least + 2**bits - 1
        written = pco.paged(column)
        assert written is not None
        whole = read(Source(*written), rows)
        assert isinstance(whole, Paged)
        assert whole.each == max(8, -(-rows // 512))
        assert all(np.array_equal(found, column) for found in (whole.numbers(), whole.narrow(), whole.listed()))
        assert not len(whole.at(np.zeros(0, dtype=np.int64)))
        asked = np.random.default_rng(1).integers(0, rows, 5)
        for first, end in ((0, 1), (rows - 3, rows), (7, 9), (16, 24), (0, rows), (3, rows // 2)):
            pages_read.clear()
            part = read(Source(*written), rows)
            assert isinstance(part, Paged)
            assert np.array_equal(part.between(first, end), column[first:end])
            assert np.array_equal(part.at(asked), column[asked])
            assert pages_read[0] == -(-end // part.each) - first // part.each or 2 * pages_read[0] > len(part.lengths)
            assert sum(pages_read[1:]) <= 5


@pytest.mark.usefixtures("small_pages")
def test_a_question_reads_the_pages_that_its_cells_are_in(pages_read: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is asked of all cells, or forward, reads each once."""
    monkeypatch.setattr("airflow_lineage_provider.arrays.join.NUMBERED", 200)
    relation = shuffled()
    data = encode(relation)
    assert (data[4], same(decode(data), relation)) == (3, True)
    every = np.arange(300)
    for asked, backward, pages in (
        ((3, 5, 3, 5), True, [1, 1]),
        ((3, 5, 4, 9), True, [6, 6]),
        ((0, 0, 14, 19), True, [38, 38]),
        ((3, 5, 4, 9), False, [38, 38]),
    ):
        region = Region((15, 20), parts=Boxes(np.array(asked[:2])[:, None], np.array(asked[2:])[:, None]))
        pages_read.clear()
        found, _ = follow([Step(opened(data), backward)], ("", ""), region)
        numbered = relation.in_lo[0] * 20 + relation.in_lo[1]
        met = every[region.mask.reshape(-1)]
        wanted = numbered[met] if backward else every[np.isin(numbered, met)]
        assert set(np.flatnonzero(found.mask)) == set(wanted)
        assert pages_read == pages


@pytest.mark.usefixtures("small_pages")
def test_each_byte_that_is_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before the pages when it is opened, a page by whoever reads it; what ends too soon, or goes on, when it is opened."""
    monkeypatch.setattr("airflow_lineage_provider.arrays.join.NUMBERED", 200)
    relation = shuffled()
    data = encode(relation)
    begin = len(data) - len(parted(data)[1])
    for at in range(len(data)):
        wrong = bytearray(data)
        wrong[at] ^= 1 << at % 8
        if at < begin:
            with pytest.raises(RelationDamaged):
                opened(bytes(wrong))
            continue
        with pytest.raises(RelationDamaged, match=r"^page [0-9]+ of a relation's column is not as it was written"):
            decode(bytes(wrong))
        for backward in (True, False):
            every = Region((15, 20), bits=np.ones((15, 20), dtype=np.bool_))
            with pytest.raises(RelationDamaged, match=r"^lineage from a to b cannot be read: page [0-9]+ of"):
                follow([Step(opened(bytes(wrong), "lineage from a to b"), backward)], ("", ""), every)
    one = Region((15, 20), parts=Boxes(np.zeros((2, 1), dtype=np.int64), np.zeros((2, 1), dtype=np.int64)))
    last = bytes([*data[:-1], data[-1] ^ 1])
    assert np.array_equal(follow([Step(opened(last), True)], ("", ""), one)[0].mask, follow([Step(relation, True)], ("", ""), one)[0].mask)
    with pytest.raises(RelationDamaged, match="page 37 of"):
        follow([Step(opened(last), True)], ("", ""), Region((15, 20), parts=Boxes(np.array([[14], [19]]), np.array([[14], [19]]))))
    for wrong_ in (*(data[:end] for end in range(len(data))), data + b"x"):
        with pytest.raises(RelationDamaged):
            opened(wrong_)


@pytest.mark.usefixtures("small_pages")
def test_pages_that_were_changed_on_purpose_are_a_relation_or_refused() -> None:
    """Under checksums that are right: of what stands before them, and of each page."""
    head, tail = parted(encode(shuffled()))
    draw = np.random.default_rng(5)
    refused = 0
    for at in range(300):
        body, pages = bytearray(head), bytearray(tail)
        if at % 2:
            body[draw.integers(len(body))] ^= int(draw.integers(1, 256))
        else:
            pages[draw.integers(len(pages))] ^= int(draw.integers(1, 256))
        data = in_pages(bytes(body), bytes(pages))
        with mock.patch.object(Paged, "_is_as_written", return_value=True):
            try:
                relation = decode(data)
            except (RelationDamaged, TooManyCells) as problem:
                refused += 1
                with pytest.raises(type(problem)):
                    asked_for_all(opened(data))
                continue
            for one, other in zip(asked_for_all(opened(data)), asked_for_all(relation), strict=True):
                assert np.array_equal(one, other)
    assert 30 < refused < 300


@pytest.mark.usefixtures("small_pages")
def test_pages_are_refused_by_older_releases_and_by_what_has_none() -> None:
    data = encode(shuffled())
    with pytest.raises(RelationTooNew, match="version 3, and this release reads up to 2"):
        Seal(magic=b"PRVC", version=2, what="the relation", other="").taken_off(data)
    assert [encode(shuffled(), one)[4] for one in ("provrc", "provrc-gzip")] == [2, 2]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (number(0) + number(9), "pages of 9 numbers of 0 bits"),
        (number(65) + number(9), "pages of 9 numbers of 65 bits"),
        (number(9) + number(0), "pages of 0 numbers"),
        (number(9) + number(1), "2,000 pages, and 512 are the most"),
        (number(9) + number(1000) + number(0) + number(2**40) + number(3) + bytes(12), "before its last page does"),
        (number(9) + number(1000) + number(3), "belong to it"),
    ],
)
def test_pages_that_are_made_by_hand_are_refused(column: bytes, said: str) -> None:
    head = ONE_ROW + number(2000) + bytes([PAGED]) + signed(0) + column
    with pytest.raises(RelationDamaged, match=said):
        opened(in_pages(head + STILL * 5 if "belong" not in said else head, b""))
