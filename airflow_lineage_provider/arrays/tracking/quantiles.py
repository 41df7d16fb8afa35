"""Medians and quantiles: the one or two cells between which they lie; the others decided which these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.grouping import Bools, Ints
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import Values, made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.reducing import first_array
from airflow_lineage_provider.arrays.tracking.relations import along, reduced
from airflow_lineage_provider.arrays.tracking.results import Operand, later

_PLAIN: dict[Any, Callable[..., Any]] = {
    np.percentile: np.percentile, np.nanpercentile: np.percentile, np.quantile: np.quantile, np.nanquantile: np.quantile,
}  # fmt: skip
"""What is asked which of so many sorted cells it reads, none of them missing."""


def _quantiles(call: Call, *, skips_nan: bool) -> Any:
    array = first_array(call)
    found = np.asarray(call.result())
    deciding = reduced(array, call.get("axis"), call.get("keepdims", False), found.shape, influence=True)
    shape, values = found.shape, array.values
    return made(call.name, found, [Operand(array.result, later(lambda: _read(call, values, shape, skips_nan))), deciding])


def _read(call: Call, array: Values, output: tuple[int, ...], skips_nan: bool) -> Relation:
    """The cells that each one of the result is interpolated between; of a range with missing ones that are not skipped, these."""
    axes = along(call.get("axis"), array.ndim)
    numbers = _lines(np.arange(array.size).reshape(array.shape), axes)
    values = _lines(array, axes)
    ordered = np.take_along_axis(numbers, np.argsort(values, axis=-1, kind="stable"), axis=-1)
    missing: Bools = np.asarray(np.isnan(values)) if values.dtype.kind in "fcmM" else np.zeros(values.shape, dtype=np.bool_)
    counts = values.shape[1] - missing.sum(axis=1) if skips_nan else np.full(len(values), values.shape[1])
    spoiled: Bools = np.asarray(missing.any(axis=1)) & (not skips_nan)
    pairs = []
    for at, reading in enumerate(_readings(call, array.dtype)):
        for count in np.unique(counts[~spoiled & (counts > 0)]).tolist():
            lines = np.flatnonzero(~spoiled & (counts == count))
            for place in sorted(set(reading(count))):
                pairs.append(np.stack([at * len(values) + lines, ordered[lines, place]]))
        lines, places = np.nonzero(missing & spoiled[:, None])
        pairs.append(np.stack([at * len(values) + lines, numbers[lines, places]]))
    return _relation(np.concatenate(pairs, axis=1), output, array.shape)


def _lines(values: Values, axes: tuple[int, ...]) -> Values:
    """(ranges, cells): what is reduced together, in the order of the result's cells."""
    last = np.moveaxis(values, axes, tuple(range(-len(axes), 0))) if axes else values
    kept = values.ndim - len(axes)
    return last.reshape(int(np.prod(last.shape[:kept])), int(np.prod(last.shape[kept:])))


def _readings(call: Call, dtype: np.dtype[Any]) -> Iterator[Callable[[int], tuple[int, int]]]:
    """Of each quantile, which of so many sorted cells are read: the first and the last."""
    if call.function in (np.median, np.nanmedian):
        yield lambda count: ((count - 1) // 2, count // 2)
        return
    function, method = _PLAIN[call.function], call.get("method", "linear")
    for one in np.asarray(call.arguments["q"]).reshape(-1):
        yield partial(_places, partial(function, q=one, method=method), dtype=dtype if dtype.kind == "f" else np.dtype(np.float64))


def _places(function: Callable[..., Any], count: int, *, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Numpy's own function over steps from 0 to 1 tells how much the cells behind a step weigh, however little."""
    at = np.arange(count)
    low = high = min(int(function(at.astype(dtype))), count - 1)
    while low > 0 and function((at >= low).astype(dtype)) < 1:
        low -= 1
    while high < count - 1 and function((at > high).astype(dtype)) > 0:
        high += 1
    return low, high


def _relation(pairs: Ints, output: tuple[int, ...], shape: tuple[int, ...]) -> Relation:
    """Of pairs of numbers of cells."""
    columns = [
        np.array(np.unravel_index(one, sides), dtype=np.int64).reshape(len(sides), len(one)) if sides else np.zeros((0, len(one)), np.int64)
        for one, sides in zip(pairs, (output, shape), strict=True)
    ]
    return compress(np.concatenate(columns).T, output, shape)


def _rules() -> Iterator[tuple[Any, Rule]]:
    for function in (np.median, np.percentile, np.quantile):
        yield function, Rule(partial(_quantiles, skips_nan=False), ("a",), {"weights": None})
    for function in (np.nanmedian, np.nanpercentile, np.nanquantile):
        yield function, Rule(partial(_quantiles, skips_nan=True), ("a",), {"weights": None})


QUANTILES = dict(_rules())
