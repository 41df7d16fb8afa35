"""The functions of numpy that the paper measures coverage over, and draws random workflows from (DSLog, Sec. VII.E and VII.D).

By the authors' own lists (github.com/j2zhao/DSLog-Coverage), which have 132 names, and 76 of them for workflows; which four more are
counted in print nobody says. What numpy has renamed or dropped meanwhile is called by the name, or as the function, that it is now.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider import arrays

Drawn = Callable[[Any, np.random.Generator], Any]
"""A call of a function over an array, its other arguments drawn."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A function with some of its arguments.

    :ivar shapes: of its arrays; letters stand for dimensions, digits for themselves.
    :ivar args: what its lineage hangs on besides shapes, as JSON.
    :ivar values: makes of random numbers what it is given.
    """

    call: Callable[..., Any]
    shapes: tuple[str, ...]
    args: Mapping[str, Any] = field(default_factory=dict)
    values: Callable[[Any], Any] = lambda array: array


@dataclass(frozen=True, eq=False)
class Function:
    """``is_elementwise``: which of the paper's two kinds it is of."""

    is_elementwise: bool
    variants: tuple[Variant, ...]


_ONE = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "degrees", "radians", "deg2rad", "rad2deg", "sinh", "cosh", "tanh", "arcsinh",
    "arccosh", "arctanh", "rint", "fix", "floor", "ceil", "trunc", "exp", "expm1", "exp2", "log", "log10", "log2", "log1p", "sinc",
    "spacing", "reciprocal", "positive", "negative", "angle", "real", "imag", "conj", "conjugate", "sqrt", "cbrt", "square", "absolute",
    "fabs", "real_if_close",
)  # fmt: skip
_TWO = (
    "hypot", "arctan2", "logaddexp", "logaddexp2", "nextafter", "add", "multiply", "divide", "power", "subtract", "true_divide",
    "floor_divide", "float_power", "fmod", "mod", "remainder", "maximum", "fmax", "minimum", "fmin",
)  # fmt: skip
_COPIES = ("asarray", "asanyarray", "asfortranarray", "ascontiguousarray", "require")


def _each(function: Callable[..., Any], *shapes: str, **choices: Sequence[Any]) -> list[Variant]:
    """With every choice of arguments."""
    drawn = [dict(zip(choices, one, strict=True)) for one in itertools.product(*choices.values())]
    return [Variant(partial(function, **args), shapes, args) for args in drawn]


def _of(*variants: list[Variant], is_elementwise: bool = False) -> Function:
    return Function(is_elementwise, tuple(itertools.chain(*variants)))


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that takes its arrays in a list."""
    return lambda *arrays, **options: function(list(arrays), **options)


def _copied(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that numpy dispatches by ``like=``."""
    return lambda a: function(a, like=a)


def _sparse(array: Any) -> Any:
    """With noughts here and there."""
    return np.where(array < 0.5, 0.0, array)


def _moved(function: Callable[..., Any]) -> list[Variant]:
    """Between two axes."""
    return [Variant(lambda a, ends=ends: function(a, *ends), ("ab",), {"ends": ends}) for ends in itertools.product((0, 1), (0, 1))]


_AXES = (0, 1)
_ANY_AXIS = (0, 1, None)
_PLACES = (3, 0)
_SUMS = {"keepdims": (True, False), "axis": _AXES}
_RESHAPED: tuple[tuple[str, Callable[[Any], tuple[int, ...]]], ...] = (
    ("column", lambda a: (-1, 1)), ("row", lambda a: (1, -1)), ("turned", lambda a: a.shape[::-1])
)  # fmt: skip


def _reshaped(function: Callable[..., Any], whole: Callable[[Any, tuple[int, ...]], tuple[int, ...]]) -> list[Variant]:
    return [Variant(lambda a, to=to: function(a, whole(a, to(a))), ("ab",), {"to": name}) for name, to in _RESHAPED]


def _halved(array: Any, axis: int) -> Any:
    """The smaller half before the larger one."""
    return np.partition(array, array.shape[axis] // 2, axis)


def _sized(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """As `numpy.resize` has no −1."""
    return tuple(array.size if side == -1 else side for side in shape)


FUNCTIONS: Mapping[str, Function] = {
    **{name: _of(_each(getattr(np, name), "ab"), is_elementwise=True) for name in _ONE},
    **{name: _of(_each(getattr(np, name), "ab", "ab"), is_elementwise=True) for name in _TWO},
    **{name: _of([Variant(_copied(getattr(np, name)), ("ab",))], is_elementwise=True) for name in _COPIES},
    # Numpy does not dispatch it, so its lineage is declared.
    "asarray_chkfinite": _of(
        [Variant(lambda a: arrays.apply(np.asarray_chkfinite, a, lineage="elementwise"), ("ab",))], is_elementwise=True
    ),
    **{name: _of(_each(np.round, "ab", decimals=(0, 2, 5)), is_elementwise=True) for name in ("around", "round")},
    "unwrap": _of(_each(np.unwrap, "ab", period=(1, 2, 3), discont=(0.4, 1, 0.5), axis=_AXES)),
    "prod": _of(_each(np.prod, "ab", **_SUMS)),
    "sum": _of(_each(np.sum, "ab", **_SUMS)),
    "nanprod": _of(_each(np.nanprod, "ab", **_SUMS)),
    "nansum": _of(_each(np.nansum, "ab", **_SUMS)),
    "cumsum": _of(_each(np.cumsum, "ab", axis=_ANY_AXIS)),
    "cumprod": _of(_each(np.cumprod, "ab", axis=_ANY_AXIS)),
    "nancumsum": _of(_each(np.nancumsum, "ab", axis=_ANY_AXIS)),
    "nancumprod": _of(_each(np.nancumprod, "ab", axis=_ANY_AXIS)),
    "diff": _of(_each(np.diff, "ab", n=(1, 2, 3), axis=_AXES)),
    "ediff1d": _of(_each(np.ediff1d, "ab")),
    "cross": _of(
        *(_each(np.cross, *[f"a{side}"] * 2) for side in "23"),
        *(_each(np.cross, *[f"{side}a"] * 2, axisa=(0,), axisb=(0,)) for side in "23"),
    ),
    "trapezoid": _of(_each(np.trapezoid, "ab", axis=_AXES, dx=(1, 2, 0.5))),
    "amax": _of(_each(np.amax, "ab", axis=_AXES)),
    "convolve": _of(_each(np.convolve, "l", "a", mode=("full", "same", "valid"))),
    "interp": _of(
        [Variant(partial(np.interp, **more), ("a", "b", "b"), more, np.sort) for more in ({}, {"left": 100, "right": 3})],
    ),
    "dot": _of(_each(np.dot, "ab", "bc"), _each(np.dot, "a", "a"), _each(np.dot, "ab", "b")),
    "multi_dot": _of(_each(_listed(np.linalg.multi_dot), "ab", "bc", "cd"), _each(_listed(np.linalg.multi_dot), "ab", "bc", "cd", "de")),
    "vdot": _of(_each(np.vdot, "a", "a")),
    "inner": _of(_each(np.inner, "ab", "cb")),
    "outer": _of(_each(np.outer, "a", "b")),
    "kron": _of(_each(np.kron, "a", "b"), _each(np.kron, "ab", "cd")),
    "unique": _of(_each(np.unique, "ab")),
    "sort": _of(_each(np.sort, "ab", axis=_AXES)),
    "msort": _of(_each(np.sort, "ab", axis=(0,))),
    "partition": _of([Variant(partial(_halved, axis=axis), ("ab",), {"axis": axis}) for axis in _AXES]),
    "percentile": _of(_each(np.percentile, "ab", q=(10, 20, 40), axis=_AXES)),
    "quantile": _of(_each(np.quantile, "ab", q=(0.1, 0.2, 0.4), axis=_AXES)),
    "median": _of(_each(np.median, "ab", axis=_AXES)),
    "mean": _of(_each(np.mean, "ab", axis=_AXES)),
    "std": _of(_each(np.std, "ab", axis=_AXES)),
    "correlate": _of(_each(np.correlate, "a", "a")),
    "reshape": _of(_reshaped(np.reshape, lambda _, to: to)),
    "ravel": _of(_each(np.ravel, "ab")),
    "moveaxis": _of(_moved(np.moveaxis)),
    "swapaxes": _of(_moved(np.swapaxes)),
    "atleast_1d": _of(_each(np.atleast_1d, "ab"), _each(np.atleast_1d, "a")),
    "atleast_2d": _of(_each(np.atleast_2d, "ab"), _each(np.atleast_2d, "a")),
    "broadcast_to": _of(
        [Variant(lambda a: np.broadcast_to(a, (7, *a.shape)), ("a",)), Variant(lambda a: np.broadcast_to(a, (7, a.shape[1])), ("1a",))]
    ),
    "expand_dims": _of(_each(np.expand_dims, "a", axis=_AXES)),
    "squeeze": _of(_each(np.squeeze, "1a"), _each(np.squeeze, "a1")),
    "concatenate": _of(_each(_listed(np.concatenate), "ab", "ac", axis=(1,)), _each(_listed(np.concatenate), "ab", "cb", axis=(0,))),
    "block": _of([Variant(lambda a, b, c, d: np.block([[a, b], [c, d]]), ("ab", "ac", "db", "dc"))]),
    "stack": _of(_each(_listed(np.stack), "a", "a", "a", axis=_AXES)),
    "vstack": _of(_each(_listed(np.vstack), "ab", "cb", "db")),
    "row_stack": _of(_each(_listed(np.vstack), "ab", "cb", "db")),
    "hstack": _of(_each(_listed(np.hstack), "ab", "ac", "ad")),
    "column_stack": _of(_each(_listed(np.column_stack), "ab", "ac", "ad")),
    "tile": _of(_each(np.tile, "ab", reps=((2, 2), 2, (1, 3)))),
    "repeat": _of(_each(np.repeat, "ab", repeats=(2, 3), axis=_AXES)),
    "delete": _of(_each(np.delete, "ab", obj=_PLACES, axis=_AXES)),
    "insert": _of(_each(np.insert, "ab", obj=_PLACES, values=(0.0,), axis=_AXES)),
    "append": _of(_each(np.append, "ab", "ac", axis=(1,)), _each(np.append, "ab", "cb", axis=(0,))),
    "resize": _of(_reshaped(np.resize, _sized)),
    "trim_zeros": _of([Variant(partial(np.trim_zeros, trim=trim), ("a",), {"trim": trim}, _sparse) for trim in ("f", "b", "fb")]),
    "flip": _of(_each(np.flip, "ab", axis=_AXES)),
    "fliplr": _of(_each(np.fliplr, "ab")),
    "flipud": _of(_each(np.flipud, "ab")),
    "roll": _of(_each(np.roll, "ab", shift=(10, 20), axis=_AXES)),
    "rot90": _of(_each(np.rot90, "ab", k=(1, 2, 3))),
}  # fmt: skip
"""By their names of then."""

_ALONE = (
    "around", "round", "unwrap", "prod", "sum", "cumsum", "cumprod", "nancumsum", "nancumprod", "diff", "ediff1d", "trapezoid", "amax",
    "unique", "sort", "msort", "partition", "percentile", "quantile", "median", "mean", "ravel", "moveaxis", "swapaxes", "atleast_1d",
    "atleast_2d", "tile", "repeat", "delete", "insert", "flip", "fliplr", "flipud", "roll", "rot90",
)  # fmt: skip


def _drawn(name: str) -> Drawn:
    variants = [one for one in FUNCTIONS[name].variants if one.shapes == ("ab",) and one.args.get("axis", 0) is not None]
    return lambda a, random: variants[int(random.integers(len(variants)))].call(a)


OF_WORKFLOWS: Mapping[str, Drawn] = {
    name: _drawn(name) for name in (*(one for one in _ONE if one not in ("degrees", "radians", "imag")), *_ALONE)
}
"""Those that random workflows are drawn from: of one array, along one axis; imaginary parts of real numbers have nothing to follow."""
