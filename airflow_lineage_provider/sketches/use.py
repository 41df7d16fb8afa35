"""A sketch as a selection over its leaf: which rows a run that uses it reads (the paper's Q[P], Sec. 5).

Two conditions in one. The reader of Parquet files is given intervals, whose bounds it compares with the files' statistics: all of the
sketch's where they are few, else some in which the smallest gaps are closed. Spark asks each row that was read whether it is in one of
them, by code that Java does not compile when it is long (128 intervals over rows in random order take 3 times as long as reading
everything); where closed gaps leave more than half of the fragments it is given none. Whether a row belongs to the sketch is then found by
searching its value among all bounds in order, in the same time for ten of them and for thousands; and by a bit, where that says that it
is in none (`grid`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan.expressions import Attribute, Expression, Literal
from airflow_lineage_provider.sketches.composite import AnyPartition, Composite
from airflow_lineage_provider.sketches.conditions import balanced, both, call
from airflow_lineage_provider.sketches.constants import FALSE, TRUE, constant, type_of
from airflow_lineage_provider.sketches.files import PATH, files_in
from airflow_lineage_provider.sketches.grid import Grid, grid, places
from airflow_lineage_provider.sketches.intervals import Interval, intervals_of
from airflow_lineage_provider.sketches.lexicographic import LexicographicSelection
from airflow_lineage_provider.sketches.ordinals import CodeMembership
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

    @cached_property
    def grid(self) -> Grid | None:
        """What spares most values the search; None of types that have no places among whole numbers."""
        found = places(self.bounds, self.type)
        return None if found is None else grid(found, before=self.before)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The rows of a leaf that meet ``intervals`` and are in a ``membership``, where there are these. Neither is ever NULL, or fails. Or
    those of ``files``, whose names are Spark's.

    :ivar columns: what both ask, in the order of the partition.
    """

    columns: tuple[Attribute, ...]
    intervals: Expression | None = None
    membership: Membership | CodeMembership | None = None
    files: tuple[str, ...] | None = None


def selection(partition: AnyPartition, fragments: frozenset[int], *columns: Attribute) -> Selection | None:
    """The selection of a leaf's rows that are in these fragments of one column, or of several; None where all rows are.

    :raises SketchError: the columns are of other types than the partition; a cut cannot be written as a constant of Spark's.
    """
    types = partition.types if isinstance(partition, Composite) else (partition.type,)
    if tuple(one.type for one in columns) != types:
        told, names, theirs = ", ".join(types), ", ".join(one.name for one in columns), ", ".join(one.type for one in columns)
        raise SketchError(f"fragments of {told} are no fragments of column {names}, which is {theirs}")
    if columns == (PATH,) and isinstance(partition, Partition):
        inside = files_in(partition, fragments)
        return Selection(columns=columns, files=inside) if len(inside) < len(partition.cuts) else None
    if len(fragments) == partition.count:
        return None
    if not fragments:
        return Selection(columns=columns, intervals=FALSE)
    if isinstance(partition, Composite):
        several = LexicographicSelection(partition, fragments, columns)
        return Selection(columns=columns, intervals=several.for_reader(), membership=several.membership())
    made = _Selected(partition, fragments, columns[0])
    if len(made.intervals) <= FEW:
        return Selection(columns=columns, intervals=made.within(made.intervals))
    return Selection(columns=columns, intervals=made.for_reader(), membership=made.membership())


@dataclass(frozen=True)
class _Selected:
    partition: Partition
    fragments: frozenset[int]
    column: Attribute

    @property
    def ranges(self) -> int:
        """How many fragments are ranges of values."""
        return self.partition.ranges

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
        beside = [call("isnull", self.column)] if self.null else []
        if self.nan:
            beside.append(both(call("isnotnull", self.column), call("isnan", self.column)))
        among = [self._between(one) for one in intervals]
        if not among:
            return balanced("or", beside) if beside else FALSE
        inside = both(call("isnotnull", self.column), balanced("or", among))
        return balanced("or", [inside, *beside])

    def _between(self, one: Interval) -> Expression:
        terms = []
        if one.first > 0:
            terms.append(call(">=", self.column, self.cut(one.first - 1)))
        if one.last < self.ranges - 1:
            terms.append(call("<", self.column, self.cut(one.last)))
        elif self.nan is not None:  # NaN is the largest of Spark's numbers
            terms.append(call("not", call("isnan", self.column)))
        return balanced("and", terms) if terms else TRUE

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
