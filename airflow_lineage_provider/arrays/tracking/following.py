"""Code of numpy's own arithmetic of which no rule is known: it is run on cells that remember what they were computed from.

Numpy computes with arrays of such cells as with numbers, each operation cell by cell: what a result's cell remembers is what its value was
made of. Nothing may hang on a value: a comparison, a decision or a conversion to a plain number is refused by name, also where the code
goes on without it. What the cells' values come to has to be what the code gives for the plain arrays, as numpy has other loops for objects
than for numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.given import Capture, has_mask
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Values, plain
from airflow_lineage_provider.errors import NotTracked, TooManyCells
from airflow_lineage_provider.shown import shown

MOST = 10_000
"""So many cells are followed at once: each costs some microseconds an operation."""
_NEAR = 1e-6
"""Sums are added up in another order than numpy does it."""


@dataclass
class _Refused:
    """What the code did that cells cannot tell the lineage of, the first time."""

    what: str = ""

    def now(self, what: str) -> NoReturn:
        self.what = self.what or what
        raise NotTracked(f"a cell that is followed {what}")


class _Cell:
    """A value, and the numbers of the cells that it was computed from, as the bits of a whole number."""

    __slots__ = ("behind", "refused", "value")

    def __init__(self, value: Any, behind: int, refused: _Refused) -> None:
        self.value, self.behind, self.refused = value, behind, refused

    def __getattr__(self, name: str) -> Any:
        """Numpy asks an object for a method of a function's name: ``numpy.sqrt`` for ``sqrt``."""
        ufunc = getattr(np, name, None)
        if name.startswith("_") or not isinstance(ufunc, np.ufunc) or (ufunc.nin, ufunc.nout) != (1, 1):
            raise AttributeError(name)
        return lambda: _Cell(ufunc(self.value), self.behind, self.refused)

    def _with(self, operation: Callable[[Any, Any], Any], one: Any, other: Any) -> _Cell:
        values = [each.value if isinstance(each, _Cell) else each for each in (one, other)]
        behind = [each.behind for each in (one, other) if isinstance(each, _Cell)]
        return _Cell(operation(*values), behind[0] | behind[-1], self.refused)


def _binary(name: str) -> None:
    operation = getattr(operator, name)

    def ahead(self: _Cell, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self._with(operation, self, other)

    def reflected(self: _Cell, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self._with(operation, other, self)

    setattr(_Cell, f"__{name}__", ahead)
    setattr(_Cell, f"__r{name}__", reflected)


def _unary(name: str) -> None:
    operation = getattr(operator, name)
    setattr(_Cell, f"__{name}__", lambda self: _Cell(operation(self.value), self.behind, self.refused))


def _refusing(name: str, what: str) -> None:
    def refuse(self: _Cell, *_: Any) -> NoReturn:
        self.refused.now(what)

    setattr(_Cell, f"__{name}__", refuse)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _binary(_name)
for _name in ("neg", "pos", "abs"):
    _unary(_name)
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "bool", "hash"):
    _refusing(_name, "is compared, or decides")
for _name in ("int", "float", "complex", "index", "round", "trunc", "floor", "ceil"):
    _refusing(_name, "is made a plain number")


@dataclass(eq=False)
class Followed:
    """What a function gives for arrays of cells that are followed.

    :ivar arrays: plain ones. :ivar which: the places of those whose cells are followed.
    """

    function: Callable[..., Any]
    arrays: Sequence[Values]
    which: Sequence[int]
    _refused: _Refused = field(default_factory=_Refused)

    @cached_property
    def found(self) -> npt.NDArray[np.object_]:
        """(the result's shape) of each cell the numbers of those behind it, one array's after the other's.

        :raises NotTracked: the function does something else than compute with them.
        :raises TooManyCells: there are too many.
        """
        cells = sum(self.arrays[at].size for at in self.which)
        if cells > MOST:
            raise TooManyCells(f"{cells:,} cells would be followed, and {MOST:,} can be: take a part of the array, or {WAYS_OUT}")
        if any(has_mask(one) or one.dtype.kind not in "biufc" for one in self.arrays):
            raise NotTracked(f"{self._name}: the cells of arrays of numbers can be followed, of no others: {WAYS_OUT}")
        wanted = np.array(self.function(*(one.copy() for one in self.arrays)))  # a copy, as it may be a buffer
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(self.function(*self._given()), dtype=object)
        except Exception as error:
            raise NotTracked(f"{self._name}: its cells cannot be followed: {self._refused.what or error!r}: {WAYS_OUT}") from error
        if self._refused.what or not _alike(found, wanted):
            what = self._refused.what or "what they come to is not what it gives for numbers"
            raise NotTracked(f"{self._name}: its cells cannot be followed: {what}: {WAYS_OUT}")
        behind = [one.behind if isinstance(one, _Cell) else 0 for one in found.reshape(-1).tolist()]
        return _objects(behind, found.shape)

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", shown(self.function)))

    def _given(self) -> list[npt.NDArray[Any]]:
        given: list[npt.NDArray[Any]] = [one.copy() for one in self.arrays]
        first = 0
        for at in self.which:
            values = self.arrays[at]
            cells = [_Cell(value, 1 << first + number, self._refused) for number, value in enumerate(values.reshape(-1))]
            given[at] = _objects(cells, values.shape)
            first += values.size
        return given

    def numbers(self, index: tuple[int, ...]) -> Ints:
        """The numbers of the cells behind one of the result's."""
        behind = self.found[index]
        octets = behind.to_bytes(-(-behind.bit_length() // 8), "little")
        return np.flatnonzero(np.unpackbits(np.frombuffer(octets, dtype=np.uint8), bitorder="little")).astype(np.int64)

    def relations(self) -> list[Relation]:
        """With each array whose cells are followed."""
        shape = self.found.shape
        some = [(number, at) for number, index in enumerate(np.ndindex(shape)) for at in self.numbers(index).tolist()]
        output, behind = np.array(some, dtype=np.int64).reshape(-1, 2).T
        relations, first = [], 0
        for own in (self.arrays[at] for at in self.which):
            here = (behind >= first) & (behind < first + own.size)
            pairs = np.concatenate([_positions(output[here], shape), _positions(behind[here] - first, own.shape)], axis=1)
            relations.append(compress(pairs, shape, own.shape))
            first += own.size
        return relations


def by_cells(function: Callable[..., Any], array: Any) -> Capture:
    """A capture of what a function makes of an array (`Log.lineage`, `Log.register_operation`): its cells are followed through numpy's
    arithmetic, once, when it is first asked.

    What was captured so of a few shapes is known of others (`Log.register_operation`).
    """
    values = np.array(plain(array))
    followed = Followed(function, [values], [0])
    return lambda index: _positions(followed.numbers(tuple(index)), values.shape)


def _positions(numbers: Ints, shape: tuple[int, ...]) -> Ints:
    """(n, axes): those of cells by their numbers."""
    found = np.zeros((len(numbers), len(shape)), dtype=np.int64)
    for axis, along in enumerate(np.unravel_index(numbers, shape) if shape else ()):
        found[:, axis] = along
    return found


def _objects(parts: Sequence[Any], shape: tuple[int, ...]) -> npt.NDArray[np.object_]:
    found = np.empty(len(parts), dtype=object)
    found[:] = parts
    return found.reshape(shape)


def _alike(found: npt.NDArray[np.object_], wanted: Values) -> bool:
    """Whether cells have these values, but for the order in which sums are added up."""
    if found.shape != wanted.shape or wanted.dtype.kind not in "biufc":
        return False
    values = np.array([one.value if isinstance(one, _Cell) else one for one in found.reshape(-1).tolist()]).reshape(found.shape)
    if values.dtype.kind not in "biufc":
        return not wanted.size
    near = _NEAR * float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0))
    with np.errstate(all="ignore"):
        return bool(np.allclose(values, wanted, rtol=_NEAR, atol=min(near, _NEAR), equal_nan=True))
