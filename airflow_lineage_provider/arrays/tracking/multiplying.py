"""Products of arrays: by index letters, along axes, of matrices."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.compose import compose
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.rules.spans import Span, moving_with, of_rows
from airflow_lineage_provider.arrays.tracking.array import WAYS_OUT, Tracked, made, plain
from airflow_lineage_provider.arrays.tracking.call import Call, Rule
from airflow_lineage_provider.arrays.tracking.relations import along, ruled
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


def _vecdot(call: Call) -> Any:
    """Along the last axis, to which another is moved of each."""
    arrays, axis = [call.arguments[name] for name in call.rule.arrays], call.get("axis", -1)
    return np.vecdot(*(one if axis == -1 else np.moveaxis(one, axis, -1) for one in arrays))


def _vdot(call: Call) -> Any:
    arrays = [call.arguments["a"], call.arguments["b"]]
    shapes = [array.shape if isinstance(array, Tracked) else np.asarray(array).shape for array in arrays]
    return _made(call, arrays, [rules.all_to_all(shape, ()) for shape in shapes])


def _outer(call: Call) -> Any:
    """`numpy.outer` takes arrays as they lie in memory, one cell after the other."""
    arrays = [call.arguments[name] for name in call.rule.arrays]
    shapes = [np.shape(plain(one)) for one in arrays]
    flat = [(math.prod(shape),) for shape in shapes]
    relations = [compose(one, rules.reshape(shape, own)) for one, shape, own in zip(rules.outer(*flat), shapes, flat, strict=True)]
    return _made(call, arrays, relations)


def _einsum(call: Call) -> Any:
    subscripts, *arrays = call.arguments["operands"]
    if not isinstance(subscripts, str):
        raise NotTracked(f"numpy.einsum of a tracked array takes letters in one text: {WAYS_OUT}")
    shapes = [np.shape(plain(array)) for array in arrays]
    return _made(call, arrays, rules.einsum(_without_dots(subscripts, shapes), *shapes))


def _without_dots(subscripts: str, shapes: Sequence[Shape]) -> str:
    """Letters in place of the dots, which stand for as many axes as an operand has besides, the last ones of the most that one has."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    operands = inputs.split(",")
    if "..." not in subscripts or len(operands) != len(shapes):
        return subscripts
    ranks = [len(shape) - len(one) + 3 for one, shape in zip(operands, shapes, strict=True) if "..." in one]
    free = [one for one in string.ascii_letters if one not in subscripts][: max(ranks, default=0)]
    if not arrow:
        output = "..." + "".join(sorted(one for one in set(inputs) - set(",.") if inputs.count(one) == 1))
    written = [
        one.replace("...", "".join(free[len(free) - (len(shape) - len(one) + 3) :])) if "..." in one else one
        for one, shape in zip(operands, shapes, strict=True)
    ]
    return f"{','.join(written)}->{output.replace('...', ''.join(free))}"


def _trace(call: Call) -> Any:
    """The sum of a diagonal, as numpy takes it."""
    array = call.arguments[call.rule.arrays[0]]
    options = {name: call.arguments[name] for name in ("offset", "axis1", "axis2") if name in call.arguments}
    diagonal = np.diagonal if call.function is np.trace else np.linalg.diagonal
    return np.sum(diagonal(array, **options), axis=-1, dtype=call.get("dtype"))


def _kron(call: Call, one: Shape, other: Shape) -> Sequence[Relation]:
    """Every cell of the one with every cell of the other, in blocks."""
    rank = max(len(one), len(other))
    padded = [(1,) * (rank - len(shape)) + shape for shape in (one, other)]
    letters = _letters(rank, rank)
    blocks = rules.einsum(f"{letters[0]},{letters[1]}->{''.join(map(''.join, zip(*letters, strict=True)))}", *padded)
    joined = rules.reshape(blocks[0].out_shape, [side * along for side, along in zip(*padded, strict=True)])
    return [
        compose(compose(joined, block), rules.reshape(shape, wide)) for block, shape, wide in zip(blocks, (one, other), padded, strict=True)
    ]


def _multi_dot(call: Call) -> Any:
    """A chain of products of matrices, of which the first and the last may be vectors."""
    arrays = list(call.arguments["arrays"])
    shapes = [array.shape if isinstance(array, Tracked) else np.asarray(array).shape for array in arrays]
    operands = [string.ascii_letters[at : at + 2] for at in range(len(arrays))]
    if len(shapes[0]) == 1:
        operands[0] = operands[0][1]
    if len(shapes[-1]) == 1:
        operands[-1] = operands[-1][0]
    output = operands[0][: len(shapes[0]) - 1] + operands[-1][-1] * (len(shapes[-1]) - 1)
    return _made(call, arrays, rules.einsum(f"{','.join(operands)}->{output}", *shapes))


def _cross(call: Call) -> Any:
    """Of vectors of three, or of two whose third cell is nought: each cell from the others of both."""
    found = np.asarray(call.result())
    arrays = [call.arguments[name] for name in call.rule.arrays]
    shapes = [np.shape(plain(one)) for one in arrays]
    common = call.get("axis")
    axes = [call.get(name, -1) if common is None else common for name in ("axisa", "axisb")]
    places = [int(axis) % len(shape) for axis, shape in zip(axes, shapes, strict=True)]
    own, other = (shape[place] for shape, place in zip(shapes, places, strict=True))
    into = int(call.get("axisc", -1) if common is None else common) % found.ndim if 3 in (own, other) else None
    relations = [
        _of_vectors(found.shape, into, shape, place, further) for shape, place, further in zip(shapes, places, (other, own), strict=True)
    ]
    return made(call.name, found, [ruled(one, relation) for one, relation in _tracked(arrays, relations)])


def _of_vectors(output: Shape, into: int | None, shape: Shape, place: int, other: int) -> Relation:
    """Of one of the operands of `cross`.

    :param into: the output's axis of vectors; None where there is but their third cell.
    :param place: the operand's.
    :param other: how many cells the other operand's vectors have.
    """
    boxes = [(0, side - 1) for side in output]
    others = [axis for axis in range(len(output)) if axis != into]
    moving = iter(others[len(others) - len(shape) + 1 :])
    spans = [Span(0, 0) if axis == place else moving_with(next(moving), side) for axis, side in enumerate(shape)]
    rows = []
    for cell in (2,) if into is None else (0, 1, 2):
        box = [(cell, cell) if axis == into else one for axis, one in enumerate(boxes)]
        for at in range(shape[place]):
            if at != cell and 3 - cell - at < other:
                rows.append((box, [Span(at, at) if axis == place else one for axis, one in enumerate(spans)]))
    return merge(of_rows(output, shape, rows))


def _rules() -> Iterator[tuple[Any, Rule]]:
    yield np.dot, Rule(_of_two(_dot), ("a", "b"))
    yield np.inner, Rule(_of_two(_inner), ("a", "b"))
    yield np.tensordot, Rule(_of_two(_tensordot), ("a", "b"))
    yield np.linalg.tensordot, Rule(_of_two(_tensordot), ("x1", "x2"))
    yield np.linalg.matmul, Rule(_of_two(lambda call, one, other: rules.matmul(one, other)), ("x1", "x2"))
    yield np.linalg.vecdot, Rule(_vecdot, ("x1", "x2"))
    yield np.vdot, Rule(_vdot, ("a", "b"))
    yield np.outer, Rule(_outer, ("a", "b"))
    yield np.linalg.outer, Rule(_outer, ("x1", "x2"))
    yield np.einsum, Rule(_einsum, ("operands",))
    yield np.trace, Rule(_trace, ("a",))
    yield np.linalg.trace, Rule(_trace, ("x",))
    yield np.kron, Rule(_of_two(_kron), ("a", "b"))
    yield np.linalg.multi_dot, Rule(_multi_dot, ("arrays",), in_lists=True)
    yield np.cross, Rule(_cross, ("a", "b"))
    yield np.linalg.cross, Rule(_cross, ("x1", "x2"))


MULTIPLYING = dict(_rules())
