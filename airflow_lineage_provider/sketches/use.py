"""A sketch as a selection over its leaf: which rows a run that uses it reads (the paper's Q[P], Sec. 5).

Two conditions in one. The reader of Parquet files is given intervals, whose bounds it compares with the files' statistics: all of the
sketch's where they are few, else some in which the smallest gaps are closed. Spark asks each row that was read whether it is in one of
them, by code that Java does not compile when it is long (128 intervals over rows in random order take 3 times as long as reading
everything); where closed gaps leave more than half of the fragments it is given none. Whether a row belongs to the sketch is then found by
searching its value among all bounds in order, in the same time for ten of them and for thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan.expressions import Attribute, Call, Expression, Literal
from airflow_lineage_provider.sketches.constants import FALSE, TRUE, constant, type_of
from airflow_lineage_provider.sketches.files import PATH, files_in
from airflow_lineage_provider.sketches.intervals import Interval, intervals_of
from airflow_lineage_provider.sketches.partition import Partition

FEW = 16
"""So many intervals are the whole selection: asking a row for each costs less than a search."""
FOR_READER = 64
"""At most so many intervals the reader is given where they are all of the sketch's."""
CLOSED = 32
"""So many it is given where there are more, and gaps are closed."""
SPARED = 0.5
"""With closed gaps they are given only if they have at most this share of the fragments."""


@dataclass(frozen=True, kw_only=True)
class Membership:
    """Whether a value is in one of several intervals, told by its place among their bounds, which open and close intervals in turn.

    :ivar column: the value. It is compared as the ``type`` of the bounds, which all its values have.
    :ivar bounds: constants of that type, as texts that Spark casts back to it, ascending, each once.
    :ivar before: whether values below all bounds are inside; then the first bound closes an interval.
    :ivar null: whether NULL is; ``nan``: whether NaN is, None where no value is that.
    """

    column: Attribute
    type: str
    bounds: tuple[str, ...]
    before: bool
    null: bool
    nan: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The rows of a leaf that meet ``intervals`` and are in a ``membership``, where there are these. Neither is ever NULL, or fails. Or
    those of ``files``, whose names are Spark's."""

    column: Attribute
    intervals: Expression | None = None
    membership: Membership | None = None
    files: tuple[str, ...] | None = None


def selection(partition: Partition, fragments: frozenset[int], column: Attribute) -> Selection | None:
    """The selection of a leaf's rows that are in these fragments; None where all rows are.

    :raises SketchError: the column is of another type than the partition; a cut cannot be written as a constant of Spark's.
    """
    if column.type != partition.type:
        raise SketchError(f"fragments of {partition.type} are no fragments of column {column.name}, which is {column.type}")
    if column == PATH:
        inside = files_in(partition, fragments)
        return Selection(column=column, files=inside) if len(inside) < len(partition.cuts) else None
    if len(fragments) == partition.count:
        return None
    if not fragments:
        return Selection(column=column, intervals=FALSE)
    made = _Selected(partition, fragments, column)
    if len(made.intervals) <= FEW:
        return Selection(column=column, intervals=made.within(made.intervals))
    return Selection(column=column, intervals=made.for_reader(), membership=made.membership())


@dataclass(frozen=True)
class _Selected:
    partition: Partition
    fragments: frozenset[int]
    column: Attribute

    @property
    def ranges(self) -> int:
        """How many fragments are ranges of values."""
        return self.partition.null_fragment

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """All intervals that the fragments are."""
        return intervals_of(self.fragments, self.ranges, self.ranges)

    @property
    def null(self) -> bool:
        return self.partition.null_fragment in self.fragments

    @property
    def nan(self) -> bool | None:
        return None if self.partition.nan_fragment is None else self.partition.nan_fragment in self.fragments

    def cut(self, at: int) -> Literal:
        """A cut as a constant, which compares with the column's values as the cut does."""
        return constant(self.partition.cuts[at], self.partition.type)

    # --- for the reader ------------------------------------------------------------------------------------------------

    def for_reader(self) -> Expression | None:
        """Intervals by which it skips pages; None where they would be of little use."""
        if len(self.intervals) <= FOR_READER:
            return self.within(self.intervals)
        closed = intervals_of(self.fragments, self.ranges, CLOSED)
        read = sum(one.last - one.first + 1 for one in closed)
        return self.within(closed) if read <= SPARED * self.ranges else None

    def within(self, intervals: Sequence[Interval]) -> Expression:
        """A disjunction of intervals, and of what is in none. That the value is not NULL is said once: so Spark asks no interval for it."""
        beside = [_call("isnull", self.column)] if self.null else []
        if self.nan:
            beside.append(_both(_call("isnotnull", self.column), _call("isnan", self.column)))
        among = [self._between(one) for one in intervals]
        if not among:
            return _balanced("or", beside) if beside else FALSE
        inside = _both(_call("isnotnull", self.column), _balanced("or", among))
        return _balanced("or", [inside, *beside])

    def _between(self, one: Interval) -> Expression:
        terms = []
        if one.first > 0:
            terms.append(_call(">=", self.column, self.cut(one.first - 1)))
        if one.last < self.ranges - 1:
            terms.append(_call("<", self.column, self.cut(one.last)))
        elif self.nan is not None:  # NaN is the largest of Spark's numbers
            terms.append(_call("not", _call("isnan", self.column)))
        return _balanced("and", terms) if terms else TRUE

    # --- exactly -------------------------------------------------------------------------------------------------------

    def membership(self) -> Membership:
        """Cuts that are one constant (there may be no value of the type between them) have nothing between them, and cancel out."""
        bounds: list[Literal] = []
        for one in self.intervals:
            for at in (one.first - 1, one.last):
                if not 0 <= at < len(self.partition.cuts):
                    continue
                bound = self.cut(at)
                if bounds and bounds[-1].value == bound.value:
                    bounds.pop()
                else:
                    bounds.append(bound)
        texts = tuple(one.value or "" for one in bounds)
        type_ = type_of(bounds, self.partition.type)
        return Membership(column=self.column, type=type_, bounds=texts, before=0 in self.fragments, null=self.null, nan=self.nan)


# --- expressions -------------------------------------------------------------------------------------------------------


def _call(function: str, *arguments: Expression) -> Call:
    return Call(function=function, arguments=arguments, type="boolean")


def _both(left: Expression, right: Expression) -> Call:
    return _call("and", left, right)


def _balanced(function: str, terms: Sequence[Expression]) -> Expression:
    """Terms connected in a tree that is as flat as can be: Spark's optimizer goes down a chain again and again."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _call(function, _balanced(function, terms[:middle]), _balanced(function, terms[middle:]))
