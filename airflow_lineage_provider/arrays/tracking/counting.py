"""Functions that count, correlate and fit, and those that hand parts of an array to code of somebody's: each cell from all that is read.

Where it is known which part a cell is made from it is told; else it is all, marked as perhaps too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import Tracked, copied, made, tracked_in
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.reducing import first_array
from airflow_lineage_provider.arrays.tracking.relations import all_to_all, along, broadcast, elementwise, only, ruled


def each_of(found: Any, part: Callable[[Any], Any]) -> Any:
    """The same with something made of each array in it, as functions give one, or several in a tuple, a named one or a list."""
    if isinstance(found, list | tuple):
        parts = [each_of(one, part) for one in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return part(found)


def from_all(call: Call) -> Any:
    """Each cell of each result from all cells of all arrays. Some give what they are given (bins), or what somebody's function gives."""
    arrays = [one for name in call.rule.arrays for one in tracked_in(call.arguments.get(name))]
    return each_of(
        call.result(), lambda one: made(call.name, copied(call.name, one), [all_to_all(array, np.shape(one)) for array in arrays])
    )


def _covariance(call: Call, *, guarantee: str) -> Any:
    """Of each two variables from both: the rows of a matrix, or its columns. What weighs observations may leave some out."""
    weights = [call.get(name) for name in ("fweights", "aweights")]
    if call.get("y") is not None or any(isinstance(one, Tracked) for one in weights):
        return from_all(call)
    array, found = first_array(call), np.asarray(call.result())
    if any(one is not None for one in weights):
        guarantee = "superset"
    if not found.ndim:
        return made(call.name, found, [all_to_all(array, (), guarantee)])
    own = rules.reduction(array.shape, 1 if call.get("rowvar", True) else 0)
    return made(
        call.name, found, [ruled(array, one, guarantee) for one in (_spread(own, (0,), found.shape), _spread(own, (1,), found.shape))]
    )


def _spread(own: Relation, kept: tuple[int, ...], output: Shape) -> Relation:
    """Along all axes of an output but those that are kept every cell is the same."""
    wide = tuple(side if axis in kept else 1 for axis, side in enumerate(output))
    return compose(broadcast(wide, output), compose(rules.reshape(own.out_shape, wide), own))


def _along_axis(call: Call) -> Any:
    """Whatever the function makes of a line stands in the line's place; which of its cells it reads nobody knows."""
    array, found = first_array(call), np.asarray(call.result())
    axis = along(call.arguments["axis"], array.ndim)[0]
    inner = range(axis, axis + found.ndim - array.ndim + 1)
    kept = tuple(one for one in range(found.ndim) if one not in inner)
    return made(call.name, found, [ruled(array, _spread(rules.reduction(array.shape, axis), kept, found.shape), "superset")])


def _powers(call: Call) -> Any:
    """Of `vander`: a row for each cell, of its powers, the nought of which is 1 whatever it is."""
    array, found = first_array(call), np.asarray(call.result())
    powers = np.arange(found.shape[1]) if call.get("increasing") else np.arange(found.shape[1])[::-1]
    own = _spread(broadcast(array.shape, array.shape), (0,), found.shape)
    return made(call.name, found, [ruled(array, compose(only(powers > 0, found.shape), own))])


def _of_polynomial(call: Call) -> Any:
    """Of `polyval`: from the point, and from all coefficients."""
    found, points, polynomial = np.asarray(call.result()), call.tracked("x"), call.tracked("p")
    operands = [] if points is None else [elementwise(points, found.shape)]
    return made(call.name, found, [*operands, *([] if polynomial is None else [all_to_all(polynomial, found.shape, "exact")])])


def _rules() -> Iterator[tuple[Any, Rule]]:
    function: Any
    yield np.histogram, Rule(from_all, ("a", "weights"))
    yield np.histogram_bin_edges, Rule(from_all, ("a", "weights"))
    yield np.histogram2d, Rule(from_all, ("x", "y", "weights"))
    yield np.histogramdd, Rule(from_all, ("sample", "weights"), in_lists=True)
    yield np.bincount, Rule(from_all, ("x", "weights"))
    yield np.cov, Rule(partial(_covariance, guarantee="exact"), ("m", "y", "fweights", "aweights"))
    yield np.corrcoef, Rule(partial(_covariance, guarantee="superset"), ("x", "y"))
    yield np.apply_along_axis, Rule(_along_axis, ("arr",))
    yield np.apply_over_axes, Rule(from_all, ("a",))
    yield np.vander, Rule(_powers, ("x",))
    yield np.polyval, Rule(_of_polynomial, ("p", "x"))
    yield np.polyfit, Rule(from_all, ("x", "y", "w"))
    yield np.poly, Rule(from_all, ("seq_of_zeros",))
    for function in (np.roots, np.polyder, np.polyint):
        yield function, Rule(from_all, ("p",))
    for function in (np.polyadd, np.polysub, np.polymul):
        yield function, Rule(from_all, ("a1", "a2"))
    yield np.polydiv, Rule(from_all, ("u", "v"))


COUNTING = dict(_rules())
