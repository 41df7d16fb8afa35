"""One column of integers as bytes: a constant is one number, what counts three, and of the other forms the smallest is taken.

Nothing that is read is executed, nothing is made that is larger than the rows that are asked for, and no column before it is asked for.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays import pco
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.pco import PAGED, Paged, Unsigned
from airflow_lineage_provider.arrays.plain import FEW
from airflow_lineage_provider.arrays.whole_numbers import Source, number, signed
from airflow_lineage_provider.errors import RelationDamaged

CONSTANT, PACKED, DEFLATED, PCO = range(4)
"""How a column is kept: the lower two bits of its first byte."""
COUNTED = 32
"""The first byte of a column that counts: from a number, each so many times, up to another, and from the first again."""
_DIFFERENCES = 4
"""The bit that says: as differences from the row before."""
_BYTES, _PLANES, _BITS = 0, 8, 16
"""Numbers of as many bytes as the largest needs; their lowest bytes, then the next, …; or numbers of as many bits."""
_FORMS = tuple(differences | layout for differences in (0, _DIFFERENCES) for layout in (_BYTES, _PLANES, _BITS))

_FEW = 256
"""So few numbers are hardly more than pcodec's own header."""
_WORTH = 0.002
"""By so much another form has to be smaller than pages, which are read far sooner, and in part."""
_SAMPLE = 2**15
"""So many say which form deflates best; numbers of 16 bits, they are twice what deflate looks back to."""


def packed(column: Ints) -> bytes:
    """Without a codec: bits, of the numbers or of their differences."""
    return _told(column) or min((_written(column, PACKED, form) for form in (_BITS, _BITS | _DIFFERENCES)), key=len)


def deflated(column: Ints) -> bytes:
    """The best of what deflate makes of its forms, told by a sample; or `packed`, where that is smaller."""
    if found := _told(column):
        return found
    middle = max(0, len(column) - _SAMPLE) // 2
    sample = column[middle : middle + _SAMPLE]
    best = min(_FORMS, key=lambda form: len(_written(sample, DEFLATED, form)))
    return min(_written(column, DEFLATED, best), packed(column), key=len)


def pcoded(column: Ints) -> tuple[bytes, bytes]:
    """By pcodec, which finds runs, steps and few different numbers; or `deflated`, where what repeats is longer than that. And the pages
    of a large one, which stand behind all columns.

    :raises EnvironmentProblem: pcodec is not installed, and the column is not a small one.
    """
    if len(column) < _FEW or _told(column):
        return deflated(column), b""
    found = pco.paged(column) or (_written(column, PCO, 0), b"")
    size, sample = sum(map(len, found)), column[:_SAMPLE]
    likely = len(deflated(sample)) * len(column) / len(sample)
    if likely < size and len(other := deflated(column)) < (1 - _WORTH * bool(found[1])) * size:
        return other, b""
    return found


@dataclass(frozen=True)
class Packed:
    """A column whose numbers differ, in its bytes, which are looked at when it is asked for them.

    :ivar kind: its first byte. :ivar rows: how many numbers it has.
    :ivar first: where it is differences, the number that they go on from.
    :ivar least: what is added to each of ``data``, which have so many bits (``width``).
    """

    kind: int
    rows: int
    first: int
    least: int
    width: int
    data: bytes

    def numbers(self) -> Ints:
        """All of them, (rows,).

        :raises RelationDamaged: these bytes are not so many numbers.
        """
        found = np.empty(self.rows, dtype=np.int64)
        self.write(found)
        return found

    def write(self, into: Ints) -> None:
        """The same, written there."""
        differ = bool(self.kind & _DIFFERENCES)
        into[differ:] = _unpacked(self.data, self.kind, self.width, self.rows - differ)
        if self.least:
            into[differ:] += self.least
        if differ:
            into[0] = self.first
            np.cumsum(into, out=into)

    def narrow(self) -> npt.NDArray[np.integer]:
        """The same, of as few bytes each as they are read in."""
        if self.kind & _DIFFERENCES or self.least:
            return self.numbers()
        found = _unpacked(self.data, self.kind, self.width, self.rows)
        return found.view(np.int64) if found.itemsize == 8 else found

    @cached_property
    def kept(self) -> npt.NDArray[np.integer]:
        """`narrow`, read once, of which several questions want parts."""
        return self.narrow()

    def at(self, rows: Ints) -> npt.NDArray[np.integer]:
        """The numbers of some rows, (n,).

        :raises RelationDamaged: these bytes are not so many numbers.
        """
        return self.kept.take(rows)

    def between(self, first: int, end: int) -> npt.NDArray[np.integer]:
        """The same of consecutive rows; not to be written to."""
        return self.kept[first:end]

    def is_within(self, most: int) -> bool:
        """Whether none can be of a larger size, by the bits that they have; what pcodec gives may have more than is said."""
        told = not self.kind & _DIFFERENCES and self.kind & 3 != PCO
        return told and -most <= self.least and self.least + 2**self.width <= most + 1

    def listed(self) -> list[int]:
        """The same in plain numbers, which is quicker where they are few.

        :raises RelationDamaged: these bytes are not so many numbers.
        """
        if self.kind & ~_DIFFERENCES != PACKED | _BITS:
            return [int(one) for one in self.numbers()]
        rows, width = self.rows - bool(self.kind & _DIFFERENCES), self.width
        _check_size(self.data, -(-width * rows // 8))
        # The lowest bit of each number stands first.
        bits = bin(int.from_bytes(b"\1" + self.data, "big"))[3:]
        found = [int(bits[at : at + width][::-1], 2) + self.least for at in range(0, rows * width, width)]
        return list(itertools.accumulate(found, initial=self.first)) if self.kind & _DIFFERENCES else found


@dataclass(frozen=True)
class Counted:
    """A column that counts: row r has ``first + r // repeat % side``."""

    rows: int
    first: int
    repeat: int
    side: int

    def numbers(self) -> Ints:
        """All of them, (rows,)."""
        found = np.empty(self.rows, dtype=np.int64)
        self.write(found)
        return found

    def write(self, into: Ints) -> None:
        """The same, written there."""
        # No more than the rows have room for.
        each = min(self.repeat, self.rows)
        side = min(self.side, -(-self.rows // each)) if each else 0
        period = each * side
        whole = self.rows // period if period else 0
        counted = np.arange(self.first, self.first + side)[:, None]
        into[: whole * period].reshape(whole, side, each)[:] = counted
        into[whole * period :] = np.broadcast_to(counted, (side, each)).reshape(-1)[: self.rows - whole * period]

    def listed(self) -> list[int]:
        """The same in plain numbers."""
        return [int(one) for one in self.numbers()]

    def at(self, rows: Ints) -> Ints:
        """The numbers of some rows, (n,)."""
        return np.asarray(self.first + rows // self.repeat % self.side)

    def between(self, first: int, end: int) -> Ints:
        """The same of consecutive rows."""
        return self.at(np.arange(first, end, dtype=np.int64))

    def is_within(self, most: int) -> bool:
        """Whether none is of a larger size."""
        return -most <= self.first and self.first + self.side <= most + 1


Varied = Packed | Counted | Paged
"""A column whose numbers differ."""
Column = int | Varied
"""A column as it stands in bytes; one number where all are the same, which most columns are."""


def read_all(source: Source, rows: int, count: int) -> list[Column]:
    """So many columns, as `read` reads one."""
    found: list[Column] = []
    while len(found) < count:
        found += source.signed_after_noughts(count - len(found))
        if len(found) < count:
            found.append(read(source, rows))
    return found


def read(source: Source, rows: int) -> Column:
    """The next column, of so many rows; of others than one number only how they are written.

    :raises RelationDamaged: it is none.
    :raises EnvironmentProblem: pcodec wrote it, and is not installed.
    """
    kind = source.byte()
    if kind == COUNTED:
        return _counted(source, rows)
    if kind == PAGED:
        return pco.read(source, rows, _int64(source.signed()))
    if kind >= 2 * _BITS or kind & (_PLANES | _BITS) == _PLANES | _BITS:
        raise RelationDamaged(f"a relation's column is of no kind that this release knows ({kind})")
    if kind & 3 == CONSTANT:
        return _int64(source.signed())
    first = _int64(source.signed()) if kind & _DIFFERENCES else 0
    least, width, length = _int64(source.signed()), source.number(), source.number()
    if not 0 < width <= 64 or (kind & _DIFFERENCES and not rows):
        raise RelationDamaged(f"a relation's column has numbers of {width} bits")
    if kind & 3 == PCO:
        pco.pcodec()
    return Packed(kind, rows, first, least, width, source.take(length))


def _counted(source: Source, rows: int) -> Counted:
    first, repeat, side = _int64(source.signed()), source.number(), source.number()
    if not repeat or not side:
        raise RelationDamaged("a relation's column counts nothing")
    _int64(first + side)
    return Counted(rows, first, repeat, side)


def _int64(value: int) -> int:
    if not -(2**62) < value < 2**62:
        raise RelationDamaged(f"a relation's column has the number {value}")
    return value


def _constant(column: Ints) -> bytes:
    """A column whose numbers are all the same; nothing for another."""
    if len(column) and (column != column[0]).any():
        return b""
    return bytes([CONSTANT]) + signed(int(column[0]) if len(column) else 0)


def _told(column: Ints) -> bytes:
    """A column that is known by a few numbers; nothing for another."""
    return _constant(column) or _counting(column)


def _counting(column: Ints) -> bytes:
    if len(column) <= FEW:
        return b""
    first, most = int(column[0]), int(column.max())
    further = int(np.argmax(column != first))
    found = Counted(len(column), first, further, most - first + 1)
    sample = column[:_SAMPLE]
    if not further or most < first or (replace(found, rows=len(sample)).numbers() != sample).any() or (found.numbers() != column).any():
        return b""
    return bytes([COUNTED]) + signed(first) + number(further) + number(found.side)


def _written(column: Ints, method: int, form: int) -> bytes:
    """A column of at least two rows as `read` reads it."""
    head = bytes([method | form])
    if form & _DIFFERENCES:
        head, column = head + signed(int(column[0])), np.diff(column)
    least = int(column.min())
    numbers = (column - least).astype(np.uint64)
    width = max(1, int(numbers.max()).bit_length())
    data = _METHODS[method](numbers, width, form)
    return head + signed(least) + number(width) + number(len(data)) + data


def _laid_out(numbers: Unsigned, width: int, form: int) -> bytes:
    if form & _BITS:
        bits = numbers[:, None] >> np.arange(width, dtype=np.uint64) & np.uint64(1)
        return np.packbits(bits.astype(np.uint8)).tobytes()
    octets = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : -(-width // 8)]
    return np.ascontiguousarray(octets.T if form & _PLANES else octets).tobytes()


def _deflate(numbers: Unsigned, width: int, form: int) -> bytes:
    return zlib.compress(_laid_out(numbers, width, form), 6)


_METHODS: dict[int, Callable[[Unsigned, int, int], bytes]] = {
    PACKED: _laid_out,
    DEFLATED: _deflate,
    PCO: lambda numbers, width, form: pco.written(numbers, width),
}


def _unpacked(data: bytes, kind: int, width: int, rows: int) -> npt.NDArray[np.unsignedinteger]:
    """The numbers that `_written` wrote."""
    if kind & 3 == PCO:
        return pco.from_written(data, width, rows)
    octets = -(-width // 8)
    size = -(-width * rows // 8) if kind & _BITS else octets * rows
    if kind & 3 == DEFLATED:
        data = _inflated(data, size)
    _check_size(data, size)
    raw = np.frombuffer(data, dtype=np.uint8)
    if kind & _BITS:
        return _from_bits(np.unpackbits(raw, count=width * rows).reshape(rows, width))
    whole = np.zeros((rows, 8), dtype=np.uint8)
    whole[:, :octets] = raw.reshape(octets, rows).T if kind & _PLANES else raw.reshape(rows, octets)
    return whole.view("<u8").reshape(rows)


def _from_bits(bits: npt.NDArray[np.uint8]) -> npt.NDArray[np.unsignedinteger]:
    """Numbers of which each row has the bits, the lowest first."""
    rows, width = bits.shape
    if width == 1:
        return bits[:, 0]
    octets = next(size for size in (1, 2, 4, 8) if 8 * size >= width)
    wide = np.zeros((rows, 8 * octets), dtype=np.uint8)
    wide[:, :width] = bits
    return np.packbits(wide.reshape(-1), bitorder="little").view(f"<u{octets}").reshape(rows)


def _check_size(data: bytes, size: int) -> None:
    if len(data) != size:
        raise RelationDamaged(f"a relation's column has {len(data):,} bytes in place of {size:,}")


def _inflated(data: bytes, size: int) -> bytes:
    """No more than is asked for, however much there is."""
    try:
        return zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as error:
        raise RelationDamaged(f"a relation's column cannot be decompressed: {error}") from error
