"""A sketch as a selection over its leaf: which rows a run that uses it reads (the paper's Q[P], Sec. 5).

Two conditions in one. The reader of Parquet files is given at most 16 intervals, whose bounds it compares with the files' statistics; more
of them, written as a disjunction, take Spark longer than reading everything (100 of them 8 times as long as the plain scan, 384 of them
35 times). Which of the rows that are left belong to the sketch is then told by the number of their fragment, by a set of numbers where the
cuts are equally far from each other, or by a balanced tree of comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_CEILING, Context, Decimal
from itertools import pairwise
from typing import Any

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan.expressions import Attribute, Call, Cast, Expression, Literal, conjunction
from airflow_lineage_provider.sketches.intervals import Interval, intervals_of
from airflow_lineage_provider.sketches.kinds import digits, is_whole, kind_of
from airflow_lineage_provider.sketches.partition import Partition

FOR_READER = 16
"""So many intervals the reader is given."""
IN_TREE = 128
"""So many intervals the tree of comparisons tells apart: it is compiled for every query."""

_FALSE, _TRUE = Literal(value="false", type="boolean"), Literal(value="true", type="boolean")
_MOST_BIGINT = (1 << 63) - 1
_EXACT = Context(prec=80)
_WHOLE_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def selection(partition: Partition, fragments: frozenset[int], column: Attribute) -> Expression | None:
    """The condition that the rows of a leaf in these fragments meet, and few others; None where all rows do.

    What it lets pass besides are whole fragments. It is never NULL and never fails, whatever the value.

    :raises SketchError: the column is of another type than the partition; a cut cannot be written as a constant of Spark's.
    """
    if column.type != partition.type:
        raise SketchError(f"fragments of {partition.type} are no fragments of column {column.name}, which is {column.type}")
    if len(fragments) == partition.count:
        return None
    if not fragments:
        return _FALSE
    made = _Selection(partition, fragments, column)
    few = made.intervals(FOR_READER)
    coarse = made.within(few)
    if few == made.intervals(partition.count):
        return coarse
    return conjunction((coarse, made.exact()))


def let_pass(partition: Partition, fragments: frozenset[int], column: Attribute) -> frozenset[int]:
    """The fragments whose rows meet the `selection` of these: they, and where they are many some that stand between."""
    made = _Selection(partition, fragments, column)
    if made.intervals(FOR_READER) == made.intervals(partition.count) or made.is_numbered:
        return fragments
    return fragments | {number for one in made.intervals(IN_TREE) for number in range(one.first, one.last + 1)}


@dataclass(frozen=True)
class _Selection:
    partition: Partition
    fragments: frozenset[int]
    column: Attribute

    @property
    def ranges(self) -> int:
        """How many fragments are ranges of values."""
        return self.partition.null_fragment

    def cut(self, at: int) -> Literal:
        """A cut as a constant, which compares with the column's values as the cut does."""
        return _constant(self.partition.cuts[at], self.partition.type)

    def intervals(self, most: int) -> tuple[Interval, ...]:
        return intervals_of(self.fragments, self.ranges, most)

    # --- for the reader ------------------------------------------------------------------------------------------------

    def within(self, intervals: Sequence[Interval]) -> Expression:
        """A disjunction of intervals, and of what is in none."""
        terms = [self._between(one) for one in intervals]
        if self.partition.null_fragment in self.fragments:
            terms.append(_call("isnull", self.column))
        if self.partition.nan_fragment in self.fragments:
            terms.append(_both(_call("isnotnull", self.column), _call("isnan", self.column)))
        return _balanced("or", terms)

    def _between(self, one: Interval) -> Expression:
        terms = [_call("isnotnull", self.column)]
        if one.first > 0:
            terms.append(_call(">=", self.column, self.cut(one.first - 1)))
        if one.last < self.ranges - 1:
            terms.append(_call("<", self.column, self.cut(one.last)))
        elif self.partition.nan_fragment is not None:  # NaN is the largest of Spark's numbers
            terms.append(_call("not", _call("isnan", self.column)))
        return _balanced("and", terms)

    # --- exactly -------------------------------------------------------------------------------------------------------

    def exact(self) -> Expression:
        """Whether a row's fragment is one of these, asked in this order, so that no condition meets a value that it cannot be asked of."""
        cases: list[Expression] = [_call("isnull", self.column), self._has(self.partition.null_fragment)]
        if self.partition.nan_fragment is not None:
            cases += [_call("isnan", self.column), self._has(self.partition.nan_fragment)]
        step = self._step()
        return _call("when", *cases, self._tree(self.intervals(IN_TREE)) if step is None else self._by_number(step))

    @property
    def is_numbered(self) -> bool:
        """Whether a row's fragment is computed, so that it is told exactly, however many there are."""
        return self._step() is not None

    def _has(self, fragment: int) -> Literal:
        return _TRUE if fragment in self.fragments else _FALSE

    def _step(self) -> int | None:
        """How far apart the cuts of whole numbers are, where they are equally far, so that a number is divided by it."""
        cuts = self.partition.cuts
        if not is_whole(self.partition.type) or len(cuts) < 2 or not all(isinstance(cut, int) for cut in cuts):
            return None
        steps = {after - before for before, after in pairwise(cuts)}
        fits = max(-cuts[0], cuts[-1], cuts[-1] - cuts[0]) <= _MOST_BIGINT
        return steps.pop() if len(steps) == 1 and fits else None

    def _by_number(self, step: int) -> Expression:
        first, last = self.partition.cuts[0], self.partition.cuts[-1]
        wide = Cast(child=self.column, type="bigint")
        passed = Call(function="-", arguments=(wide, _whole(first)), type="bigint")
        number = Call(function="div", arguments=(passed, _whole(step)), type="bigint")
        between = [_whole(one - 1) for one in sorted(self.fragments) if 0 < one < self.ranges - 1]
        inside = _call("in", number, *between) if between else _FALSE
        below, above = _call("<", wide, _whole(first)), _call(">=", wide, _whole(last))
        return _call("when", below, self._has(0), above, self._has(self.ranges - 1), inside)

    def _tree(self, intervals: Sequence[Interval]) -> Expression:
        """Comparisons with the bounds of intervals, halved each time."""
        starts = [one.first for one in intervals]
        bounds = sorted({0, *starts, *(one.last + 1 for one in intervals if one.last < self.ranges - 1)})
        return self._halved(bounds, [bound in set(starts) for bound in bounds])

    def _halved(self, bounds: Sequence[int], inside: Sequence[bool]) -> Expression:
        if len(bounds) == 1:
            return _TRUE if inside[0] else _FALSE
        middle = len(bounds) // 2
        left, right = self._halved(bounds[:middle], inside[:middle]), self._halved(bounds[middle:], inside[middle:])
        return _call("when", _call("<", self.column, self.cut(bounds[middle] - 1)), left, right)


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


def _whole(value: int) -> Literal:
    return Literal(value=str(value), type="bigint")


def _constant(cut: Any, type_: str) -> Literal:
    """A cut as a constant: the least value of the column's scale that is not below it. It may be beyond the column's own type.

    :raises SketchError: Spark has no such constant, or would read another one.
    """
    match kind_of(type_):
        case "number":
            return _number(Decimal(cut), type_)
        case "float":  # a float is compared as the double that it is
            text = repr(float(cut)).removeprefix("+")
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
