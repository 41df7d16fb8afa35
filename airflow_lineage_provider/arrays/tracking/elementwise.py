"""Functions that are no ufuncs and compute each cell from those in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, Values, made, plain
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import all_to_all, broadcast, elementwise, only, ruled
from airflow_lineage_provider.errors import NotTracked


def _elementwise(call: Call) -> Any:
    found = call.result()
    tracked = [array for name in call.rule.arrays if (array := call.tracked(name)) is not None]
    deciding = [all_to_all(one, np.shape(found), influence=True) for one in call.deciding]
    return made(call.name, found, [*(elementwise(one, np.shape(found)) for one in tracked), *deciding])


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


def _interpolated(call: Call) -> Any:
    """From the point, and from both neighbours of it or, beyond all, from the nearest; the other places were compared with it."""
    points, found = call.arguments["x"], np.asarray(call.result())
    operands = [elementwise(points, found.shape)] if isinstance(points, Tracked) else []
    places, known = (call.tracked(name) for name in ("xp", "fp"))
    if places is not None or known is not None:
        if call.get("period") is not None:
            raise NotTracked(f"numpy.interp of tracked xp or fp with period= has no known lineage: {WAYS_OUT}")
        of_places, of_known = _neighbours(call, np.asarray(plain(points)).reshape(-1), found.shape)
        operands += [] if places is None else [ruled(places, of_places), all_to_all(places, found.shape, influence=True)]
        operands += [] if known is None else [ruled(known, of_known)]
    return made(call.name, found, operands)


def _neighbours(call: Call, points: Values, output: Shape) -> tuple[Relation, Relation]:
    """The places between which each point lies, and the values that are read there or, for those outside, at the end."""
    places = np.asarray(plain(call.arguments["xp"]))
    if (np.diff(places) < 0).any():
        raise NotTracked("numpy.interp of tracked xp or fp whose places are not in order has no known lineage: sort them")
    before = np.searchsorted(places, points, side="right") - 1
    cell, last = np.arange(len(points)), len(places) - 1
    between = (before >= 0) & (before < last)
    low = (before < 0) & (call.get("left") is None)
    # What is no number lies behind all places, and reads none.
    high = (before == last) & ((points == places[-1]) | ((call.get("right") is None) & (points == points)))
    pairs = np.concatenate([np.stack([cell, before + step], axis=1)[between] for step in (0, 1)])
    ends = [np.stack([cell, np.full_like(cell, at)], axis=1)[where] for at, where in ((0, low), (last, high))]
    shape = rules.reshape((len(points),), output)
    inside, read = (compress(one, (len(points),), places.shape) for one in (pairs, np.concatenate([pairs, *ends])))
    return compose(shape, inside), compose(shape, read)


def _rules() -> Iterator[tuple[Any, Rule]]:
    by_names: dict[tuple[str, ...], tuple[Any, ...]] = {
        ("a",): (np.round, np.around, np.real_if_close),
        ("val",): (np.real, np.imag),
        ("z",): (np.angle,),
        ("x",): (np.fix, np.sinc, np.i0, np.isposinf, np.isneginf, np.iscomplex, np.isreal, np.astype),
        ("a", "b"): (np.isclose,),
    }
    for names, functions in by_names.items():
        for function in functions:
            yield function, Rule(_elementwise, names)
    # Where where= is false numpy leaves what was in its memory.
    yield np.clip, Rule(_elementwise, ("a", "a_min", "a_max", "min", "max"), {"where": True})
    yield np.nan_to_num, Rule(_elementwise, ("x",), {"copy": True})
    yield np.where, Rule(_where, ("condition", "x", "y"))
    yield np.digitize, Rule(_elementwise, ("x",), deciding=("bins",))
    yield np.searchsorted, Rule(_elementwise, ("v",), deciding=("a", "sorter"))
    yield np.isin, Rule(_elementwise, ("element",), deciding=("test_elements",))
    yield np.interp, Rule(_interpolated, ("x", "xp", "fp"))


ELEMENTWISE = dict(_rules())
