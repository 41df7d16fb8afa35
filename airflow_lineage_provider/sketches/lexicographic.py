"""A sketch of several columns as a selection, in two conditions as one of a single column is (`use`): intervals of tuples for the reader of
Parquet files, and the place of a row's code among the bounds (`ordinals`).

An interval is written as comparisons of columns with constants, which the reader compares with the files' statistics. Of ``(a, b)`` up to,
and without, ``(c, d)`` it is ``x > a AND x < c OR x = a AND y >= b OR x = c AND y < d``: three times as many as of one column, or more. So
the reader is given fewer of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow_lineage_provider.plan.expressions import Attribute, Expression
from airflow_lineage_provider.sketches.composite import Composite
from airflow_lineage_provider.sketches.conditions import balanced, both, call
from airflow_lineage_provider.sketches.constants import FALSE, TRUE, constant
from airflow_lineage_provider.sketches.intervals import Interval, intervals_of
from airflow_lineage_provider.sketches.ordinals import CodeMembership, ordinals_of

FEW = 6
"""So many intervals are the whole selection."""
FOR_READER = 20
"""At most so many intervals the reader is given where they are all of the sketch's."""
CLOSED = 10
"""So many it is given where there are more, and gaps are closed."""
SPARED = 0.5
"""With closed gaps they are given only if they have at most this share of the fragments."""


@dataclass(frozen=True)
class LexicographicSelection:
    """The rows that are in some, and not all, fragments of several columns."""

    partition: Composite
    fragments: frozenset[int]
    columns: tuple[Attribute, ...]

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """All intervals that the fragments are."""
        return intervals_of(self.fragments, self.partition.ranges, self.partition.ranges)

    def for_reader(self) -> Expression | None:
        """Intervals by which it skips pages, and exactly the rows where they are few; None where they would be of little use."""
        if len(self.intervals) <= FOR_READER:
            return self._within(self.intervals)
        closed = intervals_of(self.fragments, self.partition.ranges, CLOSED)
        read = sum(one.last - one.first + 1 for one in closed)
        return self._within(closed) if read <= SPARED * self.partition.ranges else None

    def membership(self) -> CodeMembership | None:
        """The bounds by their codes; None where the intervals are the whole selection."""
        if len(self.intervals) <= FEW:
            return None
        cuts = self.partition.codes
        bounds = [cuts[at] for one in self.intervals for at in (one.first - 1, one.last) if 0 <= at < len(cuts)]
        return CodeMembership(columns=self.columns, parts=ordinals_of(self.partition), bounds=tuple(bounds), before=0 in self.fragments)

    # --- intervals -----------------------------------------------------------------------------------------------------

    def _within(self, intervals: Sequence[Interval]) -> Expression:
        return balanced("or", [self._between(one) for one in intervals])

    def _between(self, one: Interval) -> Expression:
        cuts = self.partition.cuts
        least = cuts[one.first - 1] if one.first > 0 else None
        below = cuts[one.last] if one.last < len(cuts) else None
        if least is None:
            return TRUE if below is None else self._less(below, 0)
        return self._not_less(least, 0) if below is None else self._from_to(least, below, 0)

    def _from_to(self, least: Sequence[Any], below: Sequence[Any], at: int) -> Expression:
        """That the columns from one on are not less than these values, and less than those."""
        if least[at] == below[at]:
            return _all(self._same(least[at], at), self._from_to(least, below, at + 1))
        if at == len(self.columns) - 1:
            end = self._below(below[at], at) if least[at] is None else self._less_than(below[at], at)
            return _all(self._at_least(least[at], at), end)
        first = _all(self._same(least[at], at), self._not_less(least, at + 1))
        last = _all(self._same(below[at], at), self._less(below, at + 1))
        return _any(_all(self._above(least[at], at), self._less_than(below[at], at)), first, last)

    def _not_less(self, least: Sequence[Any], at: int) -> Expression:
        if at == len(self.columns) - 1:
            return self._at_least(least[at], at)
        return _any(self._above(least[at], at), _all(self._same(least[at], at), self._not_less(least, at + 1)))

    def _less(self, below: Sequence[Any], at: int) -> Expression:
        if at == len(self.columns) - 1:
            return self._below(below[at], at)
        return _any(self._below(below[at], at), _all(self._same(below[at], at), self._less(below, at + 1)))

    # --- one column, which may be NULL: that is before all values, and no condition is NULL ----------------------------

    def _compared(self, function: str, value: Any, at: int) -> Expression:
        return both(call("isnotnull", self.columns[at]), call(function, self.columns[at], constant(value, self.partition.types[at])))

    def _at_least(self, value: Any, at: int) -> Expression:
        return TRUE if value is None else self._compared(">=", value, at)

    def _above(self, value: Any, at: int) -> Expression:
        return call("isnotnull", self.columns[at]) if value is None else self._compared(">", value, at)

    def _same(self, value: Any, at: int) -> Expression:
        return call("isnull", self.columns[at]) if value is None else self._compared("=", value, at)

    def _below(self, value: Any, at: int) -> Expression:
        if value is None:
            return FALSE
        return call("or", call("isnull", self.columns[at]), self._less_than(value, at))

    def _less_than(self, value: Any, at: int) -> Expression:
        """Beside a condition that NULL does not meet."""
        return call("<", self.columns[at], constant(value, self.partition.types[at]))


def _all(*terms: Expression) -> Expression:
    """Without what always holds; false where one never does."""
    if FALSE in terms:
        return FALSE
    left = [one for one in terms if one != TRUE]
    return balanced("and", left) if left else TRUE


def _any(*terms: Expression) -> Expression:
    """Without what never holds; true where one always does."""
    if TRUE in terms:
        return TRUE
    left = [one for one in terms if one != FALSE]
    return balanced("or", left) if left else FALSE
