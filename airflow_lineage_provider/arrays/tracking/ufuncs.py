"""Universal functions of tracked arrays: elementwise, reduced, accumulated, outer, and those with a signature of their own (matmul)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules.spans import Span, moving_with, of_rows
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, check_aligned, check_values, made, plain, tracked_in
from airflow_lineage_provider.arrays.tracking.call import NOT_GIVEN, hidden_in
from airflow_lineage_provider.arrays.tracking.relations import all_to_all, along, broadcast, elementwise, only, reduced, ruled, scanned
from airflow_lineage_provider.arrays.tracking.results import Operand
from airflow_lineage_provider.errors import NotTracked

_INNER = {np.vecdot: ("i", "i", ""), np.matvec: ("ij", "j", "i"), np.vecmat: ("i", "ij", "j")}
"""Of ufuncs with a signature, the letters of the last axes of both operands and of the result."""


def computed(ufunc: np.ufunc, way: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a ufunc gives, called or by one of its methods.

    :raises NotTracked: by ``at``, with ``out=``, with options of no known lineage, or beside masked arrays, or labels in another order.
    """
    if way == "reduceat":  # numpy gives what is said by name in its place, too
        options = {name: value for name, value in options.items() if name != "indices"}
    check_values(f"numpy.{ufunc.__name__}", list(inputs), dict(options))
    check_aligned(f"numpy.{ufunc.__name__}", *inputs, options.get("where"))
    if way not in _WAYS:
        raise NotTracked(f"numpy.{ufunc.__name__}.{way} of a tracked array has no known lineage: {WAYS_OUT}")
    if any(one is not None for one in options.get("out", ())):
        raise NotTracked(f"numpy.{ufunc.__name__} with out= (or {ufunc.__name__} in place, as by +=) writes into an array; leave it out")
    if any(map(hidden_in, (*inputs, options.get("where")))):
        raise NotTracked(f"numpy.{ufunc.__name__} of a list with tracked arrays has no known lineage: stack() them")
    is_chosen = way == "__call__" and ufunc.signature is None and options.get("where", True) is not True
    tracked = [name for name, value in options.items() if tracked_in(value) and not (is_chosen and name == "where")]
    if tracked or "axes" in options or (way == "__call__" and ("axis" in options or (ufunc.signature and "where" in options))):
        raise NotTracked(f"numpy.{ufunc.__name__} with {', '.join(tracked) or 'where=, axis= or axes='} has no known lineage: {WAYS_OUT}")
    if is_chosen:
        return _chosen(ufunc, inputs, dict(options))
    values = getattr(ufunc, way)(*plain(tuple(inputs)), **options)
    name = ufunc.__name__ if way in ("__call__", "reduce") else f"{ufunc.__name__}.{way}"
    results = values if isinstance(values, tuple) else (values,)
    found = [made(name, one, _WAYS[way](ufunc, inputs, np.shape(one), options)) for one in results]
    return tuple(found) if isinstance(values, tuple) else found[0]


def _called(ufunc: np.ufunc, inputs: Sequence[Any], output: tuple[int, ...], options: Mapping[str, Any]) -> list[Operand]:
    if ufunc.signature is None:
        return [elementwise(one, output) for one in inputs if isinstance(one, Tracked)]
    relations = _with_signature(ufunc, np.shape(inputs[0]), np.shape(inputs[1]))
    return [ruled(one, relation) for one, relation in zip(inputs, relations, strict=True) if isinstance(one, Tracked)]


def _chosen(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """With ``where=``: what is computed where it is true. Elsewhere numpy leaves what was in its memory; here it is 0, from no cell."""
    where = options.pop("where")
    chosen = np.asarray(plain(where), dtype=np.bool_)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'where' used without 'out'")
        values = ufunc(*plain(tuple(inputs)), where=chosen, **options)
    found = []
    for one in values if isinstance(values, tuple) else (values,):
        result = np.array(one)
        mask = np.broadcast_to(chosen, result.shape)
        result[~mask] = np.zeros((), dtype=result.dtype)
        operands = [
            ruled(one, compose(only(mask, result.shape), broadcast(one.shape, result.shape))) for one in inputs if isinstance(one, Tracked)
        ]
        operands += [elementwise(where, result.shape, influence=True)] if isinstance(where, Tracked) else []
        found.append(made(ufunc.__name__, result, operands))
    return tuple(found) if isinstance(values, tuple) else found[0]


def _with_signature(ufunc: np.ufunc, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[Relation, Relation]:
    if ufunc is np.matmul:
        return rules.matmul(one, other)
    if ufunc not in _INNER:
        raise NotTracked(f"numpy.{ufunc.__name__} of a tracked array has no known lineage: {WAYS_OUT}")
    return rules.stacked(one, other, _INNER[ufunc])


def _reduced(ufunc: np.ufunc, inputs: Sequence[Any], output: tuple[int, ...], options: Mapping[str, Any]) -> list[Operand]:
    where = options.get("where", True)
    return [reduced(inputs[0], options.get("axis", 0), options.get("keepdims", False), output, where if where is not NOT_GIVEN else True)]


def _accumulated(ufunc: np.ufunc, inputs: Sequence[Any], output: tuple[int, ...], options: Mapping[str, Any]) -> list[Operand]:
    return [scanned(inputs[0], along(options.get("axis", 0), inputs[0].ndim)[0])]


def _segments(ufunc: np.ufunc, inputs: Sequence[Any], output: tuple[int, ...], options: Mapping[str, Any]) -> list[Operand]:
    """Of `reduceat`: from one position on to the next, or from the one alone where the next is no later; the last to the end."""
    array, starts = inputs[0], np.asarray(plain(inputs[1])).tolist()
    shape = np.shape(plain(array))
    axis = along(options.get("axis", 0), len(shape))[0]
    ends = [stop - 1 if start < stop else start for start, stop in zip(starts, [*starts[1:], shape[axis]], strict=True)]
    spans = [moving_with(one, side) for one, side in enumerate(shape)]
    rows = [
        (
            [(at, at) if one == axis else (0, side - 1) for one, side in enumerate(output)],
            [Span(start, end) if one == axis else span for one, span in enumerate(spans)],
        )
        for at, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    operands = [ruled(array, merge(of_rows(output, shape, rows)))] if isinstance(array, Tracked) else []
    return [*operands, *(all_to_all(one, output, influence=True) for one in inputs[1:2] if isinstance(one, Tracked))]


def _outer(ufunc: np.ufunc, inputs: Sequence[Any], output: tuple[int, ...], options: Mapping[str, Any]) -> list[Operand]:
    relations = rules.outer(np.shape(inputs[0]), np.shape(inputs[1]))
    return [ruled(one, relation) for one, relation in zip(inputs, relations, strict=True) if isinstance(one, Tracked)]


_WAYS = {"__call__": _called, "reduce": _reduced, "accumulate": _accumulated, "outer": _outer, "reduceat": _segments}
