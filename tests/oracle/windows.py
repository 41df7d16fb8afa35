"""Window functions on annotated rows: a row carries what it carries and what every row of its functions' frames carries.

Aggregates, first_value, last_value, nth_value: the frame. row_number: from the partition's first row to the current one. rank,
dense_rank: the same with the current row's peers. percent_rank, cume_dist, ntile: the partition. lag, lead: the row at the offset, or
with IGNORE NULLS all rows from the current one to the partition's end on that side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, cmp_to_key
from typing import Any

from tests.oracle import query as q
from tests.oracle.row import Ambiguous, Row, united, with_calls
from tests.oracle.values import folded, order, same, value

_PLACED = ("row_number", "ntile", "lag", "lead")
_PICKED = ("first_value", "last_value", "nth_value")
_WHOLE = q.Frame("rows", None, None)
_TO_CURRENT = q.Frame("range", None, 0)


def windowed(given: list[Row], node: q.Window) -> list[Row]:
    inside = [one.argument for one in node.functions if one.argument is not None]
    partitions: dict[tuple[Any, ...], list[Row]] = {}
    for row in given:
        partitions.setdefault(tuple(same(row.values[at]) for at in node.partition), []).append(with_calls(row, inside))
    return [made for some in partitions.values() for made in _partition(some, node)]


def _partition(given: list[Row], node: q.Window) -> list[Row]:
    def compared(a: Row, b: Row) -> int:
        pairs = (order(a.values[at], b.values[at], descending) for at, descending in node.order)
        return next((found for found in pairs if found), 0)

    part = _Partition(sorted(given, key=cmp_to_key(compared)), node)
    found = []
    for at, row in enumerate(part.rows):
        made = [part.result(one, at) for one in node.functions]
        behind = {i for _, some in made for i in some} | {at}
        found.append(united(row.values + tuple(one for one, _ in made), [part.rows[i] for i in sorted(behind)]))
    return found


@dataclass(frozen=True)
class _Partition:
    """The rows of a partition in order."""

    rows: list[Row]
    node: q.Window

    @cached_property
    def peers(self) -> list[tuple[int, int]]:
        keys = [tuple(same(row.values[column]) for column, _ in self.node.order) for row in self.rows]
        return [(keys.index(key), len(keys) - 1 - keys[::-1].index(key)) for key in keys]

    def result(self, one: q.Over, at: int) -> tuple[Any, Sequence[int]]:
        """A function's value at a place, and the places that are behind it."""
        if one.function in _PLACED and self._ties():
            raise Ambiguous
        count, first, last = len(self.rows), *self._peers(at)
        match one.function:
            case "row_number":
                return at + 1, range(at + 1)
            case "rank":
                return first + 1, range(last + 1)
            case "dense_rank":
                return len(set(self.peers[: at + 1])), range(last + 1)
            case "percent_rank":
                return first / (count - 1) if count > 1 else 0.0, range(count)
            case "cume_dist":
                return (last + 1) / count, range(count)
            case "ntile":
                return self._tile(at, one.number), range(count)
            case "lag" | "lead":
                return self._neighbour(one, at)
        return self._framed(one, at)

    def _neighbour(self, one: q.Over, at: int) -> tuple[Any, Sequence[int]]:
        step = 1 if one.function == "lead" else -1
        if not one.ignore_nulls:
            places = [i for i in (at + step * one.number,) if 0 <= i < len(self.rows)]
            return (self._value(one, places[0]) if places else None), places
        side = range(at + 1, len(self.rows)) if step > 0 else range(at - 1, -1, -1)
        there = [given for i in side if (given := self._value(one, i)) is not None]
        return (there[one.number - 1] if len(there) >= one.number else None), side

    def _framed(self, one: q.Over, at: int) -> tuple[Any, Sequence[int]]:
        frame = one.frame or (_TO_CURRENT if self.node.order else _WHOLE)
        places = self._rows_frame(frame, at) if frame.unit == "rows" else self._range_frame(frame, at)
        if frame.unit == "rows" and (frame.start, frame.end) != (None, None) and self._ties():
            raise Ambiguous
        if one.function in _PICKED:
            return self._picked(one, places), places
        if one.argument is None:
            return len(places), places
        given = [made for i in places if (made := self._value(one, i)) is not None]
        return (len(given) if one.function == "count" else folded(one.function, given)), places

    def _picked(self, one: q.Over, places: Sequence[int]) -> Any:
        """The value at a place of the frame; among its peers there it must not matter which comes first."""
        there = [i for i in places if not (one.ignore_nulls and self._value(one, i) is None)]
        at = {"first_value": 0, "last_value": len(there) - 1, "nth_value": one.number - 1}[one.function]
        if not 0 <= at < len(there):
            return None
        alike = [i for i in there if self._peers(i) == self._peers(there[at])]
        if len({same(self._value(one, i)) for i in alike}) > 1:
            raise Ambiguous
        return self._value(one, there[at])

    def _rows_frame(self, frame: q.Frame, at: int) -> range:
        start = 0 if frame.start is None else max(at + frame.start, 0)
        end = len(self.rows) if frame.end is None else min(at + frame.end + 1, len(self.rows))
        return range(start, max(start, end))

    def _range_frame(self, frame: q.Frame, at: int) -> list[int]:
        """The rows whose order value is within the bounds; NULL is in reach of NULL alone, and of what is unbounded."""
        if frame.start in (None, 0) and frame.end in (None, 0):
            first, last = self._peers(at)
            return list(range(0 if frame.start is None else first, len(self.rows) if frame.end is None else last + 1))
        ((column, descending),) = self.node.order
        sign = -1 if descending else 1
        here = self.rows[at].values[column]

        def bound(offset: int) -> Any:
            return None if here is None else here + sign * offset

        def inside(i: int) -> bool:
            there = self.rows[i].values[column]
            after = frame.start is None or order(there, bound(frame.start), descending) >= 0
            return after and (frame.end is None or order(there, bound(frame.end), descending) <= 0)

        return [i for i in range(len(self.rows)) if inside(i)]

    def _value(self, one: q.Over, at: int) -> Any:
        return None if one.argument is None else value(one.argument, self.rows[at].values)

    def _peers(self, at: int) -> tuple[int, int]:
        """The first and the last place of the rows that the order does not tell apart."""
        return self.peers[at]

    def _ties(self) -> bool:
        return len(set(self.peers)) < len(self.rows)

    def _tile(self, at: int, tiles: int) -> int:
        """The first ``n mod tiles`` buckets have one row more."""
        size, larger = divmod(len(self.rows), tiles)
        return at // (size + 1) + 1 if at < larger * (size + 1) else larger + (at - larger * (size + 1)) // size + 1
