"""Functions that order cells, or choose among them by their values: the cell that moved, and those that decided have influence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.tracking.array import Tracked, made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.matching import matched
from airflow_lineage_provider.arrays.tracking.moving import moved_operands
from airflow_lineage_provider.arrays.tracking.relations import across, all_to_all, along, is_flat, ruled


def _ordered(call: Call) -> Any:
    """Sorted along an axis, or flat where it is None: numpy's own result, each cell of it from the one whose value it has."""
    array = _array(call)
    axis, found = call.get("axis", -1), np.asarray(call.result())
    values, own = (array.values.reshape(-1), 0) if axis is None else (array.values, axis)
    order = cache(partial(matched, values, found, own))
    if axis is None:
        operands = moved_operands([array], lambda numbers: numbers.reshape(-1)[order()], found.shape)
        return made(call.name, found, [*operands, all_to_all(array, found.shape, influence=True)])
    operands = moved_operands([array], lambda numbers: np.take_along_axis(numbers, order(), axis), found.shape)
    return made(call.name, found, [*operands, across(array, found.shape, axis, influence=True)])


def _places(call: Call) -> Any:
    """Where cells go is computed from all that are compared."""
    array = _array(call)
    found = np.asarray(call.result())
    axis = call.get("axis", -1)
    return made(call.name, found, [all_to_all(array, found.shape) if is_flat(array, axis) else across(array, found.shape, axis)])


def _trimmed(call: Call) -> Any:
    """What stays is a slice; where it begins and ends all cells decide."""
    array = _array(call)
    found = np.asarray(call.result())
    influence = all_to_all(array, found.shape, influence=True)
    if not found.size:
        return made(call.name, found, [influence])
    trim, counted = call.get("trim", "fb").lower(), np.argwhere(array.values)
    kept = [slice(None)] * array.ndim
    for axis in along(call.get("axis"), array.ndim):
        first = int(counted[:, axis].min()) if "f" in trim else 0
        kept[axis] = slice(first, first + found.shape[axis])
    return made(call.name, found, [ruled(array, rules.sliced(array.shape, kept)), influence])


def _found(call: Call) -> Any:
    """Positions of cells that are not zero."""
    array = _array(call)
    found = call.result()
    parts = [made(call.name, one, [all_to_all(array, np.shape(one))]) for one in (found if isinstance(found, tuple) else (found,))]
    return tuple(parts) if isinstance(found, tuple) else parts[0]


def _array(call: Call) -> Tracked:
    array = call.arguments[call.rule.arrays[0]]
    assert isinstance(array, Tracked)
    return array


def _rules() -> Iterator[tuple[Any, Rule]]:
    yield np.sort, Rule(_ordered, ("a",), {"order": None})
    yield np.partition, Rule(_ordered, ("a",), {"order": None})
    yield np.argsort, Rule(_places, ("a",), {"order": None})
    yield np.argpartition, Rule(_places, ("a",), {"order": None})
    yield np.trim_zeros, Rule(_trimmed, ("filt",))
    for function in (np.nonzero, np.argwhere, np.flatnonzero):
        yield function, Rule(_found, ("a",))


ORDERING = dict(_rules())
