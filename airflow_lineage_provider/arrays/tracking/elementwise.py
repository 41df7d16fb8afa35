"""Functions that are no ufuncs and compute each cell from those in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.tracking.array import made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import all_to_all, broadcast, elementwise, only, ruled


def _elementwise(call: Call) -> Any:
    found = call.result()
    tracked = [array for name in call.rule.arrays if (array := call.tracked(name)) is not None]
    return made(call.name, found, [elementwise(one, np.shape(found)) for one in tracked])


def _where(call: Call) -> Any:
    """The cell that was chosen; what it was chosen by has influence."""
    if call.get("x") is None:
        found = call.result()
        return tuple(made("nonzero", one, [all_to_all(call.arguments["condition"], np.shape(one))]) for one in found)
    found = np.asarray(call.result())
    condition = call.tracked("condition")
    chosen = np.asarray(call.arguments["condition"] if condition is None else condition.values, dtype=np.bool_)
    operands = [] if condition is None else [elementwise(condition, found.shape, influence=True)]
    for name, mask in (("x", chosen), ("y", ~chosen)):
        array = call.tracked(name)
        if array is not None:
            operands.append(ruled(array, compose(only(mask, found.shape), broadcast(array.shape, found.shape))))
    return made(call.name, found, operands)


def _rules() -> Iterator[tuple[Any, Rule]]:
    by_names: dict[tuple[str, ...], tuple[Any, ...]] = {
        ("a", "a_min", "a_max", "min", "max"): (np.clip,),
        ("a",): (np.round, np.around, np.real_if_close),
        ("val",): (np.real, np.imag),
        ("z",): (np.angle,),
        ("x",): (np.nan_to_num, np.fix, np.sinc, np.i0, np.isposinf, np.isneginf, np.iscomplex, np.isreal, np.astype),
        ("a", "b"): (np.isclose,),
    }
    for names, functions in by_names.items():
        for function in functions:
            yield function, Rule(_elementwise, names)
    yield np.where, Rule(_where, ("condition", "x", "y"))
    yield np.digitize, Rule(_elementwise, ("x",))
    yield np.isin, Rule(_elementwise, ("element",))
    yield np.interp, Rule(_elementwise, ("x",))


ELEMENTWISE = dict(_rules())
