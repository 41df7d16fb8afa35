"""Functions that make one cell of many: along axes, of those that count, and running along one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.invert import invert
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules.spans import Span, moving_with, of_rows
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, made, plain
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import along, broadcast, is_true, reduced, ruled, scanned
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
    """With weights of the array's own shape, or along some of its axes: each is computed with."""
    array, weights = call.arguments["a"], call.get("weights")
    found, shape = np.asarray(call.result()), np.shape(plain(array))
    axes = along(call.get("axis"), len(shape))
    own = rules.reduction(shape, axes, keepdims=is_true(call.get("keepdims", False)))
    operands = [ruled(array, own)] if isinstance(array, Tracked) else []
    if isinstance(weights, Tracked):
        if weights.shape != shape:
            weights = np.reshape(np.transpose(weights, np.argsort(axes)), [side if one in axes else 1 for one, side in enumerate(shape)])
        operands.append(ruled(weights, compose(own, broadcast(weights.shape, shape))))
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


def _cumulative(call: Call) -> Any:
    """A running sum, also with what it begins with: then it is put before it, as numpy does."""
    if not call.get("include_initial", False):
        return _scan(call)
    array = first_array(call)
    axis = 0 if call.get("axis") is None else along(call.get("axis"), array.ndim)[0]
    found = call.function(array, axis=call.get("axis"), dtype=call.get("dtype"))
    sides = [1 if one == axis else side for one, side in enumerate(found.shape)]
    return np.concatenate([np.full(sides, call.function is np.cumulative_prod, dtype=found.dtype), found], axis=axis)


def _with_ends(call: Call) -> Any:
    """What is put before and behind the cells is one array with them, as numpy makes it."""
    array, order, given = call.arguments["a"], call.get("n", 1), [call.get(name) for name in ("prepend", "append")]
    if not order or (given[0] is None and given[1] is None):
        return _difference(call)
    shape = np.shape(plain(array))
    axis = along(call.get("axis", -1), len(shape))[0]
    before, behind = (_end(one, shape, axis) for one in given)
    return np.diff(np.concatenate([*before, array, *behind], axis=axis), order, axis)


def _end(given: Any, shape: Shape, axis: int) -> list[Any]:
    if given is None:
        return []
    wide = [1 if one == axis else side for one, side in enumerate(shape)]
    return [given if np.ndim(plain(given)) else np.broadcast_to(given, wide)]


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
    relations = [_slopes(array.shape, axis, call.get("edge_order", 1)) for axis in axes]
    parts = [made(call.name, one, [ruled(array, relation, "superset")]) for one, relation in zip(results, relations, strict=True)]
    return tuple(parts) if isinstance(found, tuple | list) else parts[0]


def _slopes(shape: Shape, axis: int, edge: int) -> Relation:
    """From the cell and its neighbours; at both edges from as many cells as the order says, and one."""
    last = shape[axis] - 1
    pieces = [((0, 0), Span(0, edge)), ((1, last - 1), Span(-1, 1, axis + 1, axis + 1)), ((last, last), Span(last - edge, last))]
    rows = [
        (
            [ends if one == axis else (0, side - 1) for one, side in enumerate(shape)],
            [span if one == axis else moving_with(one, side) for one, side in enumerate(shape)],
        )
        for ends, span in pieces
        if ends[0] <= ends[1]
    ]
    return of_rows(shape, shape, rows)


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
        yield function, Rule(_reduction, ("a",))
    for function in skipping:
        yield function, Rule(partial(_reduction, skips_nan=True), ("a",))
    yield np.average, Rule(_average, ("a", "weights"), {"returned": False})
    yield np.trapezoid, Rule(_norm, ("y",))
    yield np.linalg.norm, Rule(_norm, ("x",))
    yield np.linalg.vector_norm, Rule(_norm, ("x",))
    yield np.linalg.matrix_norm, Rule(partial(_norm, axes=(-2, -1)), ("x",))
    yield np.cumsum, Rule(_scan, ("a",))
    yield np.cumprod, Rule(_scan, ("a",))
    yield np.cumulative_sum, Rule(_cumulative, ("x",))
    yield np.cumulative_prod, Rule(_cumulative, ("x",))
    yield np.nancumsum, Rule(partial(_scan, skips_nan=True), ("a",))
    yield np.nancumprod, Rule(partial(_scan, skips_nan=True), ("a",))
    yield np.unwrap, Rule(_unwrapped, ("p",))
    yield np.diff, Rule(_with_ends, ("a", "prepend", "append"))
    yield np.ediff1d, Rule(_flat_difference, ("ary",))
    yield np.gradient, Rule(_gradient, ("f",))
    yield np.convolve, Rule(_smoothed, ("a", "v"))
    yield np.correlate, Rule(_smoothed, ("a", "v"))


REDUCING = dict(_rules())
