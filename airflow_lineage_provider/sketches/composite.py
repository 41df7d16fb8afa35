"""A partition of the values of several columns together: lexicographic cuts, so that a pair of values is a fragment where each alone is
coarse (the paper's composite ranges, "PSMIX", Sec. 9).

The cuts are tuples that go up, column by column, at each place NULL before all values; the fragments ``(-∞, c1)``, ``[c1, c2)``, …,
``[cn, ∞)`` are numbered from 0. NULL has its place in the order, and so no fragment of its own. Floating-point numbers are refused.

Tuples are compared as one number, their *code*, as Spark compares them, too (`ordinals`). At each place a value has an ordinal: 0 for NULL,
an even one where a cut has the value there, and the odd one between these where none has; the ordinals are the digits of the code.

>>> days = Composite(types=("string", "int"), cuts=(("a", 1), ("a", 7), ("b", None)))
>>> [days.fragment_of(one) for one in (("a", None), ("a", 1), ("a", 6), ("aa", 0), ("b", None), (None, 9))]
[0, 1, 1, 2, 3, 0]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.sketches.constants import MOST_BIGINT, constant
from airflow_lineage_provider.sketches.kinds import kind_of
from airflow_lineage_provider.sketches.partition import MOST_CUTS, Partition, why_refused

MOST_COLUMNS = 4


def why_not_composite(types: Sequence[str]) -> str:
    """Why columns of these types have no fragments together; nothing where they can have."""
    if not 2 <= len(types) <= MOST_COLUMNS:
        return f"fragments are of 1 to {MOST_COLUMNS} columns, and not of {len(types)}"
    refused = [why_refused(one) for one in types]
    refused += [f"values of type {one} are cut in fragments of that column alone" for one in types if kind_of(one) == "float"]
    return next(filter(None, refused), "")


@dataclass(frozen=True, kw_only=True)
class Composite:
    """Fragments of the values of several columns, which have these types.

    :ivar cuts: a value, or None for NULL, of each column.
    :raises SketchError: a column's type has no fragments; a cut has another length, something that is no value of its type, or is not more
        than the one before; there are more than 100,000, or of so many different values that no number could tell all tuples apart.
    """

    types: tuple[str, ...]
    cuts: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        refused = why_not_composite(self.types)
        if refused:
            raise SketchError(f"no fragments: {refused}")
        if len(self.cuts) > MOST_CUTS:
            raise SketchError(f"{len(self.cuts):,} cuts are too many: at most {MOST_CUTS:,}")
        for cut in self.cuts:
            if not isinstance(cut, tuple) or len(cut) != len(self.types):
                raise SketchError(f"{cut!r} is no cut of {len(self.types)} columns")
        if prod(self.widths) > MOST_BIGINT:
            raise SketchError(f"{len(self.cuts):,} cuts of {len(self.types)} columns have too many different values: fewer cuts are needed")
        if any(not before < after for before, after in zip(self.codes, self.codes[1:], strict=False)):
            raise SketchError("every cut must be more than the one before")

    @property
    def type(self) -> str:
        """The types in one text."""
        return ", ".join(self.types)

    @cached_property
    def places(self) -> tuple[Partition, ...]:
        """By column the different values that cuts have there."""
        return tuple(_place((cut[at] for cut in self.cuts if cut[at] is not None), type_) for at, type_ in enumerate(self.types))

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """By column how many ordinals there are."""
        return tuple(2 * len(one.cuts) + 2 for one in self.places)

    @cached_property
    def codes(self) -> tuple[int, ...]:
        """The cuts' codes."""
        return tuple(map(self._code, self.cuts))

    def _code(self, values: Sequence[Any]) -> int:
        code = 0
        for place, width, value in zip(self.places, self.widths, values, strict=True):
            code = code * width + _ordinal(place, value)
        return code

    null_fragment = None
    """NULL is before all values."""
    nan_fragment = None

    @property
    def ranges(self) -> int:
        """How many fragments are ranges of values: all."""
        return len(self.cuts) + 1

    @property
    def count(self) -> int:
        """How many fragments there are."""
        return self.ranges

    def fragment_of(self, values: Sequence[Any]) -> int:
        """The number of the one fragment that a row with these values is in.

        :raises SketchError: one is no value of its column's type, or there are not as many as columns.
        """
        if not isinstance(values, tuple) or len(values) != len(self.types):
            raise SketchError(f"{values!r} are no values of {len(self.types)} columns")
        return bisect_right(self.codes, self._code(values))

    def fragments_of(self, values: Iterable[Sequence[Any]]) -> frozenset[int]:
        """The fragments of rows."""
        return frozenset(map(self.fragment_of, values))


AnyPartition: TypeAlias = Partition | Composite


def uncut(type_: str | tuple[str, ...]) -> AnyPartition:
    """The partition of a column, or of columns, that has no cut.

    :raises SketchError: they cannot be cut.
    """
    return Composite(types=type_, cuts=()) if isinstance(type_, tuple) else Partition(type=type_, cuts=())


def in_order(value: Any) -> Any:
    """What values, or tuples of them, are sorted by: texts by their bytes, as Spark has them, and in tuples NULL before all else."""
    if isinstance(value, tuple):
        return tuple((one is not None, in_order(one)) for one in value)
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _place(values: Iterable[Any], type_: str) -> Partition:
    """:raises SketchError: they are no values of a type. (One between its values would be before some row, and equal to it for Spark.)"""
    try:
        found = Partition(type=type_, cuts=tuple(sorted(set(values), key=in_order)))
    except TypeError as problem:
        raise SketchError(f"no values of type {type_} have an order among each other: {problem}") from problem
    for cut in found.cuts:
        told = constant(cut, type_).value
        if kind_of(type_) == "number" and Decimal(told or "0") != cut:
            raise SketchError(f"{cut} is between the values of type {type_}: a cut of several columns is of values that they can have")
    return found


def _ordinal(place: Partition, value: Any) -> int:
    if value is None:
        return 0
    below = place.fragment_of(value)
    is_there = below > 0 and place.cuts[below - 1] == value
    return 2 * below if is_there else 2 * below + 1
