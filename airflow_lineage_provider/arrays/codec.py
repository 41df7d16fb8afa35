"""A compressed relation as bytes, with a version, and back (DSLog, Sec. VII.B; pcodec in place of the paper's Turbo-RC).

Four bytes say what it is; then come the version, a checksum, the shapes, the number of rows and each column, as `columns` has it.
Intervals are kept as beginning and length, and the moves of an end as the difference from those of the beginning: mostly one number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.columns import deflated, packed, pcoded, read
from airflow_lineage_provider.arrays.given import check_shape
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.relation import Relation, check_relation
from airflow_lineage_provider.arrays.sealed import Seal
from airflow_lineage_provider.arrays.whole_numbers import Source, number
from airflow_lineage_provider.errors import InvalidArray, InvalidRelation, RelationDamaged, TooManyCells
from airflow_lineage_provider.settings import cell_limit
from airflow_lineage_provider.words import ArrayEncoding, check_word

SEAL = Seal(magic=b"PRVC", version=1, what="the relation", other="no relation")

_WRITERS: Mapping[ArrayEncoding, Callable[[Ints], bytes]] = {"provrc": packed, "provrc-gzip": deflated, "provrc-pco": pcoded}


def encode(relation: Relation, encoding: ArrayEncoding = "provrc-pco") -> bytes:
    """The relation as bytes.

    :param encoding: ``provrc``, numbers of as few bits as they need; ``provrc-gzip``, deflate where that is smaller; ``provrc-pco``, pcodec
        where that is smaller.
    :raises InvalidOption: there is no such encoding.
    :raises EnvironmentProblem: pcodec is needed and not installed.

    >>> from airflow_lineage_provider.arrays.compress import compress
    >>> len(encode(compress(np.array([(at, at) for at in range(1000)]), (1000,), (1000,))))
    29
    """
    check_word("encoding", encoding, ArrayEncoding)
    shapes = b"".join(number(len(shape)) + b"".join(map(number, shape)) for shape in (relation.out_shape, relation.in_shape))
    body = shapes + number(len(relation)) + b"".join(_WRITERS[encoding](column) for column in _columns(relation))
    return SEAL.put_on(body)


def decode(data: bytes) -> Relation:
    """What `encode` wrote, in any of its encodings.

    :raises RelationTooNew: a newer release wrote it.
    :raises RelationDamaged: it is cut off, was changed, or never was a relation.
    :raises TooManyCells: it has more rows than `settings.cell_limit`.
    :raises EnvironmentProblem: pcodec is needed and not installed.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RelationDamaged(f"a relation is read from bytes, not from a {type(data).__name__}")
    source = SEAL.taken_off(bytes(data))
    try:
        return _relation(source)
    except (InvalidArray, InvalidRelation) as error:
        raise RelationDamaged(f"these bytes are no relation between two arrays: {error}") from error


def _columns(relation: Relation) -> Iterator[Ints]:
    """In the order in which they are kept."""
    for lo, hi in zip(relation.out_lo, relation.out_hi, strict=True):
        yield from (lo, hi - lo)
    ends = zip(relation.in_lo, relation.in_hi, relation.lo_moves.astype(np.int64), relation.hi_moves.astype(np.int64), strict=True)
    for lo, hi, lo_moves, hi_moves in ends:
        yield from (lo, hi - lo, lo_moves, hi_moves - lo_moves)


def _relation(source: Source) -> Relation:
    out_shape, in_shape = _shape(source), _shape(source)
    rows = source.number()
    if rows > cell_limit():
        raise TooManyCells(f"the relation has {rows:,} rows, and {cell_limit():,} may be read (AIRFLOW_LINEAGE_CELL_LIMIT)")
    outputs = [_Column.of(source, rows) for _ in range(2 * len(out_shape))]
    inputs = [_Column.of(source, rows) for _ in range(4 * len(in_shape))]
    if not source.ended:
        raise RelationDamaged("a relation's bytes go on where it ends")
    lo_moves, hi_moves = inputs[2::4], [one + other for one, other in zip(inputs[2::4], inputs[3::4], strict=True)]
    if any(one.most > len(out_shape) for one in (*lo_moves, *hi_moves)):
        raise InvalidRelation(f"an interval moves with an axis that an output of shape {out_shape} has not")
    out_lo, in_lo = _stacked(outputs[::2], rows), _stacked(inputs[::4], rows)
    out_hi, in_hi = _lengthened(out_lo, outputs[1::2]), _lengthened(in_lo, inputs[1::4])
    moves = (_stacked(some, rows, np.int8) for some in (lo_moves, hi_moves))
    found = Relation(out_shape, in_shape, out_lo, out_hi, in_lo, in_hi, *moves)
    check_relation(found)
    return found


def _shape(source: Source) -> Shape:
    rank = source.number()
    return check_shape("in bytes", [source.number() for _ in range(min(rank, 64))])


@dataclass(frozen=True)
class _Column:
    """Numbers of a column; one where all are the same, which most columns are."""

    numbers: Ints | int

    @classmethod
    def of(cls, source: Source, rows: int) -> _Column:
        return cls(read(source, rows))

    def __add__(self, other: _Column) -> _Column:
        return _Column(self.numbers + other.numbers)

    @property
    def most(self) -> int:
        """Of their sizes."""
        return int(np.abs(self.numbers).max(initial=0))


def _stacked(columns: Sequence[_Column], rows: int, kind: type[np.signedinteger[Any]] = np.int64) -> npt.NDArray[Any]:
    found = np.empty((len(columns), rows), dtype=kind)
    for at, column in enumerate(columns):
        found[at] = column.numbers
    return found


def _lengthened(ends: Ints, lengths: Sequence[_Column]) -> Ints:
    """Further ends; the same where there is nothing to add."""
    if all(isinstance(one.numbers, int) and not one.numbers for one in lengths):
        return ends
    return np.asarray(ends + _stacked(lengths, ends.shape[1]))
