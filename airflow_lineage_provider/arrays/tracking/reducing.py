"""Functions that make one cell of many: along axes, of those that count, and running along one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.invert import invert
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import along, reduced, ruled, scanned
from airflow_lineage_provider.arrays.tracking.results import Operand
from airflow_lineage_provider.errors import NotTracked


def _reduction(call: Call, *, skips_nan: bool = False) -> Any:
    """Of a sum, say: all cells of the range, without those that ``where=`` leaves out, or that are no numbers and skipped.

    What was skipped has influence: had it been a number it would count.
    """
    array = first_array(call)
    found = np.asarray(call.result())
    counts = _counted(array, call.get("where", True), skips_nan)
    operand = partial(reduced, array, call.get("axis"), call.get("keepdims", False), found.shape)
    return made(call.name, found, [operand(counts), *([operand(influence=True)] if skips_nan else [])])


def _counted(array: Tracked, where: Any, skips_nan: bool) -> Any:
    if skips_nan and array.dtype.kind in "fcmM":
        numbers = ~np.isnan(array.values)
        return numbers if where is True else numbers & np.asarray(where, dtype=np.bool_)
    return where


def _average(call: Call) -> Any:
    """With weights of the array's own shape, or along one axis: each is computed with."""
    array, weights = first_array(call), call.get("weights")
    found = np.asarray(call.result())
    axes, keepdims = call.get("axis"), call.get("keepdims", False)
    operands = [reduced(array, axes, keepdims, found.shape)]
    if isinstance(weights, Tracked):
        own = reduced(array, axes, keepdims, found.shape).within
        if weights.shape != array.shape:
            raise NotTracked(f"numpy.average with tracked weights of another shape than the array has no known lineage: {WAYS_OUT}")
        operands.append(Operand(weights.result, own))
    return made(call.name, found, operands)


def _norm(call: Call, *, axes: Any = None) -> Any:
    array = first_array(call)
    found = np.asarray(call.result())
    return made(call.name, found, [reduced(array, call.get("axis", axes), call.get("keepdims", False), found.shape)])


def _scan(call: Call, *, skips_nan: bool = False) -> Any:
    array = first_array(call)
    counts = _counted(array, True, skips_nan)
    axis = _scan_axis(call, array)
    return made(call.name, call.result(), [scanned(array, axis, counts), *([scanned(array, axis, influence=True)] if skips_nan else [])])


def _scan_axis(call: Call, array: Tracked) -> Any:
    axis = call.get("axis")
    return 0 if axis is None and array.ndim == 1 else axis


def _unwrapped(call: Call) -> Any:
    """Whether a jump is taken back hangs on the cells before."""
    array = first_array(call)
    axis = along(call.get("axis", -1), array.ndim)[0]
    return made(call.name, call.result(), [ruled(array, rules.scan(array.shape, axis), "superset")])


def _difference(call: Call) -> Any:
    array, order = first_array(call), call.get("n", 1)
    found = np.asarray(call.result())
    axis = along(call.get("axis", -1), array.ndim)[0]
    size = [order + 1 if one == axis else 1 for one in range(array.ndim)]
    return made(call.name, found, [ruled(array, rules.windows(array.shape, size))] if found.size else [])


def _flat_difference(call: Call) -> Any:
    """Of neighbours in C order, between what is put before and behind them."""
    array = first_array(call)
    found = np.asarray(call.result())
    if array.size < 2:
        return made(call.name, found, [])
    before = 0 if call.get("to_begin") is None else np.size(call.get("to_begin"))
    placed = invert(rules.sliced(found.shape, [slice(before, before + array.size - 1)]))
    flat = rules.reshape(array.shape, (array.size,))
    return made(call.name, found, [ruled(array, compose(placed, compose(rules.windows((array.size,), (2,)), flat)))])


def _gradient(call: Call) -> Any:
    """Of each axis; the cell itself is not read within the array, and stands in the answer."""
    array = first_array(call)
    found = call.result()
    axes = along(call.get("axis"), array.ndim)
    results = found if isinstance(found, tuple | list) else [found]
    sizes = [[3 if one == axis else 1 for one in range(array.ndim)] for axis in axes]
    parts = [
        made(call.name, one, [ruled(array, rules.windows(array.shape, size, "same"), "superset")])
        for one, size in zip(results, sizes, strict=True)
    ]
    return tuple(parts) if isinstance(found, tuple | list) else parts[0]


def _smoothed(call: Call) -> Any:
    """`convolve` and `correlate`: the window that slides is the shorter one, and may itself be tracked."""
    (first, long), (second, short) = ((name, call.arguments[name]) for name in call.rule.arrays)
    found = np.asarray(call.result())
    mode = {0: "valid", 1: "same", 2: "full"}.get(call.get("mode"), call.get("mode"))
    if len(long) < len(short):
        raise NotTracked(f"numpy.{call.name} with {first} shorter than {second} has no known lineage: exchange them")
    operands = []
    if isinstance(long, Tracked):
        window = rules.windows(long.shape, (len(short),), "valid" if mode == "valid" else "full")
        operands.append(ruled(long, window if mode != "same" else compose(_middle(len(long), len(short)), window)))
    if isinstance(short, Tracked):
        operands.append(ruled(short, rules.all_to_all(short.shape, found.shape), "exact" if mode == "valid" else "superset"))
    return made(call.name, found, operands)


def _middle(length: int, size: int) -> Relation:
    """The part of the full convolution that "same" keeps."""
    first = (size - 1) // 2
    return rules.sliced((length + size - 1,), [slice(first, first + length)])


def first_array(call: Call) -> Tracked:
    """The array that is reduced.

    :raises NotTracked: another argument is the tracked one.
    """
    array = call.arguments[call.rule.arrays[0]]
    if not isinstance(array, Tracked):
        raise NotTracked(
            f"numpy.{call.name} of {type(array).__name__} with a tracked array in another place has no known lineage: {WAYS_OUT}"
        )
    return array


def _rules() -> Iterator[tuple[Any, Rule]]:
    function: Any
    of_range = (np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.amax, np.amin, np.ptp, np.any, np.all, np.argmax, np.argmin,
                np.count_nonzero)  # fmt: skip
    skipping = (np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar, np.nanmax, np.nanmin, np.nanargmax, np.nanargmin)
    for function in of_range:
        yield function, Rule(_reduction, ("a",), {"mean": np._NoValue, "correction": np._NoValue})
    for function in skipping:
        yield function, Rule(partial(_reduction, skips_nan=True), ("a",))
    yield np.average, Rule(_average, ("a", "weights"), {"returned": False})
    yield np.trapezoid, Rule(_norm, ("y",))
    yield np.linalg.norm, Rule(_norm, ("x",))
    yield np.linalg.vector_norm, Rule(_norm, ("x",))
    yield np.linalg.matrix_norm, Rule(partial(_norm, axes=(-2, -1)), ("x",))
    yield np.cumsum, Rule(_scan, ("a",))
    yield np.cumprod, Rule(_scan, ("a",))
    yield np.cumulative_sum, Rule(_scan, ("x",), {"include_initial": False})
    yield np.cumulative_prod, Rule(_scan, ("x",), {"include_initial": False})
    yield np.nancumsum, Rule(partial(_scan, skips_nan=True), ("a",))
    yield np.nancumprod, Rule(partial(_scan, skips_nan=True), ("a",))
    yield np.unwrap, Rule(_unwrapped, ("p",))
    yield np.diff, Rule(_difference, ("a",), {"prepend": np._NoValue, "append": np._NoValue})
    yield np.ediff1d, Rule(_flat_difference, ("ary",))
    yield np.gradient, Rule(_gradient, ("f",), {"edge_order": 1})
    yield np.convolve, Rule(_smoothed, ("a", "v"))
    yield np.correlate, Rule(_smoothed, ("a", "v"))


REDUCING = dict(_rules())
