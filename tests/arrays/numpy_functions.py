"""Numpy's functions over tracked arrays, as data: how each is called, on which shapes, and whether its lineage hangs on values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Case:
    """A call.

    :ivar covers: the function of `RULES` that it is of; None for what is no dispatched function (methods, operators, indexing).
    :ivar is_exact: a perturbation of a cell changes all that are computed from it, whatever the values: the answer must be equal.
    """

    name: str
    covers: Any
    call: Callable[..., Any]
    shapes: Shapes
    is_exact: bool = True
    make: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]] = lambda values: values


def _cases(function: Any, exact: bool, *calls: tuple[Callable[..., Any], Sequence[tuple[int, ...]]], make: Any = None) -> list[Case]:
    more = {} if make is None else {"make": make}
    name = getattr(function, "__name__", str(function))
    return [Case(f"{name} {at}", function, call, tuple(shapes), exact, **more) for at, (call, shapes) in enumerate(calls)]


def _some_nan(values: Any) -> Any:
    return np.where(values > 1.7, np.nan, values)


def _one_nan(values: Any) -> Any:
    """One in each line."""
    found = values.copy()
    found[np.diag_indices(min(values.shape), values.ndim)] = np.nan
    return found


def _square(values: Any) -> Any:
    return values + 3 * np.eye(values.shape[-1]) if values.ndim > 1 else values


def _definite(values: Any) -> Any:
    return (values + values.T) / 9 + 4 * np.eye(len(values))


def _some_zero(values: Any) -> Any:
    return np.where(values > 1.6, 0.0, values)


_A, _V = (3, 4), (5,)
METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip
"""Of quantiles, all of numpy's."""
_MASK = np.array([True, False, True, True, False])

MOVED: list[Case] = [
    *_cases(np.reshape, True, (lambda a: np.reshape(a, (4, 3)), [_A]), (lambda a: np.reshape(a, -1, order="F"), [_A])),
    *_cases(np.ravel, True, (np.ravel, [_A]), (lambda a: np.ravel(a, "F"), [_A]), (np.ravel, [()])),
    *_cases(np.transpose, True, (np.transpose, [_A]), (lambda a: np.transpose(a, (1, 2, 0)), [(2, 3, 2)])),
    *_cases(np.permute_dims, True, (np.permute_dims, [_A])),
    *_cases(np.moveaxis, True, (lambda a: np.moveaxis(a, 0, -1), [(2, 3, 2)])),
    *_cases(np.rollaxis, True, (lambda a: np.rollaxis(a, 2), [(2, 3, 2)])),
    *_cases(np.expand_dims, True, (lambda a: np.expand_dims(a, (0, 2)), [_A])),
    *_cases(np.squeeze, True, (np.squeeze, [(1, 3, 1)]), (lambda a: np.squeeze(a, 0), [(1, 3)])),
    *_cases(np.repeat, True, (lambda a: np.repeat(a, 2), [_A]), (lambda a: np.repeat(a, [1, 0, 2], axis=0), [_A])),
    *_cases(np.repeat, False, (lambda a, b: np.repeat(a, np.abs(b * 2).astype(int)), [_V, _V])),
    *_cases(np.take, False, (lambda a, b: np.take(a, (b * 2).astype(int)), [_V, (3,)])),
    *_cases(np.compress, False, (lambda a, b: np.compress(b > 1.5, a), [_V, _V])),
    *_cases(np.extract, False, (lambda a, b: np.extract(b > 1.5, a), [_A, _A]), (lambda b: np.extract(b > 1.5, np.arange(5.0)), [_V])),
    *_cases(np.take_along_axis, False, (lambda a, b: np.take_along_axis(a, b.argsort(axis=1), 1), [_A, _A])),
    *_cases(np.select, False, (lambda a, b: np.select([a > 1.6, b > 1.5], [a, b], 7), [_V, _V])),
    *_cases(np.roll, True, (lambda a: np.roll(a, 2), [_A]), (lambda a: np.roll(a, (1, -1), axis=(0, 1)), [_A])),
    *_cases(np.take, True, (lambda a: np.take(a, [2, 0, 0]), [_V]), (lambda a: np.take(a, [[1, 9]], axis=1, mode="clip"), [_A])),
    *_cases(np.diagonal, True, (np.diagonal, [_A]), (lambda a: np.diagonal(a, 1), [_A])),
    *_cases(np.resize, True, (lambda a: np.resize(a, (3, 3)), [_V])),
    *_cases(np.copy, True, (np.copy, [_A])),
    *_cases(
        np.array,
        True,
        (lambda a: np.array(a, ndmin=3, like=a), [_A]),
        (lambda a, b: np.array([a, b], like=a), [_V, _V]),
    ),
    *_cases(np.asarray, True, (lambda a: np.asarray(a, like=a), [_A]), (lambda a: np.asarray(a, dtype=np.float32, like=a), [()])),
    *_cases(np.asanyarray, True, (lambda a: np.asanyarray(a, like=a), [_A])),
    *_cases(
        np.ascontiguousarray, True, (lambda a: np.ascontiguousarray(a.T, like=a), [_A]), (lambda a: np.ascontiguousarray(a, like=a), [()])
    ),
    *_cases(np.asfortranarray, True, (lambda a: np.asfortranarray(a, like=a), [_A])),
    *_cases(np.require, True, (lambda a: np.require(a, requirements=["F", "E"], like=a), [_A])),
    *_cases(np.compress, True, (lambda a: np.compress(_MASK, a), [_V]), (lambda a: np.compress([True, False, True], a, axis=0), [_A])),
    *_cases(np.swapaxes, True, (lambda a: np.swapaxes(a, 0, 2), [(2, 3, 2)])),
    *_cases(np.flip, True, (np.flip, [_A]), (lambda a: np.flip(a, 1), [_A])),
    *_cases(np.fliplr, True, (np.fliplr, [_A])),
    *_cases(np.flipud, True, (np.flipud, [_A])),
    *_cases(np.rot90, True, (np.rot90, [_A]), (lambda a: np.rot90(a, 3), [_A])),
    *_cases(np.tril, True, (np.tril, [_A]), (lambda a: np.tril(a, -1), [_A])),
    *_cases(np.triu, True, (lambda a: np.triu(a, 1), [_A])),
    *_cases(np.tile, True, (lambda a: np.tile(a, 2), [_A]), (lambda a: np.tile(a, (2, 2)), [_V])),
    *_cases(np.broadcast_to, True, (lambda a: np.broadcast_to(a, (2, 3, 4)), [(3, 1)])),
    *_cases(np.delete, True, (lambda a: np.delete(a, 1), [_V]), (lambda a: np.delete(a, [0, 2], axis=1), [_A])),
    *_cases(np.take_along_axis, True, (lambda a: np.take_along_axis(a, np.array([[0], [3], [1]]), 1), [_A])),
    *_cases(np.extract, True, (lambda a: np.extract(_MASK, a), [_V])),
    *_cases(np.diag, True, (np.diag, [_V]), (np.diag, [_A]), (lambda a: np.diag(a, -1), [_V])),
    *_cases(np.diagflat, True, (lambda a: np.diagflat(a, 1), [(3,)])),
    *_cases(np.matrix_transpose, True, (np.matrix_transpose, [_A])),
    *_cases(np.linalg.matrix_transpose, True, (np.linalg.matrix_transpose, [_A])),
    *_cases(np.linalg.diagonal, True, (np.linalg.diagonal, [(2, 3, 3)])),
    *_cases(np.fft.fftshift, True, (np.fft.fftshift, [_V])),
    *_cases(np.fft.ifftshift, True, (lambda a: np.fft.ifftshift(a, 1), [_A])),
    *_cases(np.unstack, True, (lambda a: np.unstack(a, axis=1)[2], [_A])),
    *_cases(
        np.lib.stride_tricks.sliding_window_view,
        True,
        (lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 3)), [_A]),
    ),
    *_cases(np.split, True, (lambda a: np.split(a, 2, axis=1)[1], [_A])),
    *_cases(np.array_split, True, (lambda a: np.array_split(a, 3)[2], [_V])),
    *_cases(np.hsplit, True, (lambda a: np.hsplit(a, [1])[1], [_A])),
    *_cases(np.vsplit, True, (lambda a: np.vsplit(a, [1])[0], [_A])),
    *_cases(np.dsplit, True, (lambda a: np.dsplit(a, 2)[1], [(2, 2, 2)])),
    *_cases(
        np.concatenate,
        True,
        (lambda a, b: np.concatenate([b, a, b], axis=1), [_A, (3, 1)]),
        (lambda a: np.concatenate((a, np.full((1, 4), 1_000_003.0))), [_A]),
        (lambda a: np.concatenate([a, a], axis=None), [_A]),
    ),
    *_cases(np.stack, True, (lambda a, b: np.stack([a, b], axis=1), [_V, _V])),
    *_cases(np.block, True, (lambda a, b: np.block([[a, b], [b, a]]), [(2, 2), (2, 2)])),
    *_cases(np.hstack, True, (lambda a, b: np.hstack([a, b]), [_V, (2,)])),
    *_cases(np.vstack, True, (lambda a, b: np.vstack((a, b)), [_V, _V])),
    *_cases(np.dstack, True, (lambda a, b: np.dstack([a, b]), [_V, _V])),
    *_cases(np.column_stack, True, (lambda a, b: np.column_stack([a, b]), [_V, (5, 2)])),
    *_cases(np.atleast_1d, True, (np.atleast_1d, [()]), (lambda a, b: np.atleast_1d(a, b)[1], [(2,), (3,)])),
    *_cases(np.atleast_2d, True, (np.atleast_2d, [_V])),
    *_cases(np.atleast_3d, True, (np.atleast_3d, [_A])),
    *_cases(np.broadcast_arrays, True, (lambda a, b: np.broadcast_arrays(a, b)[1], [_A, (4,)])),
    *_cases(np.meshgrid, True, (lambda a, b: np.meshgrid(a, b)[1], [(2,), (3,)])),
    *_cases(
        np.select,
        True,
        (lambda a, b: np.select([_MASK, np.arange(5) > 3], [a, b], 7), [_V, _V]),
        (lambda a: np.select([_MASK], [a], np.nan), [_V]),
        (lambda a: np.select([_MASK, ~_MASK], [a, np.inf], [[1e30], [np.nan]]), [_V]),
    ),
    *_cases(np.append, True, (lambda a, b: np.append(a, b), [_A, _V]), (lambda a: np.append([1.0], a), [_V])),
    *_cases(np.insert, True, (lambda a, b: np.insert(a, 2, b), [_V, ()]), (lambda a: np.insert(a, [1, 3], 9, axis=1), [_A])),
    *_cases(
        np.pad,
        True,
        (lambda a: np.pad(a, 1), [_A]),
        (lambda a: np.pad(a, ((1, 0), (2, 2)), mode="reflect"), [_A]),
        (lambda a: np.pad(a, 2, mode="edge"), [_V]),
        (lambda a: np.pad(a, 3, mode="wrap"), [_V]),
        (lambda a: np.pad(a, 3, mode="symmetric"), [_V]),
        (lambda a: np.pad(a, 1, constant_values=1_000_004), [_V]),
        *((lambda a, fill=fill: np.pad(a, 1, constant_values=fill), [_V]) for fill in (np.nan, -np.inf, 1e30, 2**70, -0.5)),
        (lambda a: np.pad(a, ((1, 1), (0, 2)), constant_values=((np.nan, 1.0), (1e30, np.inf))), [_A]),
    ),
]

COMPUTED: list[Case] = [
    *_cases(
        np.clip,
        False,
        (lambda a: np.clip(a, 1.2, 1.7), [_A]),
        (lambda a, b: np.clip(a, b, None), [_A, (4,)]),
        (lambda a: a.clip(1.2, 1.7), [_A]),
    ),
    *_cases(np.round, False, (lambda a: np.round(a, 1), [_A])),
    *_cases(np.around, False, (np.around, [_A])),
    *_cases(np.real_if_close, False, (np.real_if_close, [_A])),
    *_cases(np.real, True, (np.real, [_A])),
    *_cases(np.imag, False, (np.imag, [_A])),
    *_cases(np.angle, False, (np.angle, [_A])),
    *_cases(np.nan_to_num, True, (np.nan_to_num, [_A])),
    *_cases(np.fix, False, (np.fix, [_A])),
    *_cases(np.sinc, False, (np.sinc, [_A])),
    *_cases(np.i0, True, (np.i0, [_A])),
    *_cases(np.isposinf, False, (np.isposinf, [_A])),
    *_cases(np.isneginf, False, (np.isneginf, [_A])),
    *_cases(np.iscomplex, False, (np.iscomplex, [_A])),
    *_cases(np.isreal, False, (np.isreal, [_A])),
    *_cases(np.astype, True, (lambda a: np.astype(a, np.float32), [_A]), (lambda a: a.astype(np.complex128), [_A])),
    *_cases(np.isclose, False, (lambda a, b: np.isclose(a, b, atol=0.2), [_A, (4,)])),
    *_cases(
        np.digitize,
        False,
        (lambda a: np.digitize(a, [1.2, 1.5, 1.7]), [_A]),
        (lambda a, b: np.digitize(a, np.sort(b)), [_A, (3,)]),
    ),
    *_cases(
        np.searchsorted,
        False,
        (lambda a: np.searchsorted([1.2, 1.5, 1.7], a), [_A]),
        (lambda a, b: np.searchsorted(np.sort(a), b, side="right"), [(6,), _V]),
        (lambda a: np.searchsorted(a, [1.3, 1.6], sorter=a.argsort()), [_V]),
    ),
    *_cases(
        np.isin,
        False,
        (lambda a: np.isin(np.round(a, 1), [1.3, 1.5]), [_A]),
        (lambda a, b: np.isin(np.round(a, 1), np.round(b, 1)), [_A, (3,)]),
    ),
    *_cases(
        np.interp,
        False,
        (lambda a: np.interp(a, [1.0, 1.5, 2.0], [3.0, 7.0, 1.0]), [_A]),
        (lambda a: np.interp(a, [1.3, 1.5], [3.0, 7.0], left=5, right=6), [_A]),
        (lambda a, b: np.interp(a, [1.2, 1.4, 1.6, 1.8], b), [_A, (4,)]),
        (lambda a, b: np.interp(a, [1.2, 1.4, 1.6, 1.8], b, left=0.0), [_V, (4,)]),
        (lambda b: np.interp([[0.9, 1.0], [1.5, 3.0], [9.0, 2.0]], [1.0, 2.0, 3.0], b, right=2.0), [(3,)]),
    ),
    *_cases(np.interp, False, (lambda a: np.interp(1.55, a, [1.0, 7.0, 2.0, 4.0]), [(4,)]), make=np.sort),
    *_cases(
        np.where,
        False,
        (lambda a, b: np.where(a > 1.5, a, b), [_A, (4,)]),
        (lambda a: np.where(_MASK, a, 0.0), [_V]),
        (lambda a, b: np.where(np.arange(4) > 1, a, b), [(3, 4), (3, 1)]),
        (lambda a: np.where(a > 1.5)[0], [_V]),
    ),
]

_AXES: Sequence[Mapping[str, Any]] = ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)})


def _reductions(function: Any, exact: bool, axes: Sequence[Mapping[str, Any]] = _AXES, make: Any = None) -> list[Case]:
    return _cases(function, exact, *((lambda a, one=one: function(a, **one), [(3, 2, 2)]) for one in axes), make=make)


_ONE_AXIS: Sequence[Mapping[str, Any]] = ({}, {"axis": 0}, {"axis": -1, "keepdims": True})

REDUCED: list[Case] = [
    *(case for one in (np.sum, np.prod, np.mean, np.std, np.var) for case in _reductions(one, True)),
    *(
        case
        for one in (np.max, np.min, np.amax, np.amin, np.ptp, np.any, np.all, np.count_nonzero)
        for case in _reductions(one, False, make=_some_zero)
    ),
    *(case for one in (np.argmax, np.argmin) for case in _reductions(one, False, _ONE_AXIS)),
    *_cases(
        np.sum,
        True,
        (lambda a: np.sum(a, where=_MASK[:4]), [_A]),
        (lambda a: a.sum(axis=1), [_A]),
        (np.sum, [()]),
        (lambda a: a.sum(axis=0), [(0, 2)]),
    ),
    *_cases(np.mean, True, (lambda a: np.mean(a, axis=0, where=np.eye(3, dtype=bool)), [(3, 3)])),
    *(
        case
        for one in (np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar, np.nanmax, np.nanmin)
        for case in _reductions(one, False, make=_some_nan)
    ),
    *(case for one in (np.nanargmax, np.nanargmin) for case in _reductions(one, False, _ONE_AXIS, make=_one_nan)),
    *(case for one in (np.median, np.nanmedian) for case in _reductions(one, False)),
    *_cases(np.percentile, False, (lambda a: np.percentile(a, 30), [_A]), (lambda a: np.percentile(a, [25, 75], axis=1), [_A])),
    *_cases(np.quantile, False, (lambda a: np.quantile(a, [[0.2, 0.5]], axis=0, keepdims=True), [_A])),
    *_cases(
        np.quantile,
        False,
        *((lambda a, method=method: np.quantile(a, [0.0, 0.37, 0.5, 1.0], method=method), [_V]) for method in METHODS),
        (lambda a: np.quantile(a, 0.3), [()]),
        (lambda a: np.quantile(a.astype(np.float32), 0.3, axis=0), [(7, 2)]),
    ),
    *_cases(np.percentile, False, (lambda a: np.percentile(a, 50, axis=(0, 2)), [(3, 2, 3)]), make=_some_nan),
    *_cases(np.nanpercentile, False, (lambda a: np.nanpercentile(a, [30, 60], axis=0), [_A]), make=_some_nan),
    *_cases(np.nanquantile, False, (lambda a: np.nanquantile(a, 0.4), [_A])),
    *_cases(
        np.average,
        True,
        (np.average, [_A]),
        (lambda a: np.average(a, axis=0, weights=[1.0, 2.0, 3.0]), [_A]),
        (lambda a, w: np.average(a, axis=1, weights=w), [_A, _A]),
        (lambda a, w: np.average(a, axis=1, weights=w), [_A, (4,)]),
        (lambda a, w: np.average(a, axis=(2, 0), weights=w, keepdims=True), [(2, 3, 4), (4, 2)]),
        (lambda w: np.average(np.arange(12.0).reshape(3, 4) ** 2, axis=0, weights=w), [(3,)]),
        (np.average, [_V]),
    ),
    *_cases(np.trapezoid, True, (np.trapezoid, [_V]), (lambda a: np.trapezoid(a, axis=0), [_A])),
    *_cases(np.linalg.norm, True, (np.linalg.norm, [_A]), (lambda a: np.linalg.norm(a, axis=1), [_A])),
    *_cases(np.linalg.vector_norm, True, (lambda a: np.linalg.vector_norm(a, axis=0, keepdims=True), [_A]), (np.linalg.vector_norm, [_A])),
    *_cases(np.linalg.matrix_norm, True, (np.linalg.matrix_norm, [(2, 2, 3)])),
    *_cases(np.cumsum, True, (np.cumsum, [_A]), (lambda a: np.cumsum(a, axis=0), [_A]), (lambda a: a.cumsum(), [_V])),
    *_cases(np.cumprod, True, (lambda a: np.cumprod(a, axis=1), [_A])),
    *_cases(np.cumulative_sum, True, (np.cumulative_sum, [_V]), (lambda a: np.cumulative_sum(a, axis=1), [_A])),
    *_cases(np.cumulative_prod, True, (np.cumulative_prod, [_V])),
    *_cases(
        np.cumulative_sum,
        True,
        (lambda a: np.cumulative_sum(a, include_initial=True), [_V]),
        (lambda a: np.cumulative_sum(a, axis=-1, include_initial=True, dtype=np.float32), [_A]),
    ),
    *_cases(np.cumulative_prod, True, (lambda a: np.cumulative_prod(a, axis=0, include_initial=True), [_A])),
    *_cases(np.nancumsum, False, (lambda a: np.nancumsum(a, axis=1), [_A]), (np.nancumsum, [_A]), make=_some_nan),
    *_cases(np.nancumprod, False, (np.nancumprod, [_V]), make=_some_nan),
    *_cases(np.unwrap, False, (np.unwrap, [_V]), (lambda a: np.unwrap(a * 7, axis=0), [_A])),
    *_cases(
        np.diff,
        True,
        (np.diff, [_V]),
        (lambda a: np.diff(a, 2, axis=0), [_A]),
        (lambda a: np.diff(a, 9), [_V]),
        (lambda a: np.diff(a, 0), [_V]),
        (lambda a: np.diff(a, 2, prepend=1.0, append=[7.0, 8.0]), [_V]),
        (lambda a: np.diff(a, axis=0, prepend=0), [_A]),
        (lambda a, b: np.diff(a, append=b), [_A, (3, 2)]),
        (lambda a, b: np.diff(a, prepend=b), [_V, ()]),
        (lambda b: np.diff([[1.0], [4.0]], append=b, axis=0), [(1, 1)]),
        (lambda a: np.diff(a, 0, prepend=4.0), [_V]),
    ),
    *_cases(
        np.ediff1d,
        True,
        (np.ediff1d, [_A]),
        (lambda a: np.ediff1d(a, to_begin=[8.0, 9.0], to_end=7.0), [_V]),
        (lambda a: np.ediff1d(a, to_end=7.0), [(1,)]),
        (np.ediff1d, [()]),
    ),
    *_cases(np.gradient, False, (np.gradient, [_V]), (lambda a: np.gradient(a)[1], [_A]), (lambda a: np.gradient(a, 2.0, axis=0), [_A])),
    *_cases(
        np.gradient,
        False,
        (lambda a: np.gradient(a, edge_order=2), [_V]),
        (lambda a: np.gradient(a, [0.0, 1.0, 3.0], axis=0, edge_order=2), [_A]),
        (lambda a: np.gradient(a), [(2,)]),
        (lambda a: np.gradient(a, edge_order=2)[0], [(3, 4)]),
    ),
    *_cases(
        np.convolve,
        True,
        *((lambda a, mode=mode: np.convolve(a, [1.0, 2.0, 3.0], mode), [(6,)]) for mode in ("valid", "same", "full")),
        (lambda a, b: np.convolve(a, b, "valid"), [(6,), (3,)]),
        *((lambda a, mode=mode: np.convolve(a, [1.0, 2.0], mode), [(6,)]) for mode in ("same", "full")),
    ),
    *_cases(np.convolve, False, (lambda a, b: np.convolve(a, b), [(6,), (3,)])),
    *_cases(
        np.correlate,
        True,
        *(
            (lambda a, mode=mode, size=size: np.correlate(a, np.arange(1.0, size), mode), [(6,)])
            for mode in ("valid", "same", "full")
            for size in (3, 4, 5)
        ),
    ),
]

MULTIPLIED: list[Case] = [
    *_cases(
        np.dot,
        True,
        (np.dot, [_A, (4, 2)]),
        (np.dot, [_V, _V]),
        (np.dot, [(2, 2, 3), (2, 3, 2)]),
        (np.dot, [_A, (4,)]),
        (np.dot, [(), _V]),
        (lambda a: a.dot(np.ones(4)), [_A]),
    ),
    *_cases(np.inner, True, (np.inner, [_A, (2, 4)]), (np.inner, [_V, _V]), (np.inner, [(), _V])),
    *_cases(
        np.tensordot,
        True,
        (np.tensordot, [(2, 3, 2), (3, 2, 2)]),
        (lambda a, b: np.tensordot(a, b, ((0,), (-1,))), [_A, (2, 3)]),
        (lambda a, b: np.tensordot(a, b, (1, 0)), [_A, (4, 2)]),
        (lambda a, b: np.tensordot(a, b, 0), [(2,), (3,)]),
    ),
    *_cases(np.linalg.tensordot, True, (lambda a, b: np.linalg.tensordot(a, b, axes=1), [_A, (4, 2)])),
    *_cases(np.linalg.matmul, True, (np.linalg.matmul, [_A, (2, 4, 2)])),
    *_cases(np.linalg.vecdot, True, (np.linalg.vecdot, [_A, (4,)])),
    *_cases(np.vdot, True, (np.vdot, [_A, _A])),
    *_cases(np.outer, True, (np.outer, [(3,), (2,)]), (np.outer, [(2, 3), (2, 2)]), (lambda a: np.outer(a, 2.0), [_A])),
    *_cases(np.linalg.outer, True, (np.linalg.outer, [(3,), (2,)])),
    *_cases(np.einsum, True, (lambda a, b: np.einsum("ij,kj->ik", a, b), [_A, (2, 4)]), (lambda a: np.einsum("ii", a), [(3, 3)])),
    *_cases(
        np.einsum,
        True,
        (lambda a, b: np.einsum("...ij,...jk->...ik", a, b), [(2, 1, 2, 3), (4, 3, 2)]),
        (lambda a: np.einsum("...i->...", a), [(2, 3, 2)]),
        (lambda a, b: np.einsum("i...,...", a, b), [_A, (4,)]),
        (lambda a, b: np.einsum("...a,ba->b...", a, b), [(2, 3), (2, 3)]),
        (lambda a, b: np.einsum("...,...", a, b), [(), _V]),
    ),
    *_cases(np.trace, True, (np.trace, [_A]), (lambda a: np.trace(a, 1, 0, 2), [(2, 2, 3)]), (lambda a: a.trace(), [(3, 3)])),
    *_cases(np.linalg.trace, True, (np.linalg.trace, [(2, 3, 3)])),
    *_cases(
        np.kron,
        True,
        (np.kron, [(3,), (2,)]),
        (np.kron, [(2, 3), (2, 2)]),
        (np.kron, [(2,), (2, 3)]),
        (np.kron, [(), (2, 2)]),
    ),
    *_cases(
        np.linalg.multi_dot,
        True,
        (lambda a, b, c: np.linalg.multi_dot([a, b, c]), [(2, 3), (3, 2), (2, 4)]),
        (lambda a, b, c: np.linalg.multi_dot((a, b, c)), [(3,), (3, 2), (2,)]),
        (lambda a: np.linalg.multi_dot([a, np.ones((4, 2))]), [_A]),
    ),
    *_cases(
        np.cross,
        True,
        (np.cross, [(2, 3), (2, 3)]),
        (np.cross, [(2, 2), (2, 2)]),
        (np.cross, [(2,), (4, 3)]),
        (np.cross, [(2, 1, 3), (4, 3)]),
        (lambda a, b: np.cross(a, b, axisa=0, axisb=0), [(3, 4), (3, 4)]),
        (lambda a, b: np.cross(a, b, axisb=0, axisc=0), [(4, 3), (3, 4)]),
        (lambda a: np.cross(a, [1.0, 2.0, 3.0], axis=0), [(3,)]),
        (lambda a, b: np.cross(a, b, axis=1), [(2, 3, 4), (2, 3, 4)]),
    ),
    *_cases(np.linalg.cross, True, (np.linalg.cross, [(3,), (3,)]), (lambda a, b: np.linalg.cross(a, b, axis=0), [(3, 2), (3, 2)])),
]

ORDERED: list[Case] = [
    *_cases(np.sort, False, (np.sort, [_A]), (lambda a: np.sort(a, axis=0, kind="stable"), [_A]), (lambda a: np.sort(a, axis=None), [_A])),
    *_cases(
        np.partition,
        False,
        (lambda a: np.partition(a, 2), [_A]),
        (lambda a: np.partition(a, 2, axis=0), [_A]),
        (lambda a: np.partition(a, 3, axis=None), [_A]),
    ),
    *_cases(np.argsort, False, (np.argsort, [_A]), (lambda a: np.argsort(a, axis=None), [_A])),
    *_cases(np.argpartition, False, (lambda a: np.argpartition(a, 1), [_A])),
    *_cases(
        np.unique,
        False,
        (lambda a: np.unique(np.round(a, 1)), [_V]),
        (lambda a: np.unique(np.round(a), axis=0), [_A]),
        (lambda a: np.unique(np.round(a), axis=-1, return_counts=True)[1], [(2, 3, 4)]),
        *((lambda a, at=at: np.unique(np.round(a, 1), True, True, True)[at], [(2, 3)]) for at in range(4)),
    ),
    *_cases(
        np.trim_zeros,
        False,
        (np.trim_zeros, [(7,)]),
        (lambda a: np.trim_zeros(a, "b"), [(7,)]),
        (lambda a: np.trim_zeros(a, axis=1), [_A]),
        (np.trim_zeros, [_A]),
        make=_some_zero,
    ),
    *_cases(np.trim_zeros, False, (np.trim_zeros, [(3,)]), make=np.zeros_like),
    *_cases(np.unique_values, False, (lambda a: np.unique_values(np.round(a, 1)), [_V])),
    *_cases(np.nonzero, False, (lambda a: np.nonzero(a)[1], [_A]), make=_some_zero),
    *_cases(np.argwhere, False, (np.argwhere, [_A]), make=_some_zero),
    *_cases(np.flatnonzero, False, (np.flatnonzero, [_A]), make=_some_zero),
]

TRANSFORMED: list[Case] = [
    *(
        case
        for one in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft)
        for case in _cases(one, False, (one, [_A]), (lambda a, one=one: one(a, axis=0, n=4), [_A]))
    ),
    *(
        case
        for one in (np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)
        for case in _cases(one, False, (one, [(2, 3, 4)]), (lambda a, one=one: one(a, axes=(0, 1)), [(2, 3, 4)]))
    ),
    *(case for one in (np.linalg.inv, np.linalg.pinv) for case in _cases(one, False, (one, [(2, 3, 3)]), make=_square)),
    *_cases(np.linalg.cholesky, False, (np.linalg.cholesky, [(3, 3)]), make=_definite),
    *_cases(np.linalg.matrix_power, False, (lambda a: np.linalg.matrix_power(a, 3), [(3, 3)])),
    *_cases(np.linalg.det, False, (np.linalg.det, [(2, 3, 3)]), make=_square),
    *_cases(np.linalg.slogdet, False, (lambda a: np.linalg.slogdet(a)[1], [(2, 3, 3)]), make=_square),
    *_cases(np.linalg.cond, False, (np.linalg.cond, [(2, 3, 3)]), make=_square),
    *_cases(np.linalg.matrix_rank, False, (np.linalg.matrix_rank, [(2, 3, 3)]), make=_square),
    *(
        case
        for one in (np.linalg.eig, np.linalg.eigh)
        for case in _cases(one, False, *((lambda a, one=one, at=at: one(a)[at], [(2, 3, 3)]) for at in range(2)), make=_square)
    ),
    *(
        case
        for one in (np.linalg.eigvals, np.linalg.eigvalsh)
        for case in _cases(one, False, (one, [(2, 3, 3)]), (one, [(3, 3)]), make=_square)
    ),
    *_cases(
        np.linalg.svd,
        False,
        *((lambda a, at=at: np.linalg.svd(a)[at], [(2, 3, 4)]) for at in range(3)),
        (lambda a: np.linalg.svd(a, full_matrices=False).U, [(4, 3)]),
        (lambda a: np.linalg.svd(a, compute_uv=False), [(2, 2, 3)]),
    ),
    *_cases(np.linalg.svdvals, False, (np.linalg.svdvals, [(2, 3, 4)])),
    *_cases(
        np.linalg.qr,
        False,
        (lambda a: np.linalg.qr(a).Q, [(2, 4, 3)]),
        (lambda a: np.linalg.qr(a, mode="complete")[1], [(4, 3)]),
        (lambda a: np.linalg.qr(a, mode="r"), [(2, 4, 3)]),
        (lambda a: np.linalg.qr(a, mode="raw")[1], [(2, 4, 3)]),
    ),
    *_cases(
        np.linalg.solve,
        False,
        (np.linalg.solve, [(3, 3), (3,)]),
        (np.linalg.solve, [(2, 3, 3), (3, 2)]),
        (np.linalg.solve, [(3, 3), (2, 3, 4)]),
        (np.linalg.solve, [(2, 1, 3, 3), (4, 3, 2)]),
        (np.linalg.solve, [(2, 3, 3), (3,)]),
        (lambda b: np.linalg.solve(np.eye(3) * 2, b), [(3, 2)]),
        make=lambda values: _square(values) if values.shape[-2:] == (3, 3) else values,
    ),
    *_cases(
        np.linalg.lstsq,
        False,
        *((lambda a, b, at=at: np.linalg.lstsq(a, b)[at], [(5, 2), (5, 3)]) for at in range(2)),
        *((lambda a, at=at: np.linalg.lstsq(a, np.arange(5.0))[at], [(5, 2)]) for at in range(4)),
    ),
    *_cases(np.linalg.tensorinv, False, (lambda a: np.linalg.tensorinv(a, ind=1), [(4, 2, 2)])),
    *_cases(np.linalg.tensorsolve, False, (np.linalg.tensorsolve, [(2, 2, 4), (2, 2)])),
]

COUNTED: list[Case] = [
    *_cases(
        np.histogram,
        False,
        *((lambda a, at=at: np.histogram(a, 4)[at], [_A]) for at in range(2)),
        (lambda a, w: np.histogram(a, [1.0, 1.3, 1.7, 2.0], weights=w)[0], [_V, _V]),
        (lambda w: np.histogram(np.arange(5.0), 3, density=True, weights=w)[0], [_V]),
    ),
    *_cases(np.histogram_bin_edges, False, (lambda a: np.histogram_bin_edges(a, "fd"), [(9,)])),
    *_cases(np.histogram2d, False, *((lambda a, b, at=at: np.histogram2d(a, b, (3, 2))[at], [_V, _V]) for at in range(3))),
    *_cases(
        np.histogramdd,
        False,
        (lambda a: np.histogramdd(a, 2)[0], [(5, 2)]),
        (lambda a, b: np.histogramdd([a, b], [2, 3])[1][0], [_V, _V]),
    ),
    *_cases(
        np.bincount,
        False,
        (lambda a: np.bincount(np.astype(np.abs(a) * 3, int), minlength=9), [_V]),
        (lambda w: np.bincount([0, 2, 2, 1, 0], weights=w), [_V]),
    ),
    *_cases(
        np.cov,
        True,
        (np.cov, [_A]),
        (lambda a: np.cov(a, rowvar=False, bias=True), [_A]),
        (np.cov, [_V]),
        (lambda a: np.cov(a, ddof=0), [(1, 5)]),
    ),
    *_cases(
        np.cov,
        False,
        (np.cov, [_A, (2, 4)]),
        (lambda a, b: np.cov(a, b)[0, 0], [_V, _V]),
        (lambda a: np.cov(a, aweights=[1.0, 0.0, 2.0, 1.0]), [_A]),
        (lambda a, w: np.cov(a, aweights=np.abs(w)), [_A, (4,)]),
        (lambda w: np.cov(np.arange(8.0).reshape(2, 4) ** 2, aweights=np.abs(w)), [(4,)]),
    ),
    *_cases(
        np.corrcoef,
        False,
        (np.corrcoef, [_A]),
        (np.corrcoef, [_V, _V]),
        (lambda a: np.corrcoef(a, rowvar=False), [_A]),
        (np.corrcoef, [_V]),
    ),
    *_cases(
        np.apply_along_axis,
        False,
        (lambda a: np.apply_along_axis(np.sort, 1, a), [_A]),
        (lambda a: np.apply_along_axis(lambda line: line[:2] * line[-1], 0, a), [_A]),
        (lambda a: np.apply_along_axis(np.outer, 1, a, [1.0, 2.0]), [(2, 3, 2)]),
        (lambda a: np.apply_along_axis(sum, -1, a), [(2, 3, 2)]),
    ),
    *_cases(np.apply_over_axes, False, (lambda a: np.apply_over_axes(np.sum, a, [0, 2]), [(2, 3, 2)])),
    *_cases(np.vander, True, (np.vander, [_V]), (lambda a: np.vander(a, 3, increasing=True), [_V]), (lambda a: np.vander(a, 1), [_V])),
    *_cases(
        np.polyval,
        True,
        (np.polyval, [(3,), _A]),
        (lambda a: np.polyval(a, 2.0), [(3,)]),
        (lambda a: np.polyval([1.0, 2.0], a), [_V]),
    ),
    *_cases(
        np.polyfit,
        False,
        (lambda a, b: np.polyfit(a, b, 2), [(7,), (7,)]),
        (lambda b, w: np.polyfit(np.arange(7.0), b, 1, w=w), [(7,), (7,)]),
        *((lambda a, at=at: np.polyfit(a, np.arange(7.0) ** 2, 1, full=True)[at], [(7,)]) for at in range(5)),
        (lambda b: np.polyfit(np.arange(7.0), b, 1, cov=True)[1], [(7,)]),
    ),
    *_cases(np.poly, False, (np.poly, [(3,)]), (np.poly, [(2, 2)])),
    *_cases(np.roots, False, (np.roots, [(4,)])),
    *_cases(np.polyder, False, (np.polyder, [_V])),
    *_cases(np.polyint, False, (lambda a: np.polyint(a, 2), [_V])),
    *(case for one in (np.polyadd, np.polysub, np.polymul) for case in _cases(one, False, (one, [(3,), _V]))),
    *_cases(np.polydiv, False, *((lambda a, b, at=at: np.polydiv(a, b)[at], [_V, (3,)]) for at in range(2))),
    *_cases(
        np.unique_counts,
        False,
        *((lambda a, at=at: np.unique_counts(np.round(a, 1))[at], [_A]) for at in range(2)),
    ),
    *_cases(np.unique_inverse, False, (lambda a: np.unique_inverse(np.round(a, 1)).inverse_indices, [_A])),
    *_cases(np.unique_all, False, *((lambda a, at=at: np.unique_all(np.round(a, 1))[at], [_A]) for at in range(4))),
    *(
        case
        for one in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d)
        for case in _cases(
            one,
            False,
            (lambda a, b, one=one: one(np.round(a, 1), np.round(b, 1)), [_A, _V]),
            (lambda a, one=one: one(np.round(a, 1), [1.3, 1.6, 1.8, 5.0]), [_V]),
            (lambda a, one=one: one([1.3, 1.6, 1.8, 5.0], np.round(a, 1)), [_V]),
        )
    ),
    *_cases(np.intersect1d, False, (lambda a, b: np.intersect1d(np.round(a, 1), np.round(b, 1), return_indices=True)[2], [(9,), (9,)])),
    *_cases(
        np.choose,
        True,
        (lambda a, b: np.choose([0, 1, 1, 0, 1], [a, b]), [_V, _V]),
        (lambda a: np.choose([[2], [0], [1]], [a, 7.0, 8.0]), [_A]),
    ),
    *_cases(np.choose, False, (lambda a, b: np.choose((b * 9).astype(int) % 2, [a, a + 1]), [_V, _V])),
]

OTHERWISE: list[Case] = [
    *_cases(
        "index",
        True,
        (lambda a: a[1], [_A]),
        (lambda a: a[1:, ::-1], [_A]),
        (lambda a: a[..., None, 2], [_A]),
        (lambda a: a[-1, -2], [_A]),
        (lambda a: a[::2, 1::2], [_A]),
        (lambda a: a[[2, 0, 2]], [_A]),
        (lambda a: a[_MASK], [_V]),
        (lambda a: a[[0, 1], [2, 3]], [_A]),
        (lambda a: a[5:2], [_V]),
        (lambda a: a[()], [()]),
        (lambda a: a[3:0:-1], [_V]),
        (lambda a: a[True], [_V]),
        (lambda a: a[::-2], [_V]),
        (lambda a: list(a)[1], [_A]),
        (lambda a: a[None, 1:2, :, None], [_A]),
    ),
    *_cases(
        "index by values",
        False,
        (lambda a: a[a > 1.5], [_V]),
        (lambda a, b: a[b > 1.5], [_A, _A]),
        (lambda a, b: a[(b * 2).astype(int)], [_V, (3,)]),
    ),
    *_cases(
        "operators",
        True,
        (lambda a, b: a + b, [_A, (4,)]),
        (lambda a: 2 - a, [_A]),
        (lambda a: np.ones(4) * a, [(3, 1)]),
        (lambda a: a + a.T, [(3, 3)]),
        (lambda a: -a, [_A]),
        (lambda a, b: a @ b, [_A, (4, 2)]),
        (lambda a, b: b @ a, [(3,), (2, 3)]),
        (lambda a: a**2, [_A]),
        (lambda a: [1.0, 2.0] - a, [(2,)]),
    ),
    *_cases(
        "comparisons",
        False,
        (lambda a, b: (a > b) & (a < 1.9), [_A, (4,)]),
        (lambda a: a == a[0], [_V]),
        (lambda a: divmod(a, 0.3)[1], [_V]),
    ),
    *_cases(
        "methods",
        True,
        (lambda a: a.reshape(2, -1), [_A]),
        (lambda a: a.reshape((4, 3)), [_A]),
        (lambda a: a.transpose(2, 0, 1), [(2, 3, 2)]),
        (lambda a: a.T, [_A]),
        (lambda a: a.flatten(), [_A]),
        (lambda a: a.mean(axis=(0, 1), keepdims=True), [_A]),
        (lambda a: a.std(0), [_A]),
        (lambda a: a.repeat(2, axis=0), [_A]),
        (lambda a: a.take([1, 1]), [_A]),
        (lambda a: a.swapaxes(0, 1), [_A]),
        (lambda a: a.copy(), [_A]),
        (lambda a: a.diagonal(), [_A]),
        (lambda a: a.squeeze(), [(1, 3)]),
        (lambda a: a.transpose(), [_A]),
        (lambda a: a.conj(), [_A]),
    ),
    *_cases(
        "ufuncs",
        True,
        (lambda a: np.add.reduce(a), [_A]),
        (lambda a: np.add.reduce(a, axis=None, keepdims=True), [_A]),
        (lambda a: np.multiply.accumulate(a, axis=1), [_A]),
        (lambda a, b: np.subtract.outer(a, b), [_V, (2, 2)]),
        (lambda a: np.add.reduce(a, axis=1, where=np.arange(4) > 1), [_A]),
        (lambda a: np.add.accumulate(a), [_V]),
        (lambda a: np.multiply(a, 2, dtype=np.float32), [_A]),
        (np.matmul, [(2, 2, 3), (3, 2)]),
        (np.vecdot, [_A, (4,)]),
        (np.matvec, [(2, 3, 2), (2,)]),
        (np.vecmat, [(3,), (3, 2)]),
        (lambda a: np.add.reduceat(a, [0, 2, 1, 3]), [_V]),
        (lambda a: np.multiply.reduceat(a, [1, 1, 3], axis=1), [_A]),
        (lambda a: np.add.reduceat(a, indices=[0, 2], axis=-1), [(2, 3, 4)]),
        (lambda a: np.add.reduceat(a, np.array([0]), 1), [_A]),
    ),
    *_cases(
        "ufunc maxima",
        False,
        (lambda a: np.maximum.reduce(a, axis=1), [_A]),
        (lambda a: np.maximum.accumulate(a), [_V]),
        (lambda a: np.modf(a)[0], [_V]),
        (lambda a, b: np.add.reduceat(a, np.sort((b * 2).astype(int))), [_V, (3,)]),
        (lambda a: np.frexp(a)[1], [_V]),
    ),
    *_cases(
        "chains",
        True,
        (lambda a: (a - a.mean()) / a.std(), [_A]),
        (lambda a: np.flip(a.reshape(2, 2, 2, 2).mean(axis=(1, 3)).T, 0), [(4, 4)]),
        (lambda a: np.pad(a, 1)[1:, :-1] + 1, [_A]),
        (lambda a, b: np.concatenate([a @ b, a], axis=1).cumsum(axis=0), [_A, (4, 2)]),
    ),
]

CASES: list[Case] = [*MOVED, *COMPUTED, *REDUCED, *MULTIPLIED, *ORDERED, *COUNTED, *TRANSFORMED, *OTHERWISE]

COUNTS = Counter(case.covers for case in CASES)
"""How many cases each function has."""
