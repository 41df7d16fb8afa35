"""Products of arrays: by index letters, along axes, of matrices."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, made
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import across, along, ruled
from airflow_lineage_provider.errors import NotTracked


def _made(call: Call, arrays: Sequence[Any], relations: Sequence[Relation], guarantee: str = "exact") -> Any:
    found = call.result()
    return made(call.name, found, [ruled(one, relation, guarantee) for one, relation in _tracked(arrays, relations)])


def _tracked(arrays: Sequence[Any], relations: Sequence[Relation]) -> Iterator[tuple[Tracked, Relation]]:
    return ((one, relation) for one, relation in zip(arrays, relations, strict=True) if isinstance(one, Tracked))


def _of_two(rule: Callable[[Call, Shape, Shape], Sequence[Relation]]) -> Callable[[Call], Any]:
    def product(call: Call) -> Any:
        arrays = [call.arguments[name] for name in call.rule.arrays]
        one, other = (array.shape if isinstance(array, Tracked) else np.asarray(array).shape for array in arrays)
        return _made(call, arrays, rule(call, one, other))

    return product


def _letters(one: int, other: int) -> tuple[str, str]:
    return string.ascii_letters[:one], string.ascii_letters[one : one + other]


def _dot(call: Call, one: Shape, other: Shape) -> Sequence[Relation]:
    if not one or not other:
        return rules.elementwise(one, other)
    left, right = _letters(len(one), len(other))
    return _summed(one, other, left, right, [(len(one) - 1, max(len(other) - 2, 0))])


def _inner(call: Call, one: Shape, other: Shape) -> Sequence[Relation]:
    if not one or not other:
        return rules.elementwise(one, other)
    return _summed(one, other, *_letters(len(one), len(other)), [(len(one) - 1, len(other) - 1)])


def _tensordot(call: Call, one: Shape, other: Shape) -> Sequence[Relation]:
    axes = call.get("axes", 2)
    if isinstance(axes, int | np.integer):
        pairs = [(len(one) - int(axes) + at, at) for at in range(int(axes))]
    else:
        pairs = list(zip(*(along(ends, len(shape)) for ends, shape in zip(axes, (one, other), strict=True)), strict=True))
    return _summed(one, other, *_letters(len(one), len(other)), pairs)


def _summed(one: Shape, other: Shape, left: str, right: str, pairs: Sequence[tuple[int, int]]) -> Sequence[Relation]:
    """Summed over pairs of axes, all others standing after one another in the result."""
    same = {right[there]: left[here] for here, there in pairs}
    operands = left, "".join(same.get(letter, letter) for letter in right)
    output = "".join(letter for letter in left + right if letter not in {*same, *same.values()})
    return rules.einsum(f"{operands[0]},{operands[1]}->{output}", one, other)


def _vdot(call: Call) -> Any:
    arrays = [call.arguments["a"], call.arguments["b"]]
    shapes = [array.shape if isinstance(array, Tracked) else np.asarray(array).shape for array in arrays]
    return _made(call, arrays, [rules.all_to_all(shape, ()) for shape in shapes])


def _outer(call: Call) -> Any:
    """`numpy.outer` takes arrays as they lie in memory, one cell after the other."""
    arrays = [call.arguments[name] for name in call.rule.arrays]
    if any(len(array.shape if isinstance(array, Tracked) else np.asarray(array).shape) != 1 for array in arrays):
        raise NotTracked(f"numpy.{call.name} of arrays that are no vectors has no known lineage: ravel() them")
    return _made(call, arrays, rules.outer(*(np.asarray(one.values if isinstance(one, Tracked) else one).shape for one in arrays)))


def _einsum(call: Call) -> Any:
    subscripts, *arrays = call.arguments["operands"]
    if not isinstance(subscripts, str) or "." in subscripts:
        raise NotTracked(f"numpy.einsum of a tracked array takes letters without dots: {WAYS_OUT}")
    shapes = [array.shape if isinstance(array, Tracked) else np.asarray(array).shape for array in arrays]
    return _made(call, arrays, rules.einsum(subscripts, *shapes))


def _trace(call: Call) -> Any:
    """The sum of a diagonal, as numpy takes it."""
    array = call.arguments[call.rule.arrays[0]]
    options = {name: call.arguments[name] for name in ("offset", "axis1", "axis2") if name in call.arguments}
    diagonal = np.diagonal if call.function is np.trace else np.linalg.diagonal
    return np.sum(diagonal(array, **options), axis=-1, dtype=call.get("dtype"))


def _cross(call: Call) -> Any:
    """Of vectors of three: each cell from both others, and its own stands in the answer."""
    found = np.asarray(call.result())
    operands = []
    for name in call.rule.arrays:
        array = call.tracked(name)
        if array is not None:
            if array.shape != found.shape or any(call.get(axis, -1) not in (-1, None) for axis in ("axisa", "axisb", "axisc", "axis")):
                raise NotTracked(
                    f"numpy.{call.name} of vectors of other than three cells, in the last axis, has no known lineage: {WAYS_OUT}"
                )
            operands.append(across(array, found.shape, -1))
    return made(call.name, found, operands)


def _rules() -> Iterator[tuple[Any, Rule]]:
    yield np.dot, Rule(_of_two(_dot), ("a", "b"))
    yield np.inner, Rule(_of_two(_inner), ("a", "b"))
    yield np.tensordot, Rule(_of_two(_tensordot), ("a", "b"))
    yield np.linalg.tensordot, Rule(_of_two(_tensordot), ("x1", "x2"))
    yield np.linalg.matmul, Rule(_of_two(lambda call, one, other: rules.matmul(one, other)), ("x1", "x2"))
    yield np.linalg.vecdot, Rule(_of_two(lambda call, one, other: rules.stacked(one, other, ("i", "i", ""))), ("x1", "x2"), {"axis": -1})
    yield np.vdot, Rule(_vdot, ("a", "b"))
    yield np.outer, Rule(_outer, ("a", "b"))
    yield np.linalg.outer, Rule(_outer, ("x1", "x2"))
    yield np.einsum, Rule(_einsum, ("operands",))
    yield np.trace, Rule(_trace, ("a",))
    yield np.linalg.trace, Rule(_trace, ("x",))
    yield np.cross, Rule(_cross, ("a", "b"))
    yield np.linalg.cross, Rule(_cross, ("x1", "x2"))


MULTIPLYING = dict(_rules())
