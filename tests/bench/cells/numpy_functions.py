"""The functions of numpy that the paper's random workflows are drawn from (DSLog, Sec. VII.D: 76 of them), with their arguments.

By the authors' own list (github.com/j2zhao/DSLog-Coverage); what numpy has renamed or dropped meanwhile stands under the name that it has
now, and `ediff1d`, which a tracked array refuses, as the differences that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Drawn = Callable[[Any, np.random.Generator], Any]
"""A call of a function over an array, its other arguments drawn."""

_ELEMENTWISE = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "deg2rad", "rad2deg", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "around", "fix", "rint", "floor", "ceil", "trunc", "exp", "expm1", "exp2", "log", "log10", "log2", "log1p", "sinc", "spacing",
    "reciprocal", "positive", "negative", "angle", "real", "conj", "conjugate", "sqrt", "cbrt", "square", "absolute", "fabs",
    "real_if_close",
)  # fmt: skip


def _plain(function: Any) -> Drawn:
    return lambda a, _: function(a)


def _along(function: Any, **choices: Any) -> Drawn:
    """Along an axis that is drawn, of two; other arguments are drawn from these."""

    def call(a: Any, random: np.random.Generator) -> Any:
        drawn = {name: some[int(random.integers(len(some)))] for name, some in choices.items()}
        return function(a, axis=int(random.integers(2)), **drawn)

    return call


def _two_axes(function: Any) -> Drawn:
    return lambda a, random: function(a, int(random.integers(2)), int(random.integers(2)))


def _deleted(a: Any, random: np.random.Generator) -> Any:
    axis = int(random.integers(2))
    return np.delete(a, int(random.integers(a.shape[axis])), axis=axis)


def _inserted(a: Any, random: np.random.Generator) -> Any:
    axis = int(random.integers(2))
    return np.insert(a, int(random.integers(a.shape[axis])), 0.0, axis=axis)


def _partitioned(a: Any, random: np.random.Generator) -> Any:
    axis = int(random.integers(2))
    return np.partition(a, int(random.integers(a.shape[axis])), axis=axis)


FUNCTIONS: Mapping[str, Drawn] = {
    **{name: _plain(getattr(np, name)) for name in _ELEMENTWISE},
    "round": lambda a, random: np.round(a, int(random.choice([0, 2, 5]))),
    "unwrap": _along(np.unwrap, period=[1, 2, 3], discont=[0.4, 1, 0.5]),
    "prod": _along(np.prod, keepdims=[True, False]),
    "sum": _along(np.sum, keepdims=[True, False]),
    "cumsum": _along(np.cumsum),
    "cumprod": _along(np.cumprod),
    "nancumsum": _along(np.nancumsum),
    "nancumprod": _along(np.nancumprod),
    "diff": _along(np.diff, n=[1, 2, 3]),
    "ediff1d": lambda a, _: np.diff(np.ravel(a)),
    "trapezoid": _along(np.trapezoid, dx=[1, 2, 0.5]),
    "amax": _along(np.amax),
    "unique": _plain(np.unique),
    "sort": _along(np.sort),
    "msort": lambda a, _: np.sort(a, axis=0),
    "partition": _partitioned,
    "percentile": _along(np.percentile, q=[10, 20, 40]),
    "quantile": _along(np.quantile, q=[0.1, 0.2, 0.4]),
    "median": _along(np.median),
    "mean": _along(np.mean),
    "ravel": _plain(np.ravel),
    "moveaxis": _two_axes(np.moveaxis),
    "swapaxes": _two_axes(np.swapaxes),
    "atleast_1d": _plain(np.atleast_1d),
    "atleast_2d": _plain(np.atleast_2d),
    "tile": lambda a, random: np.tile(a, [(2, 2), (2,), (1, 3)][int(random.integers(3))]),
    "repeat": _along(np.repeat, repeats=[2, 3]),
    "delete": _deleted,
    "insert": _inserted,
    "flip": _along(np.flip),
    "fliplr": _plain(np.fliplr),
    "flipud": _plain(np.flipud),
    "roll": _along(np.roll, shift=[10, 20]),
    "rot90": lambda a, random: np.rot90(a, int(random.integers(1, 4))),
}
