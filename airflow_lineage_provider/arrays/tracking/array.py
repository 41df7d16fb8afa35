"""The tracked array: numpy computes with it as with any array, and it remembers which cells each result was made from.

A duck array, not a subclass of ndarray: `numpy.asarray` strips a subclass without a word, and its lineage with it. This one refuses, and
names what works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from airflow_lineage_provider.arrays.tracking.results import Followed, Operand, Result
from airflow_lineage_provider.errors import NotTracked
from airflow_lineage_provider.shown import shown

Values = npt.NDArray[Any]

WAYS_OUT = "take its .values (their lineage ends there), or say what stands behind the result: arrays.apply(function, x, lineage=…)"

_SQUARE = 2

KINDS = "biufcmMSU"
"""Kinds of types whose cells are values: not objects, and no records."""


@dataclass(frozen=True)
class Operations:
    """What numpy's operations do with tracked arrays. They make such arrays themselves, so the class is given them.

    :ivar indexed: ``array[index]``.
    :ivar method: a method, by its name.
    :ivar computed: a ufunc, called or by one of its methods.
    :ivar called: another function of numpy.
    """

    indexed: Callable[[Tracked, Any], Tracked]
    method: Callable[[Tracked, str], Any]
    computed: Callable[[np.ufunc, str, Sequence[Any], Mapping[str, Any]], Any]
    called: Callable[[Callable[..., Any], Sequence[Any], Mapping[str, Any]], Any]


class Tracked(Followed, NDArrayOperatorsMixin):
    """An array whose cells' lineage is followed; made by `source`, and by numpy's operations on such.

    It cannot be written to, as what was computed from it before would be told wrongly.

    :ivar result: what it was made from.
    """

    operations: ClassVar[Operations]

    def __init__(self, values: Values, result: Result) -> None:
        if values.base is None:  # else a view of it can be made writable again
            values.setflags(write=False)
        self._values = values.view()
        self._values.setflags(write=False)
        self.result = result

    @property
    def values(self) -> Values:
        """The values, to be read alone: what is computed from them has no lineage."""
        return self._values

    @property
    def ndim(self) -> int:
        """As numpy's."""
        return self._values.ndim

    @property
    def size(self) -> int:
        """As numpy's."""
        return self._values.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """As numpy's."""
        return self._values.dtype

    @property
    def T(self) -> Any:
        """As numpy's."""
        return np.transpose(self)

    @property
    def real(self) -> Any:
        """As numpy's."""
        return np.real(self)

    @property
    def imag(self) -> Any:
        """As numpy's."""
        return np.imag(self)

    def __repr__(self) -> str:
        return f"Tracked(shape={self.shape}, dtype={self.dtype}, made by {self.result.name!r})"

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a tracked array of no axes")
        return (self[at] for at in range(len(self)))

    def __pow__(self, other: Any) -> Any:
        """As numpy's, which squares: of truth values that has another type."""
        return np.square(self) if isinstance(other, int) and other == _SQUARE else super().__pow__(other)

    def __getitem__(self, index: Any) -> Any:
        return self.operations.indexed(self, index)

    def __getattr__(self, name: str) -> Any:
        return self.operations.method(self, name)

    def __array_ufunc__(self, ufunc: np.ufunc, way: str, *inputs: Any, **options: Any) -> Any:
        return self.operations.computed(ufunc, way, inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        return self.operations.called(function, args, options)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotTracked(f"a tracked array cannot be made a plain one without losing its lineage: {WAYS_OUT}")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise NotTracked("a tracked array cannot be written to: make a new one, with numpy.where, concatenate or an expression")

    def _as_number(self) -> NoReturn:
        raise NotTracked(f"a tracked array cannot decide or be a plain number: {WAYS_OUT}")

    def __bool__(self) -> bool:
        self._as_number()

    def __int__(self) -> int:
        self._as_number()

    def __index__(self) -> int:
        self._as_number()

    def __float__(self) -> float:
        self._as_number()

    def __complex__(self) -> complex:
        self._as_number()

    def __contains__(self, value: Any) -> bool:
        self._as_number()


def tracked_array(array: Any) -> Tracked:
    """The array itself, if it is a tracked one.

    :raises NotTracked: it is not.
    """
    if not isinstance(array, Tracked):
        raise NotTracked(
            f"{shown(array)} is no tracked array; arrays.source(name, array) makes one, and what numpy computes from it is one"
        )
    return array


def made(name: str, values: Any, operands: Iterable[Operand]) -> Tracked:
    """The result of an operation.

    :raises NotTracked: its cells have no lineage: they are objects, or masked.
    """
    _check_unmasked(name, values)
    found = np.asarray(values)
    if found.dtype.kind not in KINDS:
        raise NotTracked(f"{name} gives an array of {found.dtype}, whose cells have no lineage: {WAYS_OUT}")
    return Tracked(found, Result(name, found.shape, tuple(operands)))


def copied(name: str, values: Any) -> Values:
    """A copy of what code of somebody's gives, which may write into it again: a buffer, ``out=`` and ``dst=``, a tensor's memory.

    :raises NotTracked: it is masked.
    """
    _check_unmasked(name, values)
    return np.array(values)


def _check_unmasked(name: str, values: Any) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise NotTracked(f"{name} gives a masked array, whose mask would be lost; give its filled(…), or what its mask leaves")


def plain(value: Any) -> Any:
    """The same with values in place of tracked arrays, in lists, tuples and mappings, too."""
    if isinstance(value, Tracked):
        return value.values
    if type(value) in (list, tuple):
        return type(value)(plain(one) for one in value)
    return {key: plain(one) for key, one in value.items()} if type(value) is dict else value


def owned(value: Any) -> Any:
    """The same with copies of what may be written to later: what says where cells go is read again when they are asked for.

    Tracked arrays, which cannot be written to, stay; so does what is no array, list, tuple or mapping.
    """
    if isinstance(value, Tracked | np.generic):
        return value
    if hasattr(type(value), "__array__"):
        return np.array(value)
    if type(value) in (list, tuple):
        return type(value)(owned(one) for one in value)
    return {key: owned(one) for key, one in value.items()} if type(value) is dict else value


def check_values(name: str, *values: Any) -> None:
    """That nothing beside tracked arrays is an array whose cells mean more than their values, or whose operators mean something else.

    :raises NotTracked: a masked array, or a `numpy.matrix`, stands there, in lists, tuples and mappings, too.
    """
    for value in values:
        if isinstance(value, np.ma.MaskedArray):
            raise NotTracked(f"{name}: a masked array loses its mask beside a tracked one; give its filled(…), or what its mask leaves")
        if isinstance(value, np.matrix):
            raise NotTracked(f"{name}: a numpy.matrix multiplies otherwise than a tracked array; give numpy.asarray(…) of it, and use @")
        if type(value) in (list, tuple, dict):
            check_values(name, *(value.values() if type(value) is dict else value))


def check_aligned(name: str, *values: Any) -> None:
    """That nothing that is taken by position has labels by which pandas would put it in another order.

    :raises NotTracked: a pandas series, or frame, stands there whose index is not its rows' positions.
    """
    for value in values:
        if any(one.__module__.partition(".")[0] == "pandas" for one in type(value).__mro__) and _is_labelled(value):
            raise NotTracked(
                f"{name}: pandas puts {type(value).__name__} in order by its index, and what is tracked goes by position; give its "
                "to_numpy(), if its rows stand in the right order, or put them there before: reindex(range(…)), or reset_index(drop=True)"
            )


def is_mask(part: Any) -> bool:
    """Whether an index, or a part of one, says of each row whether it is taken, also as pandas has it (``boolean``, ``bool[pyarrow]``)."""
    return str(getattr(part, "dtype", "")).startswith("bool")


def _is_labelled(value: Any) -> bool:
    import pandas as pd

    return isinstance(value, pd.Series | pd.DataFrame) and not value.index.equals(pd.RangeIndex(len(value)))


def tracked_in(value: Any) -> list[Tracked]:
    """The tracked arrays in a value, in lists, tuples and mappings, too."""
    if isinstance(value, Tracked):
        return [value]
    parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return [one for part in parts for one in tracked_in(part)]
