"""Columns in pages: a question reads those that its cells are in, and what was changed is refused by whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import numpy as np
import pytest

from airflow_lineage_provider.arrays import Relation, columns, decode, encode, opened, pco, tail
from airflow_lineage_provider.arrays.boxes import Boxes
from airflow_lineage_provider.arrays.codec import opened_together
from airflow_lineage_provider.arrays.columns import read
from airflow_lineage_provider.arrays.path import Step, follow
from airflow_lineage_provider.arrays.pco import PAGED, Narrow, Paged
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.sealed import Seal
from airflow_lineage_provider.arrays.tail import Apart, AtHand, Further, Part
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


def in_pages(head: bytes, behind: bytes) -> bytes:
    """The same under a checksum that is right."""
    return signed_off(number(len(head)) + head, version=3) + behind


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
        whole = read(Source(written[0], AtHand(written[1])), rows)
        assert isinstance(whole, Paged)
        assert whole.each == max(8, -(-rows // 512))
        assert all(np.array_equal(found, column) for found in (whole.numbers(), whole.narrow(), whole.listed()))
        assert not len(whole.at(np.zeros(0, dtype=np.int64)))
        asked = np.random.default_rng(1).integers(0, rows, 5)
        for first, end in ((0, 1), (rows - 3, rows), (7, 9), (16, 24), (0, rows), (3, rows // 2)):
            pages_read.clear()
            part = read(Source(written[0], AtHand(written[1])), rows)
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
    head, behind = parted(encode(shuffled()))
    draw = np.random.default_rng(5)
    refused = 0
    for at in range(300):
        body, pages = bytearray(head), bytearray(behind)
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


class Elsewhere:
    """Bytes of which only the first are at hand; notes what is read of the others."""

    def __init__(self, data: bytes, first: int) -> None:
        self.data, self.first = data, data[:first]
        self.read: list[list[Part]] = []

    def parts(self, wanted: Sequence[Part]) -> list[bytes]:
        self.read.append(list(wanted))
        return [self.data[begin:end] for begin, end in wanted]

    def opened(self, where: str = "") -> Relation:
        (found,) = opened_together([(self.first, lambda: where, Further(len(self.data), self.parts))])
        return found


def box(first: tuple[int, int], last: tuple[int, int]) -> Region:
    return Region((15, 20), parts=Boxes(np.array(first)[:, None], np.array(last)[:, None]))


@pytest.mark.usefixtures("small_pages")
def test_pages_that_stand_elsewhere_are_read_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a question needs, of all columns; all of them, where it needs most."""
    monkeypatch.setattr("airflow_lineage_provider.arrays.join.NUMBERED", 200)
    monkeypatch.setattr(tail, "_TRIP", 0)
    data = encode(shuffled())
    begin = len(data) - len(parted(data)[1])
    rest = [(begin, len(data))]
    for asked, backward, parts in (
        (box((3, 5), (3, 5)), True, 2),
        (box((3, 5), (4, 9)), True, 2),
        (box((0, 0), (14, 19)), True, 0),
        (box((3, 5), (4, 9)), False, 0),
    ):
        apart = Elsewhere(data, begin)
        relation = apart.opened()
        assert (apart.read, relation.is_apart) == ([], True)
        found, _ = follow([Step(relation, backward)], ("", ""), asked)
        assert np.array_equal(found.mask, follow([Step(opened(data), backward)], ("", ""), asked)[0].mask)
        (read_,) = apart.read
        assert len(read_) == parts if parts else read_ == rest
        assert relation.is_apart == bool(parts)
        follow([Step(relation, backward)], ("", ""), asked)
        assert len(apart.read) == 1, "what was read is kept"


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("trip", [0, 40])
def test_who_asks_for_more_and_more_pages_reads_all_in_the_end(trip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And never more than twice what all are, with what asking takes."""
    monkeypatch.setattr("airflow_lineage_provider.arrays.join.NUMBERED", 200)
    monkeypatch.setattr(tail, "_TRIP", trip)
    data, whole = encode(shuffled()), shuffled()
    begin = len(data) - len(parted(data)[1])
    apart = Elsewhere(data, begin)
    relation, spent = apart.opened(), 0
    for row in range(15):
        asked = box((row, 3), (row, 3))
        found, _ = follow([Step(relation, True)], ("", ""), asked)
        assert np.array_equal(found.mask, follow([Step(whole, True)], ("", ""), asked)[0].mask)
    assert not relation.is_apart if trip else len(apart.read) > 5
    spent = sum(end - start for wanted in apart.read for start, end in wanted) + trip * len(apart.read)
    assert spent <= 2 * (len(data) - begin) + trip


@pytest.mark.usefixtures("small_pages")
def test_the_first_bytes_may_be_too_few() -> None:
    """Then the others are read at once, as those of what has no pages are."""
    for data, first in ((encode(shuffled()), 20), (encode(shuffled(), "provrc"), 40)):
        apart = Elsewhere(data, first)
        assert same(apart.opened(), shuffled())
        assert apart.read == [[(first, len(data))]]
    for first in range(9):
        with pytest.raises(RelationDamaged, match="bytes end at"):
            Elsewhere(encode(shuffled()), first).opened()


@pytest.mark.usefixtures("small_pages")
def test_parts_that_are_not_as_they_were_written_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also such as are shorter than they were, and a beginning that was changed."""
    monkeypatch.setattr("airflow_lineage_provider.arrays.join.NUMBERED", 200)
    monkeypatch.setattr(tail, "_TRIP", 0)
    data = encode(shuffled())
    begin = len(data) - len(parted(data)[1])
    one, every = box((3, 5), (3, 5)), box((0, 0), (14, 19))
    for wrong, asked, said in (
        (bytes([*data[:begin], *(byte ^ 1 for byte in data[begin:])]), one, "page 8 of a relation's column is not as it was written"),
        (bytes([*data[:begin], *(byte ^ 1 for byte in data[begin:])]), every, "page 0 of a relation's column is not as it was written"),
    ):
        with pytest.raises(RelationDamaged, match=f"^lineage from a to b cannot be read: {said}"):
            follow([Step(Elsewhere(wrong, begin).opened("lineage from a to b"), True)], ("", ""), asked)
    for asked in (one, every):
        shorter = Elsewhere(data, begin)
        relation = shorter.opened("lineage from a to b")
        shorter.data = data[:begin]
        with pytest.raises(RelationDamaged, match=r"^lineage from a to b cannot be read: a relation's bytes end before"):
            follow([Step(relation, True)], ("", ""), asked)
    for at in range(begin):
        wrong_ = bytes([*data[:at], data[at] ^ 1, *data[at + 1 :]])
        with pytest.raises(RelationDamaged):
            Elsewhere(wrong_, begin).opened()


def test_parts_of_no_bytes_are_read() -> None:
    """As a page that was written by hand may have."""
    found = Apart(Further(9, lambda parts: [b"abcdefghi"[begin:end] for begin, end in parts]), 2)
    with mock.patch.object(tail, "_TRIP", 0):
        assert [bytes(found.at(*one)) for one in ((0, 2), (2, 2), (7, 7), (2, 3))] == [b"cd", b"", b"", b"e"]
        found.have([(3, 3), (3, 5), (5, 5), (6, 7)])
        assert [bytes(found.at(*one)) for one in ((3, 3), (3, 5), (5, 5), (6, 7), (0, 7))] == [b"", b"fg", b"", b"i", b"cdefghi"]
