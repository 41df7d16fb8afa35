"""Where a column is cut into fragments: at the first values of a clustered file's row groups, or where as many rows are on either side.

Fragments are worth what a reader can skip by them. In a file that is ordered by the column each row group is an interval, and the cuts are
where they begin, and between these; in any other order nothing is skipped in the files, and fragments with equally many rows serve best.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Protocol

from airflow_lineage_provider.sketches.composite import AnyPartition, in_order, uncut
from airflow_lineage_provider.sketches.kinds import is_whole, kind_of
from airflow_lineage_provider.sketches.partition import Partition

FRAGMENTS = 10_000
"""So many fragments a partition has, where its values are so many (the paper recommends it, Sec. 9)."""
CLUSTERED = 0.25
"""At most this share of a table's row groups has a value of the column, on average, in a table that is clustered by it."""
_SAMPLED = 8
"""A sample has so many values a fragment."""


@dataclass(frozen=True)
class RowGroup:
    """The smallest and the largest value of a column in a row group, as its file's footer has them."""

    least: Any
    most: Any


def sample_size(fragments: int = FRAGMENTS) -> int:
    """How many values of a column are enough for its percentiles."""
    return fragments * _SAMPLED


class ColumnValues(Protocol):
    """A column of a source, or several, whose values are tuples then; each question reads it once."""

    def count(self) -> int:
        """How many rows there are."""

    def sampled(self, share: float) -> list[Any]:
        """The values of such a share of the rows, drawn at random; of all of them for 1."""

    def all_values(self, most: int) -> list[Any] | None:
        """The values, each once; None where there are more."""


def of_column(
    column: ColumnValues, rows: int | None, type_: str | tuple[str, ...], fragments: int = FRAGMENTS, *, few: bool = False
) -> AnyPartition:
    """Cuts of a column, or of several with these types, that is looked at: once, unless a sample of many rows has few different values.
    ``rows`` is how many there are, where that is known; of a column that is likely to have ``few`` values (the names of folders, say) these
    are asked for at once.

    :raises SketchError: values of the type cannot be cut.
    """
    every = column.all_values(fragments) if few else None
    if every is not None:
        return of_values(every, type_, fragments, every=True)
    share = min(1.0, sample_size(fragments) / max(1, column.count() if rows is None else rows))
    found = column.sampled(share)
    if share < 1.0 and len({value for value in found if value == value}) <= fragments:
        every = column.all_values(fragments)
        if every is not None:
            return of_values(every, type_, fragments, every=True)
    return of_values(found, type_, fragments, every=share == 1.0)


def of_values(values: Iterable[Any], type_: str | tuple[str, ...], fragments: int = FRAGMENTS, *, every: bool = False) -> AnyPartition:
    """Cuts at the percentiles of sampled values, which may be there several times, NULL and NaN among them.

    ``every``: these are all values of the column, each at least once: where they are few enough, each has a fragment of its own.

    >>> of_values(["b", "a", None, "b"], "string", every=True).cuts
    ('a', 'b')
    >>> of_values([("b", 1), ("a", None), ("a", 7)], ("string", "int"), every=True).cuts
    (('a', None), ('a', 7), ('b', 1))

    :raises SketchError: values of the type cannot be cut.
    """
    whole = uncut(type_)
    found = [value for value in values if whole.fragment_of(value) == 0]
    found.sort(key=in_order)
    distinct = _each_once(found)
    if not every or len(distinct) > fragments:
        distinct = _each_once([found[len(found) * at // fragments] for at in range(1, fragments)] if found else [])
    return replace(whole, cuts=tuple(distinct[:fragments]))


def of_whole_numbers(groups: Sequence[RowGroup], rows: int | None, type_: str, fragments: int = FRAGMENTS) -> Partition | None:
    """Cuts at equal distances from the least value to the largest; None where there are more numbers between them than rows, or they are
    none.

    >>> of_whole_numbers([RowGroup(0, 90), RowGroup(7, 99)], 200, "int", 10).cuts
    (0, 10, 20, 30, 40, 50, 60, 70, 80, 90)

    :raises SketchError: values of the type cannot be cut.
    """
    if not is_whole(type_) or not groups or rows is None:
        return None
    least, most = min(one.least for one in groups), max(one.most for one in groups)
    if most - least >= rows:
        return None
    step = -(-(most - least + 1) // fragments)
    return Partition(type=type_, cuts=tuple(range(least, most + 1, step)))


def of_row_groups(groups: Sequence[RowGroup], type_: str, fragments: int = FRAGMENTS) -> Partition | None:
    """Cuts at the first values of row groups, and at equal distances between them where the type has distances; None where the table is not
    clustered by the column.

    >>> of_row_groups([RowGroup(0, 9), RowGroup(10, 19), RowGroup(20, 40)], "int", 6).cuts
    (0, 5, 10, 15, 20, 30)

    :raises SketchError: values of the type cannot be cut.
    """
    if len(groups) < 2 or clustering(groups) > max(CLUSTERED, 1.5 / len(groups)):
        return None
    starts = _each_once(sorted((one.least for one in groups), key=in_order))
    last = max((one.most for one in groups), key=in_order)
    if len(starts) >= fragments:
        starts = _each_once([starts[len(starts) * at // fragments] for at in range(fragments)])
    parts = max(1, fragments // len(starts))
    cuts = [cut for first, end in zip(starts, [*starts[1:], last], strict=True) for cut in _divided(first, end, parts, type_)]
    return Partition(type=type_, cuts=tuple(_each_once(cuts)))


def clustering(groups: Sequence[RowGroup]) -> float:
    """The mean share of the row groups that a value may be in: 1 / their number where none overlap, 1 where all have the same bounds."""
    least = sorted((one.least for one in groups), key=in_order)
    most = sorted((one.most for one in groups), key=in_order)
    met = sum(
        bisect_right(least, in_order(one.least), key=in_order) - bisect_left(most, in_order(one.least), key=in_order) for one in groups
    )
    return met / len(groups) ** 2


def _divided(first: Any, end: Any, parts: int, type_: str) -> list[Any]:
    """The first value, and others at equal distances up to the end."""
    if is_whole(type_) and end > first:
        step = max(1, -((first - end) // parts))
        return list(range(first, end, step))
    if kind_of(type_) in ("date", "timestamp") and end > first:
        whole: date | datetime = first
        return _each_once([whole + (end - whole) * at / parts for at in range(parts)])
    return [first]


def _each_once(values: Sequence[Any]) -> list[Any]:
    """Of values in order, each once; -0.0 and 0.0 are one."""
    return [value for at, value in enumerate(values) if at == 0 or value != values[at - 1]]
