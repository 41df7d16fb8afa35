"""A compressed relation as bytes, with a version, and back (DSLog, Sec. VII.B; pcodec in place of the paper's Turbo-RC).

Four bytes say what it is; then come the version, a checksum, the shapes, the number of rows and each column, as `columns` has it. Where a
column is in pages (`pco`), these stand behind all columns, and the checksum, which the length of what it is of comes after, is not of them.
Intervals are kept as beginning and length, and the moves of an end as the difference from those of the beginning: mostly one number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.arrays.columns import COUNTED, deflated, packed, pcoded, read_all
from airflow_lineage_provider.arrays.given import check_shape, is_shape
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.pco import PAGED
from airflow_lineage_provider.arrays.plain import FEW
from airflow_lineage_provider.arrays.relation import INPUTS, OUTPUTS, Relation
from airflow_lineage_provider.arrays.sealed import Seal, damaged
from airflow_lineage_provider.arrays.tail import Further
from airflow_lineage_provider.arrays.unread import Unread
from airflow_lineage_provider.arrays.whole_numbers import Source, number, signed
from airflow_lineage_provider.errors import InvalidArray, InvalidRelation, RelationDamaged, TooManyCells
from airflow_lineage_provider.settings import cell_limit
from airflow_lineage_provider.words import ArrayEncoding, check_word

SEAL = Seal(magic=b"PRVC", version=3, tailed=3, what="the relation", other="no relation")

FIRST_READ = 4096
"""Of a relation that is read in parts so many bytes are read first: they have mostly all that stands before its pages."""
LIKELY = b"_" * SEAL.at_version + bytes([SEAL.tailed]) + b"%" + bytes([COUNTED]) + signed(0) + number(1) + b"%"
"""How the bytes begin, as SQL's LIKE has it, of relations that a question needs parts of, and of few others: they have pages, and rows that
are all output cells in their order, so that positions along the last axis count from 0 by one."""

_WRITERS: Mapping[ArrayEncoding, Callable[[Ints], tuple[bytes, bytes]]] = {
    "provrc": lambda column: (packed(column), b""), "provrc-gzip": lambda column: (deflated(column), b""), "provrc-pco": pcoded,
}  # fmt: skip
"""Of a column what stands in its place, and its pages."""


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
    columns, pages = zip(*map(_WRITERS[encoding], _columns(relation)), strict=True) if relation.out_shape or relation.in_shape else ((), ())
    # Older releases read what has no column that counts, or is in pages.
    kinds = {one[0] for one in columns}
    version = 3 if PAGED in kinds else 2 if COUNTED in kinds else 1
    return SEAL.put_on(shapes + number(len(relation)) + b"".join(columns), version, b"".join(pages))


def decode(data: bytes) -> Relation:
    """What `encode` wrote, in any of its encodings, all of it read and checked.

    :raises RelationTooNew: a newer release wrote it.
    :raises RelationDamaged: it is cut off, was changed, or never was a relation.
    :raises TooManyCells: it has more rows than `settings.cell_limit`.
    :raises EnvironmentProblem: pcodec is needed and not installed.
    """
    found = opened(data)
    return Relation(found.out_shape, found.in_shape, *(getattr(found, name) for name in (*OUTPUTS, *INPUTS)))


def opened(data: bytes, where: str = "") -> Relation:
    """The same, its columns read when a question needs them: those of the outputs before those of the inputs.

    What `decode` raises is raised here where bytes are missing, are not those that were written, or are written in a way that is not known;
    but of a page, which was changed, by the first question that reads it.
    What somebody has written wrongly, with a checksum that is right, may be refused as late as by the first question that needs it, also by
    `RelationDamaged`.

    :param where: of which relation messages speak.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RelationDamaged(f"a relation is read from bytes, not from a {type(data).__name__}")
    return _opened(bytes(data), lambda: where)


def _opened(data: bytes, where: Callable[[], str], further: Further | None = None) -> Relation:
    try:
        return _relation(SEAL.taken_off(data, further), where)
    except (InvalidArray, InvalidRelation, RelationDamaged) as problem:
        raise damaged(problem, where()) from problem


def opened_together(written: Iterable[tuple[bytes, Callable[[], str], Further | None]]) -> list[Relation]:
    """Several of which one question is asked, each with what tells the words that messages speak of it by; those of the same bytes are
    opened once.

    Most operations of a path are elementwise, between arrays of one shape. Of a relation of which only the first bytes are given (at least
    `FIRST_READ`), with what reads the others, a question reads the pages that its cells are in.
    """
    known: dict[bytes, Relation] = {}
    found = []
    for data, where, further in written:
        if further is not None:
            found.append(_opened(data, where, further))
            continue
        if data not in known:
            known[data] = _opened(data, where)
        found.append(known[data])
    return found


def _columns(relation: Relation) -> Iterator[Ints]:
    """In the order in which they are kept."""
    for lo, hi in zip(relation.out_lo, relation.out_hi, strict=True):
        yield from (lo, hi - lo)
    ends = zip(relation.in_lo, relation.in_hi, relation.lo_moves.astype(np.int64), relation.hi_moves.astype(np.int64), strict=True)
    for lo, hi, lo_moves, hi_moves in ends:
        yield from (lo, hi - lo, lo_moves, hi_moves - lo_moves)


def _relation(source: Source, where: Callable[[], str]) -> Relation:
    out_shape, in_shape = _shape(source), _shape(source)
    rows = source.number()
    if rows > 1 and rows > cell_limit():
        raise TooManyCells(f"the relation has {rows:,} rows, and {cell_limit():,} may be read (AIRFLOW_LINEAGE_CELL_LIMIT)")
    columns = read_all(source, rows, 2 * len(out_shape) + 4 * len(in_shape))
    if not source.ended:
        raise RelationDamaged("a relation's bytes go on where it ends")
    unread = Unread(rows, columns, 2 * len(out_shape), where)
    if rows > FEW:
        return Relation.opened(unread, out_shape=out_shape, in_shape=in_shape, few=None, **unread.known(out_shape))
    few = unread.few()
    # Most operations are elementwise, and of these this is all that has to be looked at.
    is_identity = rows == 1 and out_shape == in_shape and few[0].is_identity(out_shape)
    found = Relation.opened(unread, out_shape=out_shape, in_shape=in_shape, few=few, is_identity=is_identity)
    if not is_identity and not all(row.fits(out_shape, in_shape) for row in few):
        check_relation(found)
    return found


def _shape(source: Source) -> Shape:
    sides = tuple(source.numbers(min(source.number(), 64)))
    return sides if is_shape(sides) else check_shape("in bytes", sides)
