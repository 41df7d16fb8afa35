"""Transforms and linear algebra: each cell from all along the axes that are mixed, marked as perhaps too many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.tracking.array import Tracked, made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import across, reduced

_MATRIX = (-2, -1)


def _along_axis(call: Call) -> Any:
    return _mixed(call, call.get("axis", -1))


def _along_axes(call: Call) -> Any:
    array = call.arguments["a"]
    axes, sides = call.get("axes"), call.get("s")
    # Where sizes are given without axes, numpy takes the last ones.
    return _mixed(call, axes if axes is not None else tuple(range(-len(sides), 0)) if sides is not None else tuple(range(array.ndim)))


def _mixed(call: Call, axes: Any) -> Any:
    array = call.arguments[call.rule.arrays[0]]
    assert isinstance(array, Tracked)
    found = np.asarray(call.result())
    return made(call.name, found, [across(array, found.shape, axes)])


def _of_matrix(call: Call) -> Any:
    """One number of each matrix of a stack, or several such."""
    array = call.arguments[call.rule.arrays[0]]
    found = call.result()
    parts = [
        made(call.name, one, [reduced(array, _MATRIX, False, np.shape(one), guarantee="superset")])
        for one in (found if isinstance(found, tuple) else (found,))
    ]
    return tuple(parts) if isinstance(found, tuple) else parts[0]


def _rules() -> Iterator[tuple[Any, Rule]]:
    function: Any
    fft = np.fft
    for function in (fft.fft, fft.ifft, fft.rfft, fft.irfft, fft.hfft, fft.ihfft):
        yield function, Rule(_along_axis, ("a",))
    for function in (fft.fft2, fft.ifft2, fft.rfft2, fft.irfft2, fft.fftn, fft.ifftn, fft.rfftn, fft.irfftn):
        yield function, Rule(_along_axes, ("a",))
    for function in (np.linalg.inv, np.linalg.pinv, np.linalg.cholesky, np.linalg.matrix_power):
        yield function, Rule(partial(_mixed, axes=_MATRIX), ("a",))
    yield np.linalg.det, Rule(_of_matrix, ("a",))
    yield np.linalg.slogdet, Rule(_of_matrix, ("a",))
    yield np.linalg.cond, Rule(_of_matrix, ("x",))
    yield np.linalg.matrix_rank, Rule(_of_matrix, ("A",))


TRANSFORMING = dict(_rules())
