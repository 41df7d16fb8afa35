"""A partition of a column's values into fragments: no value is in none, and none in two (the paper's range partition, Sec. 3, mended).

The cuts ``c1 < c2 < … < cn`` make the fragments ``(-∞, c1)``, ``[c1, c2)``, …, ``[cn, ∞)``, numbered from 0; then comes one for NULL and,
of floating-point numbers, one for NaN. (The paper's closed ranges leave values between them, and NULL, in no fragment.)

>>> states = Partition(type="string", cuts=("FL", "MN", "OR"))
>>> [states.fragment_of(state) for state in ("AK", "CA", "FL", "NY", "TX", None)]
[0, 0, 1, 2, 3, 4]
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from operator import ge
from typing import Any

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.sketches.kinds import kind_of, scalar

MOST_CUTS = 100_000
_CLASSES: dict[str, tuple[type, ...]] = {
    "number": (int, Decimal), "float": (float, int), "text": (str,), "date": (date,), "timestamp": (datetime,), "boolean": (bool,),
}  # fmt: skip


def why_refused(type_: str) -> str:
    """Why a column of this type cannot be cut into fragments; nothing where it can."""
    if kind_of(type_) != "opaque":
        return ""
    found = scalar(type_)
    if found is not None and found.name == "string":
        return f"the order of {type_} is not that of its bytes"
    return f"values of type {type_} have no order that fragments could be cut in"


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Fragments of the values of one column.

    :raises SketchError: the type has no fragments; a cut is not of the type, is NULL or NaN, or is not more than the one before; there are
        more than 100,000.
    """

    type: str
    cuts: tuple[Any, ...]

    def __post_init__(self) -> None:
        refused = why_refused(self.type)
        if refused:
            raise SketchError(f"no fragments: {refused}")
        if len(self.cuts) > MOST_CUTS:
            raise SketchError(f"{len(self.cuts):,} cuts are too many: at most {MOST_CUTS:,}")
        right = {class_ for class_ in set(map(type, self.cuts)) if _is_class(class_, self.type)}
        for cut in self.cuts:
            if type(cut) not in right or cut != cut:
                raise SketchError(f"{cut!r} is no cut of values of type {self.type}")
        if any(map(ge, self._places, self._places[1:])):
            raise SketchError("every cut must be more than the one before")

    @cached_property
    def _places(self) -> tuple[Any, ...]:
        return tuple(map(self._place, self.cuts)) if kind_of(self.type) == "text" else self.cuts

    def _place(self, value: Any) -> Any:
        """Strings are ordered by their bytes, as Spark orders them."""
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value

    @property
    def ranges(self) -> int:
        """How many fragments are ranges of values."""
        return len(self.cuts) + 1

    @property
    def null_fragment(self) -> int:
        """The fragment of NULL: the first behind these."""
        return self.ranges

    @property
    def nan_fragment(self) -> int | None:
        """The fragment of NaN, where values may be that."""
        return self.null_fragment + 1 if kind_of(self.type) == "float" else None

    @property
    def count(self) -> int:
        """How many fragments there are."""
        return len(self.cuts) + 2 + (self.nan_fragment is not None)

    def fragment_of(self, value: Any) -> int:
        """The number of the one fragment that a value is in.

        :raises SketchError: it is no value of the type.
        """
        if value is None:
            return self.null_fragment
        if not _is_class(type(value), self.type):
            raise SketchError(f"{value!r} is no value of type {self.type}")
        if self.nan_fragment is not None and math.isnan(value):
            return self.nan_fragment
        return bisect_right(self._places, self._place(value))

    def fragments_of(self, values: Iterable[Any]) -> frozenset[int]:
        """The fragments of values."""
        return frozenset(map(self.fragment_of, values))


def _is_class(class_: type, type_: str) -> bool:
    """Whether values of a type of Spark's are of a class of Python's."""
    kind = kind_of(type_)
    wrong = (issubclass(class_, bool) and kind != "boolean") or (issubclass(class_, datetime) and kind == "date")
    return issubclass(class_, _CLASSES[kind]) and not wrong
