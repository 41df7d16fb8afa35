"""Code that numpy does not dispatch (PIL, OpenCV, torch, a model): what stands behind its results is declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.checks import check_relation
from airflow_lineage_provider.arrays.link import GUARANTEES
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import Tracked, copied, made, plain
from airflow_lineage_provider.arrays.tracking.call import hidden_in
from airflow_lineage_provider.arrays.tracking.following import Followed
from airflow_lineage_provider.arrays.tracking.relations import along, broadcast, ruled
from airflow_lineage_provider.errors import InvalidRelation, NotTracked
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import ArrayLineage, check_word

Declared = ArrayLineage | Relation | Sequence[Relation] | Callable[..., Any]


def apply(
    function: Callable[..., Any], *arrays: Any, lineage: Declared, axis: Any = None, guarantee: str | None = None, name: str | None = None
) -> Tracked:
    """What a function gives for the values of arrays, as a tracked array whose lineage you say.

    :param function: takes as many plain arrays, which cannot be written to, and gives one, which is copied.
    :param lineage: ``"elementwise"``, each cell from those in its place, with broadcasting; ``"all"``, from all cells; ``"axis"``, from all
        along ``axis``, else from its own place; ``"cells"``, what its cells are computed from, found by following them through the
        function (`following`); a compressed relation for each array; or a rule, which makes them of the arrays' shapes.
    :param guarantee: ``exact``, ``superset`` or ``unavailable``; by default a superset for ``"all"`` and ``"axis"``, else exact.
    :param name: of the operation, in paths; the function's own by default.
    :raises NotTracked: none of the arrays is tracked, or the result is of objects, or masked; or the cells cannot be followed.
    :raises TooManyCells: there are too many to follow.
    :raises InvalidRelation: the lineage does not fit the arrays, or the result.
    """
    tracked = [one for one in arrays if isinstance(one, Tracked)]
    if not tracked:
        raise NotTracked("arrays.apply needs a tracked array among its arguments; arrays.source(name, array) makes one")
    if any(map(hidden_in, arrays)):
        raise NotTracked("arrays.apply takes tracked arrays as arguments of their own, and not in lists: stack() them")
    called = name or str(getattr(function, "__name__", "apply"))
    found = copied(called, function(*(plain(one) for one in arrays)))
    worth = guarantee or ("superset" if lineage in ("all", "axis") else "exact")
    if worth not in GUARANTEES:
        raise InvalidRelation(f"guarantee={shown(guarantee)} is not known; it can be {', '.join(GUARANTEES)}")
    if isinstance(lineage, str) and lineage == "cells":
        which = [at for at, one in enumerate(arrays) if isinstance(one, Tracked)]
        relations = Followed(function, [np.asarray(plain(one)) for one in arrays], which).relations()
    else:
        all_relations = _relations(lineage, [np.shape(plain(one)) for one in arrays], np.shape(found), axis)
        relations = [relation for one, relation in zip(arrays, all_relations, strict=True) if isinstance(one, Tracked)]
    operands = [ruled(one, relation, worth) for one, relation in zip(tracked, relations, strict=True)]
    return made(called, found, operands)


def _relations(lineage: Declared, shapes: Sequence[Shape], output: Shape, axis: Any) -> list[Relation]:
    """One for each array, checked against its shape and the result's."""
    if isinstance(lineage, str):
        check_word("lineage", lineage, ArrayLineage)
        return [_by_word(lineage, shape, output, axis) for shape in shapes]
    given = lineage(*shapes) if callable(lineage) else lineage
    found = [given] if isinstance(given, Relation) else list(given)
    wanted = [(output, shape) for shape in shapes]
    if not all(isinstance(one, Relation) for one in found) or [(one.out_shape, one.in_shape) for one in found] != wanted:
        raise InvalidRelation(f"lineage= has not one relation for each array, between its shape and the result's: {shown(wanted)}")
    for one in found:
        check_relation(one)
    return found


def _by_word(word: ArrayLineage, shape: Shape, output: Shape, axis: Any) -> Relation:
    if word == "all":
        return rules.all_to_all(shape, output)
    if word == "axis":
        return rules.across(shape, output, along(axis, len(shape)))
    found = broadcast(shape, output)
    if found.out_shape != output:
        raise InvalidRelation(f"elementwise of an array of shape {shape} gives none of shape {output}")
    return found
