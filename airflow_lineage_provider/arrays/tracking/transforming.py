"""Transforms and linear algebra: each cell from all along the axes that are mixed, marked as perhaps too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.tracking.array import Tracked, made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import across, broadcast, reduced, ruled
from airflow_lineage_provider.arrays.tracking.results import Operand

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


def _decomposed(call: Call, *, own: int | None = 2, of_first: Sequence[int] = ()) -> Any:
    """Matrices that are made of those of a stack, or of two stacks (``solve``): each cell from all of its own matrices.

    :param own: how many of an array's last axes are a matrix; None for all.
    :param of_first: which of several results are made of the first array alone.
    """
    found = call.result()
    results = found if isinstance(found, tuple) else (found,)
    arrays = [array for name in call.rule.arrays if (array := call.arguments[name]) is not None]
    parts = [
        made(call.name, one, _of_stacks(arrays[: 1 if at in of_first else None], np.shape(one), own)) for at, one in enumerate(results)
    ]
    if not isinstance(found, tuple):
        return parts[0]
    return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)


def _of_stacks(arrays: Sequence[Any], output: Shape, own: int | None) -> Iterator[Operand]:
    """Of the tracked ones; the stacks are broadcast, a vector is a matrix for all."""
    ranks = [len(np.shape(one)) for one in arrays]
    last = [rank if own is None else min(own, rank) for rank in ranks]
    stacked = max(rank - one for rank, one in zip(ranks, last, strict=True))
    for array, own_axes in zip(arrays, last, strict=True):
        if isinstance(array, Tracked):
            relation = rules.reduction(array.shape, tuple(range(array.ndim - own_axes, array.ndim)))
            wide = relation.out_shape + (1,) * (len(output) - stacked)
            relation = compose(rules.reshape(relation.out_shape, wide), relation)
            yield ruled(array, compose(broadcast(wide, output), relation), "superset")


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
    for function in (np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.svd, np.linalg.qr):
        yield function, Rule(_decomposed, ("a",))
    yield np.linalg.svdvals, Rule(_decomposed, ("x",))
    yield np.linalg.solve, Rule(_decomposed, ("a", "b"))
    yield np.linalg.lstsq, Rule(partial(_decomposed, of_first=(2, 3)), ("a", "b"))
    yield np.linalg.tensorinv, Rule(partial(_decomposed, own=None), ("a",))
    yield np.linalg.tensorsolve, Rule(partial(_decomposed, own=None), ("a", "b"))


TRANSFORMING = dict(_rules())
