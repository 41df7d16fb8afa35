"""Cells of a tracked array taken by an index: slices, positions, arrays of them, masks."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.tracking.array import Tracked, check_aligned, check_values, is_mask, made, owned, plain, tracked_in
from airflow_lineage_provider.arrays.tracking.moving import moved_operands
from airflow_lineage_provider.arrays.tracking.relations import all_to_all, ruled

NAME = "index"
"""The operation's, in the names of paths."""


def indexed(array: Tracked, index: Any) -> Tracked:
    """``array[index]``, for every index that numpy takes. By a tracked one, its cells have influence.

    :raises NotTracked: the index is a masked array, or a mask with labels in another order.
    """
    check_values(NAME, index)
    check_aligned(NAME, *(one for one in (index if type(index) is tuple else (index,)) if is_mask(one)))
    chosen = plain(owned(index))
    found = np.asarray(array.values[chosen])
    basic = _basic(chosen, array.ndim)
    if basic is not None:
        return made(NAME, found, [ruled(array, rules.sliced(array.shape, basic))])
    operands = moved_operands([array], lambda numbers: numbers[chosen], found.shape)
    return made(NAME, found, [*operands, *(all_to_all(one, found.shape, influence=True) for one in tracked_in(index))])


def _basic(index: Any, rank: int) -> Sequence[slice | int | None] | None:
    """An index of slices of step 1 or −1, positions and new axes, completed; None where it is another."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(one, bool | np.bool_) for one in parts) or not all(_is_basic(one) for one in parts):
        return None
    missing = rank - sum(one is not None and one is not Ellipsis for one in parts)
    place = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    whole: list[Any] = [*parts[:place], *[slice(None)] * missing, *parts[place + 1 :]]
    return [one if one is None or isinstance(one, slice) else operator.index(one) for one in whole]


def _is_basic(one: Any) -> bool:
    if isinstance(one, slice):
        return one.step is None or operator.index(one.step) in (1, -1)
    return one is None or one is Ellipsis or isinstance(one, int | np.integer)
