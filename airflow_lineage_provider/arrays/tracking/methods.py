"""The methods of tracked arrays: numpy's functions of the same name, and a few that take their arguments otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked
from airflow_lineage_provider.errors import NotTracked

_AS_FUNCTION = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "clip", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min",
    "nonzero", "prod", "ravel", "repeat", "round", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip


class _NoSuchMethod(NotTracked, AttributeError):
    """As Python asks for it: `hasattr` says no."""


def method(array: Tracked, name: str) -> Any:
    """A method or an attribute of a plain array, of a tracked one.

    :raises NotTracked: there is none, or its lineage is not known; an AttributeError, too.
    """
    if name in METHODS:
        return partial(METHODS[name], array)
    if name.startswith("__"):
        raise AttributeError(name)
    raise _NoSuchMethod(f"{name} of a tracked array has no known lineage: {WAYS_OUT}")


def _reshape(array: Tracked, *shape: Any, order: Any = "C") -> Any:
    return np.reshape(array, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(array: Tracked, *axes: Any) -> Any:
    return np.transpose(array, (axes[0] if len(axes) == 1 else axes) or None)


def _astype(array: Tracked, dtype: Any, *, copy: bool = True) -> Any:
    return np.astype(array, dtype, copy=copy)  # type: ignore[call-overload]


def _flatten(array: Tracked, order: Any = "C") -> Any:
    return np.ravel(array, order)


def _copy(array: Tracked, order: Any = "C") -> Any:
    return np.copy(array, order)


def _conjugate(array: Tracked) -> Any:
    return np.conjugate(array) if array.dtype.kind in "cO" else array


METHODS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _AS_FUNCTION},
    "reshape": _reshape, "transpose": _transpose, "astype": _astype, "flatten": _flatten, "copy": _copy,
    "conj": _conjugate, "conjugate": _conjugate,
}  # fmt: skip
