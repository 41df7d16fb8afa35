"""Arrays as sets of values: those of one, of two, of both. A value is told as the first cell that has it, and what both have of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.tracking.array import Tracked, made, plain
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.counting import each_of
from airflow_lineage_provider.arrays.tracking.matching import check_taken, first_of
from airflow_lineage_provider.arrays.tracking.moving import moved_operands
from airflow_lineage_provider.arrays.tracking.relations import all_to_all
from airflow_lineage_provider.arrays.tracking.results import Operand


def _set(call: Call, *, of: Sequence[slice] = (slice(None),)) -> Any:
    """The values, each of the first cell that has it; where they are, and how often, all tell.

    With an axis they are whole lines, or tables, along it.

    :param of: in which of the arrays they are looked for, one after the other; of each such group there is a cell.
    """
    given = call.result()
    arrays = [call.arguments[name] for name in call.rule.arrays]
    found, *others = given if isinstance(given, tuple) else (given,)
    deciding = [one for one in arrays if isinstance(one, Tracked)]
    moved = [one for some in of for one in _first(arrays[some], np.asarray(found))] if call.get("axis") is None else _lines(call, found)
    values = made(call.name, found, [*moved, *(all_to_all(one, np.shape(found), influence=True) for one in deciding)])
    if not isinstance(given, tuple):
        return values
    told = [made(call.name, one, [all_to_all(array, np.shape(one)) for array in deciding]) for one in others]
    parts = iter([values, *told])
    return each_of(given, lambda _: next(parts))


def _first(arrays: list[Any], found: np.ndarray[Any, Any]) -> list[Operand]:
    """The tracked ones of the arrays that the values are looked for in, one array after the other."""
    flat = np.concatenate([np.reshape(plain(one), -1) for one in arrays])
    first = cache(partial(first_of, flat, found))
    return moved_operands(arrays, lambda *numbers: np.concatenate([one.reshape(-1) for one in numbers])[first()], found.shape)


def _lines(call: Call, found: np.ndarray[Any, Any]) -> list[Operand]:
    """Of `unique` along an axis: numpy tells where each line stands first, and it is looked whether it does."""
    array, axis = call.arguments["ar"], call.get("axis")

    @cache
    def first() -> Any:
        places = np.unique(array.values, return_index=True, axis=axis, equal_nan=call.get("equal_nan", True))[1]
        check_taken(np.take(array.values, places, axis), found)
        return places

    return moved_operands([array], lambda numbers: np.take(numbers, first(), axis), found.shape)


def _rules() -> Iterator[tuple[Any, Rule]]:
    function: Any
    yield np.unique, Rule(_set, ("ar",), {"sorted": True})
    for function in (np.unique_values, np.unique_counts, np.unique_inverse, np.unique_all):
        yield function, Rule(_set, ("x",))
    for function in (np.union1d, np.setxor1d):
        yield function, Rule(_set, ("ar1", "ar2"))
    yield np.intersect1d, Rule(partial(_set, of=(slice(1), slice(1, 2))), ("ar1", "ar2"))
    yield np.setdiff1d, Rule(partial(_set, of=(slice(1),)), ("ar1", "ar2"))


SETS = dict(_rules())
