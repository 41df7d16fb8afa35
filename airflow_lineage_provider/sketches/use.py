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
from datetime import date, datetime
from decimal import ROUND_CEILING, Context, Decimal
from functools import cached_property
from typing import Any

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan.expressions import Attribute, Call, Expression, Literal
from airflow_lineage_provider.sketches.intervals import Interval, intervals_of
from airflow_lineage_provider.sketches.kinds import digits, is_whole, kind_of
from airflow_lineage_provider.sketches.partition import Partition

FEW = 16
"""So many intervals are the whole selection: asking a row for each costs less than a search."""
FOR_READER = 64
"""At most so many intervals the reader is given where they are all of the sketch's."""
CLOSED = 32
"""So many it is given where there are more, and gaps are closed."""
SPARED = 0.5
"""With closed gaps they are given only if they have at most this share of the fragments."""

_FALSE, _TRUE = Literal(value="false", type="boolean"), Literal(value="true", type="boolean")
_MOST_BIGINT = (1 << 63) - 1
_EXACT = Context(prec=80)
_WHOLE_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


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
    """The rows of a leaf that meet ``intervals`` and are in a ``membership``, where there are these. Neither is ever NULL, or fails."""

    column: Attribute
    intervals: Expression | None = None
    membership: Membership | None = None


def selection(partition: Partition, fragments: frozenset[int], column: Attribute) -> Selection | None:
    """The selection of a leaf's rows that are in these fragments; None where all rows are.

    :raises SketchError: the column is of another type than the partition; a cut cannot be written as a constant of Spark's.
    """
    if column.type != partition.type:
        raise SketchError(f"fragments of {partition.type} are no fragments of column {column.name}, which is {column.type}")
    if len(fragments) == partition.count:
        return None
    if not fragments:
        return Selection(column=column, intervals=_FALSE)
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
        return _constant(self.partition.cuts[at], self.partition.type)

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
            return _balanced("or", beside) if beside else _FALSE
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
        return _balanced("and", terms) if terms else _TRUE

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
        type_ = _type_of(bounds, self.partition.type)
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


def _type_of(bounds: Sequence[Literal], type_: str) -> str:
    """A type that has all these constants, and all values of a column of a type."""
    match kind_of(type_):
        case "number" if is_whole(type_):
            return "decimal(38,0)" if any(one.type.startswith("decimal") for one in bounds) else "bigint"
        case "number":
            whole, scale = digits(type_) or (0, 0)
            return f"decimal({max([whole, *((digits(one.type) or (0, 0))[0] for one in bounds)]) + scale},{scale})"
        case "float":
            return "double"
        case "text":
            return "string"
    return type_


def _constant(cut: Any, type_: str) -> Literal:
    """A cut as a constant: the least value of the column's scale that is not below it. It may be beyond the column's own type.

    :raises SketchError: Spark has no such constant, or would read another one.
    """
    match kind_of(type_):
        case "number":
            return _number(Decimal(cut), type_)
        case "float":  # a float is compared as the double that it is
            text = repr(float(cut) + 0.0)  # -0.0 is 0.0
            return Literal(value={"inf": "Infinity", "-inf": "-Infinity"}.get(text, text), type="double")
        case "boolean":
            return _TRUE if cut else _FALSE
        case "date" if type(cut) is date:
            return Literal(value=cut.isoformat(), type="date")
        case "timestamp":
            return _moment(cut, type_)
    return Literal(value=cut, type="string")


def _number(cut: Decimal, type_: str) -> Literal:
    whole, scale = digits(type_) or (0, 0)
    least = cut.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_CEILING, context=_EXACT)
    least = _EXACT.add(least, 0)  # -0 is 0
    bits = _WHOLE_BITS.get(type_)
    if bits is not None:
        fits, large = -(1 << bits - 1) <= least < 1 << bits - 1, abs(least) <= _MOST_BIGINT
        return Literal(value=str(int(least)), type=type_ if fits else "bigint" if large else "decimal(38,0)")
    if abs(least) >= Decimal(10) ** whole:
        whole = len(least.as_tuple().digits) - scale
    if whole + scale > 38:
        raise SketchError(f"{cut} is beyond all values of type {type_}: no cut that Spark could compare with")
    return Literal(value=f"{least:f}", type=f"decimal({max(whole + scale, 1)},{scale})")


def _moment(cut: datetime, type_: str) -> Literal:
    """A timestamp with its offset, which is the same instant in every session; one without a zone as it stands."""
    if (cut.tzinfo is None) == (type_ == "timestamp"):
        needs = "needs an offset: it is an instant" if type_ == "timestamp" else "must not have an offset"
        raise SketchError(f"the cut {cut.isoformat()} of values of type {type_} {needs}")
    return Literal(value=cut.isoformat(sep=" ", timespec="microseconds"), type=type_)
