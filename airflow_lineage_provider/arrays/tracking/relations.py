"""The operands that operations on tracked arrays have, as the rules tell them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape, from_mask
from airflow_lineage_provider.arrays.compose import compose, restrict
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import Tracked, Values
from airflow_lineage_provider.arrays.tracking.call import NOT_GIVEN
from airflow_lineage_provider.arrays.tracking.results import Operand, whole


def ruled(array: Tracked, relation: Relation, guarantee: str = "exact", *, influence: bool = False) -> Operand:
    """An operand whose relation is known."""
    return Operand(array.result, whole(relation), guarantee, influence, relation)


def elementwise(array: Tracked, output: Shape, guarantee: str = "exact", *, influence: bool = False) -> Operand:
    """Each cell of the result from the cell in its place, with broadcasting."""
    return ruled(array, broadcast(array.shape, output), guarantee, influence=influence)


def broadcast(shape: Shape, output: Shape) -> Relation:
    """Of an array of one shape that is broadcast to another."""
    return rules.elementwise(shape, output)[0]


def all_to_all(array: Tracked, output: Shape, guarantee: str = "superset", *, influence: bool = False) -> Operand:
    """Each cell of the result from all cells."""
    return ruled(array, rules.all_to_all(array.shape, output), guarantee, influence=influence)


def across(array: Tracked, output: Shape, axes: Any, guarantee: str = "superset", *, influence: bool = False) -> Operand:
    """Each cell of the result from all cells along some axes, whose lengths may be others in the result."""
    return ruled(array, rules.across(array.shape, output, along(axes, len(array.shape))), guarantee, influence=influence)


def along(axes: Any, rank: int) -> tuple[int, ...]:
    """An ``axis`` of numpy's functions as positions: one, several, or None for all. Of no axes numpy takes 0 and -1 for none."""
    if axes is None or not rank:
        return tuple(range(rank))
    return tuple(operator.index(one) % rank for one in (axes if isinstance(axes, Sequence) else [axes]))


def is_flat(array: Tracked, axis: Any) -> bool:
    """Whether numpy takes the array as one of one axis: none is given, or it has none (`along`)."""
    return axis is None or not array.ndim


def reduced(
    array: Tracked, axes: Any, keepdims: Any, output: Shape, counts: Any = True, guarantee: str = "exact", *, influence: bool = False
) -> Operand:
    """Of a sum, mean, maximum, … along some axes; further axes of the output come first (percentiles).

    :param keepdims: what numpy takes for true, or false.
    :param counts: a mask of the cells that count, broadcast; True for all.
    """
    relation = rules.reduction(array.shape, along(axes, array.ndim), keepdims=is_true(keepdims))
    if counts is not True:
        relation = compose(relation, only(counts, array.shape))
    if relation.out_shape != output:
        relation = compose(broadcast(relation.out_shape, output), relation)
    return ruled(array, relation, guarantee, influence=influence)


def is_true(option: Any) -> bool:
    """Of an option that may not be given."""
    return option is not NOT_GIVEN and bool(option)


def only(mask: Values, shape: Shape) -> Relation:
    """Each cell from itself where the mask, broadcast, is true, and from nothing elsewhere."""
    return restrict(broadcast(shape, shape), from_mask(np.broadcast_to(np.asarray(mask, dtype=np.bool_), shape)))


def scanned(array: Tracked, axis: Any, counts: Any = True, *, influence: bool = False) -> Operand:
    """Of a running sum along an axis, or over all cells in C order where it is None.

    :param counts: as of `reduced`.
    """
    flat = is_flat(array, axis)
    shape = (array.size,) if flat else array.shape
    relation = rules.scan(shape, 0 if flat else along(axis, array.ndim)[0])
    if flat and array.ndim != 1:
        relation = compose(relation, rules.reshape(array.shape, shape))
    return ruled(array, relation if counts is True else compose(relation, only(counts, array.shape)), influence=influence)
