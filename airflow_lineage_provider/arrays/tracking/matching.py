"""Which cells values were taken from, found by the values themselves.

Of two ways to the same order (`numpy.partition` and `numpy.argpartition`, a sort by vectors and one by comparisons) numpy promises only
what the values say, so the cells behind a result are looked up in the result, and in no second run.
"""

from __future__ import annotations

import numpy as np

from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Values
from airflow_lineage_provider.errors import NotTracked


def matched(values: Values, found: Values, axis: int) -> Ints:
    """Of each cell of a result that has the same values in another order along an axis, the position of the one that it is.

    Equal values are taken in their order, as a stable sort takes them.

    :raises NotTracked: it has other values.
    """
    order = np.empty(found.shape, dtype=np.int64)
    np.put_along_axis(order, _ranking(found, axis), _ranking(values, axis), axis)
    check_taken(np.take_along_axis(values, order, axis), found)
    return order


def first_of(values: Values, found: Values) -> Ints:
    """Of each of some values, the position of the first cell that has it; one that stands there several times has one cell after the other.

    :param values: one axis, and so has ``found``, whose values are among them.
    :raises NotTracked: one is not.
    """
    both = np.concatenate([found, values])
    order = _ranking(both, 0)
    begins = np.flatnonzero(np.concatenate([[True], ~_same(both[order[1:]], both[order[:-1]])]))
    groups = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(both)))
    asked = np.flatnonzero(order < len(found))
    counts = np.bincount(groups[asked], minlength=len(begins))
    first = np.empty(len(found), dtype=np.int64)
    # The ranking is stable, so in a group those that are looked for stand before the cells.
    first[order[asked]] = order[np.minimum(asked + counts[groups[asked]], len(both) - 1)]
    check_taken(both[first], found)
    return first - len(found)


def check_taken(told: Values, found: Values) -> None:
    """That the cells have the values that they are told to be.

    :raises NotTracked: they have not.
    """
    if not _same(told, found).all():
        raise NotTracked(f"the result has values that no cell has, so it is not known which cells they are: {WAYS_OUT}")


def _ranking(values: Values, axis: int) -> Ints:
    return np.argsort(values, axis, kind="stable")


def _same(one: Values, other: Values) -> Values:
    """Missing numbers are the same; so are 0.0 and -0.0, of which a sort by vectors makes more or fewer than there were."""
    if one.dtype.kind == "c":
        return np.asarray(_same(one.real, other.real) & _same(one.imag, other.imag))
    return np.asarray((one == other) | ((one != one) & (other != other)))
