"""Whole numbers as few bytes, and reading bytes from their beginning on."""

from __future__ import annotations

from airflow_lineage_provider.arrays.tail import AtHand, Tail
from airflow_lineage_provider.errors import RelationDamaged

_NONE = AtHand(b"")


class Source:
    """Bytes, and how far they are read. Whatever reads beyond their end is told so.

    :param tail: what stands behind them, for what is read to take its parts of, one after the other.
    :raises RelationDamaged: they end too early.
    """

    def __init__(self, data: bytes, tail: Tail = _NONE) -> None:
        self._data = data
        self._at = 0
        self.tail = tail
        self._at_tail = 0

    def behind(self, count: int) -> int:
        """Where the next of so many bytes of what stands behind (``tail``) begin."""
        left = self.tail.length - self._at_tail
        if count > left:
            raise RelationDamaged(f"a relation's bytes end {count - left:,} before its last page does")
        self._at_tail += count
        return self._at_tail - count

    def take(self, count: int) -> bytes:
        """So many bytes."""
        if count > len(self._data) - self._at:
            raise RelationDamaged(f"a relation's bytes end at {len(self._data):,}, and {count:,} more from {self._at:,} on belong to it")
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        """The next one."""
        if self._at == len(self._data):
            self.take(1)
        self._at += 1
        return self._data[self._at - 1]

    def number(self) -> int:
        """A whole number from 0: seven bits a byte, the lowest first."""
        byte = self.byte()
        found = byte & 127
        for shift in range(7, 70, 7):
            if byte < 128:
                return found
            byte = self.byte()
            found |= (byte & 127) << shift
        if byte < 128:
            return found
        raise RelationDamaged("a relation's bytes have a number of more than 70 bits")

    def numbers(self, count: int) -> list[int]:
        """So many whole numbers from 0."""
        found: list[int] = []
        data, at, end = self._data, self._at, len(self._data) - 1
        while len(found) < count and at < end and data[at + 1] < 128:
            if data[at] < 128:
                found.append(data[at])
                at += 1
            else:
                found.append((data[at] & 127) | data[at + 1] << 7)
                at += 2
        self._at = at
        return found + [self.number() for _ in range(count - len(found))]

    def signed_after_noughts(self, most: int) -> list[int]:
        """Of bytes that are nought, with a whole number behind each, the numbers; so many at most, up to another byte or a long number."""
        found: list[int] = []
        data, at, end = self._data, self._at, len(self._data) - 4
        while len(found) < most and at < end and not data[at]:
            number, length = data[at + 1], 2
            if number > 127:
                if data[at + 2] > 127:
                    break
                number, length = (number & 127) | data[at + 2] << 7, 3
            found.append(-(number >> 1) - 1 if number & 1 else number >> 1)
            at += length
        self._at = at
        return found

    def signed(self) -> int:
        """A whole number: 0, −1, 1, −2, …"""
        found = self.number()
        return -(found >> 1) - 1 if found & 1 else found >> 1

    @property
    def at(self) -> int:
        """How far they are read."""
        return self._at

    @property
    def ended(self) -> bool:
        """Whether all is read."""
        return self._at == len(self._data) and self._at_tail == self.tail.length


def number(value: int) -> bytes:
    """What `Source.number` reads.

    >>> number(300).hex(), Source(number(300)).number()
    ('ac02', 300)
    """
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def signed(value: int) -> bytes:
    """What `Source.signed` reads.

    >>> [Source(signed(value)).signed() for value in (0, -1, 1, -300)]
    [0, -1, 1, -300]
    """
    return number(2 * value if value >= 0 else -2 * value - 1)
