"""Relations of numpy operations over small arrays, written out pair by pair: what moves cells is run on the cells' numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Ints

Pairs = tuple[Shape, Ints]
"""The output's shape, and the pairs (output position, then input position) from 0."""


@dataclass(frozen=True)
class Operation:
    """``made`` gives the pairs from the input's shape, ``ranks`` are the numbers of axes that it takes."""

    made: Callable[[Shape, np.random.Generator], Pairs]
    ranks: tuple[int, ...]

    def fits(self, source: Shape) -> bool:
        """Whether the operation takes such an array."""
        return len(source) in self.ranks and 0 not in source

    def relation(self, source: Shape, random: np.random.Generator) -> Pairs:
        """The output's shape and the pairs."""
        return self.made(source, random)


def moved(function: Callable[..., Any], source: Shape, *arguments: Any) -> Pairs:
    """Of a function that only moves cells, which −1 stands for none of."""
    found = np.asarray(function(np.arange(math.prod(source)).reshape(source), *arguments))
    here = found.reshape(-1) >= 0
    outputs = np.indices(found.shape).reshape(found.ndim, found.size)[:, here]
    inputs = np.indices(source).reshape(len(source), math.prod(source))[:, found.reshape(-1)[here]]
    return found.shape, np.concatenate([outputs, inputs]).T.astype(np.int64)


def listed(output: Shape, source: Shape, behind: Callable[[tuple[int, ...]], Iterable[tuple[int, ...]]]) -> Pairs:
    """Of each output cell, the input cells behind it; those beyond the input are none."""
    pairs = [
        (*at, *cell) for at in np.ndindex(*output) for cell in behind(at) if all(0 <= x < n for x, n in zip(cell, source, strict=True))
    ]
    return output, np.array(pairs, dtype=np.int64).reshape(len(pairs), len(output + source))


def windows(source: Shape, size: int, before: int) -> Pairs:
    """A square window around each cell of an image; before 0 it begins at the cell, and is within the image."""
    output = source if before else tuple(max(side - size + 1, 0) for side in source)
    steps = [tuple(x - before for x in step) for step in np.ndindex(*(size,) * len(source))]
    return listed(output, source, lambda at: [tuple(x + y for x, y in zip(at, step, strict=True)) for step in steps])


def summed(source: Shape, axis: int) -> Pairs:
    """A reduction along one axis."""
    output = source[:axis] + source[axis + 1 :]
    return listed(output, source, lambda at: [(*at[:axis], x, *at[axis:]) for x in range(source[axis])])


def scanned(source: Shape, axis: int) -> Pairs:
    """A running sum along one axis."""
    return listed(source, source, lambda at: [(*at[:axis], x, *at[axis + 1 :]) for x in range(at[axis] + 1)])


def flat_scanned(source: Shape) -> Pairs:
    """A running sum over all cells in C order."""
    output, pairs = scanned((math.prod(source),), 0)
    return output, _unravelled(pairs, source)


def flat_differences(source: Shape) -> Pairs:
    """Of all cells in C order, from each to the next."""
    output = (max(math.prod(source) - 1, 0),)
    return output, _unravelled(listed(output, (math.prod(source),), lambda at: [at, (at[0] + 1,)])[1], source)


def _unravelled(pairs: Ints, source: Shape) -> Ints:
    """Of pairs with an input's cells by their numbers, those with its positions."""
    return (
        np.concatenate([pairs[:, :1], np.stack(np.unravel_index(pairs[:, 1], source), axis=1)], axis=1)
        if len(pairs)
        else (np.zeros((0, 1 + len(source)), dtype=np.int64))
    )


def multiplied(source: Shape, columns: int, *, left: bool) -> Pairs:
    """A product of matrices, from its left or its right operand."""
    rows = source[0] if left else columns
    output = (rows, columns if left else source[1])
    return listed(output, source, lambda at: [(at[0], x) if left else (x, at[1]) for x in range(source[1] if left else source[0])])


def padded_diagonal(a: Ints) -> Ints:
    """A vector as the diagonal of a matrix whose other cells have no lineage."""
    return np.where(np.eye(len(a), dtype=bool), a, -1)


def _all(source: Shape, random: np.random.Generator) -> Pairs:
    return listed((), source, lambda at: np.ndindex(*source))


def _shuffled(source: Shape, random: np.random.Generator) -> Pairs:
    return moved(lambda a: random.permutation(a.reshape(-1)).reshape(source), source)


def _filtered(source: Shape, random: np.random.Generator) -> Pairs:
    return moved(lambda a: a[random.random(len(a)) < 0.6], source)


def _two_segments(source: Shape, random: np.random.Generator) -> Pairs:
    half = source[0] // 2
    return listed((half, *source[1:]), source, lambda at: [at, (at[0] + half, *at[1:])])


ANY = (0, 1, 2, 3, 4)
SOME = ANY[1:]

OPERATIONS: Mapping[str, Operation] = {
    "negative": Operation(lambda s, _: moved(lambda a: a, s), ANY),
    "transpose": Operation(lambda s, _: moved(np.transpose, s), ANY),
    "flip": Operation(lambda s, _: moved(np.flip, s), ANY),
    "flip one axis": Operation(lambda s, r: moved(np.flip, s, int(r.integers(len(s)))), SOME),
    "rot90": Operation(lambda s, r: moved(np.rot90, s, int(r.integers(1, 4))), (2, 3)),
    "tile": Operation(lambda s, _: moved(np.tile, s, 2), (1, 2, 3)),
    "repeat": Operation(lambda s, _: moved(np.repeat, s, 2, 0), (1, 2, 3)),
    "roll": Operation(lambda s, _: moved(np.roll, s, 1), SOME),
    "ravel": Operation(lambda s, _: moved(np.ravel, s), ANY),
    "every second": Operation(lambda s, _: moved(lambda a: a[..., ::2], s), SOME),
    "diagonal": Operation(lambda s, _: moved(np.diagonal, s), (2, 3)),
    "to diagonal": Operation(lambda s, _: moved(padded_diagonal, s), (1,)),
    "upper triangle": Operation(lambda s, _: moved(lambda a: np.where(np.triu(np.ones(s, dtype=bool)), a, -1), s), (2,)),
    "sum": Operation(lambda s, r: summed(s, int(r.integers(len(s)))), SOME),
    "sum of all": Operation(_all, ANY),
    "cumsum": Operation(lambda s, r: scanned(s, int(r.integers(len(s)))), SOME),
    "flat cumsum": Operation(lambda s, _: flat_scanned(s), (1, 2)),
    "flat differences": Operation(lambda s, _: flat_differences(s), (1, 2)),
    "window": Operation(lambda s, _: windows(s, 2, 0), (1, 2)),
    "padded window": Operation(lambda s, _: windows(s, 3, 1), (1, 2)),
    "left of matmul": Operation(lambda s, r: multiplied(s, int(r.integers(1, 5)), left=True), (2,)),
    "right of matmul": Operation(lambda s, r: multiplied(s, int(r.integers(1, 5)), left=False), (2,)),
    "two segments": Operation(_two_segments, (1, 2)),
    "shuffled": Operation(_shuffled, ANY),
    "filtered": Operation(_filtered, SOME),
}


@dataclass(frozen=True)
class Threshold:
    """An operation whose lineage begins another piece where a dimension, a number of cells, or how much longer one is than another (or than
    a multiple of it, or than two) passes a number, or by what is left of these when they are divided by it.

    :ivar made: gives the pairs from the input's shape and the number. :ivar numbers: from the least to the greatest.
    """

    made: Callable[[Shape, int], Pairs]
    rank: int
    numbers: tuple[int, int] = (4, 30)


def _moved_from(source: Shape, at: Callable[[Ints], Ints]) -> Pairs:
    """Each position of a vector from another one."""
    return moved(lambda a: a[at(np.arange(len(a)))], source)


def _masked(source: Shape, mask: Any) -> Pairs:
    return moved(lambda a: np.where(mask, a, -1), source)


def _places(source: Shape) -> Ints:
    """Of each cell of a picture its number in this."""
    return np.arange(source[1] * source[2]).reshape(source[1:])


def _to_ratio(source: Shape, ratio: int) -> Pairs:
    """The columns up to so many times as many as there are rows."""
    return moved(lambda a: a[:, : ratio * len(a)], source)


THRESHOLDS: Mapping[str, Threshold] = {
    "to a ratio": Threshold(_to_ratio, 2, (2, 5)),
    "mask to a ratio": Threshold(lambda s, n: _masked(s, np.arange(s[1]) < n * np.arange(1, s[0] + 1)[:, None]), 2, (2, 5)),
    "square part": Threshold(lambda s, n: moved(lambda a: a[: min(a.shape)], s), 2),
    "last of the diagonal": Threshold(lambda s, n: listed(s, s, lambda at: [(min(s) - 1, min(s) - 1)]), 2),
    "first of each picture": Threshold(lambda s, n: moved(lambda a: a.reshape(len(a), -1)[:, : 2 * n], s), 3),
    "mask of each picture": Threshold(lambda s, n: moved(lambda a: np.where(_places(s) < 2 * n, a, -1), s), 3),
    "longer than two": Threshold(lambda s, n: moved(lambda a: a[: max(s[1] + s[2] - s[0] + n - 4, 0)], s), 3, (2, 9)),
    "tril": Threshold(lambda s, n: _masked(s, np.tri(s[0], s[1], n, dtype=bool)), 2),
    "triu": Threshold(lambda s, n: _masked(s, ~np.tri(s[0], s[1], -n, dtype=bool)), 2),
    "diagonal": Threshold(lambda s, n: moved(np.diagonal, s, n), 2),
    "first columns": Threshold(lambda s, n: moved(lambda a: a[:, :n], s), 2),
    "first of the flat": Threshold(lambda s, n: moved(lambda a: a.reshape(-1)[:n], s), 2),
    "clip of the flat": Threshold(lambda s, n: moved(lambda a: a.reshape(-1)[np.minimum(np.arange(a.size), n)], s), 2),
    "window": Threshold(lambda s, n: windows(s, n, n // 2), 1),
    "dilated": Threshold(lambda s, n: listed(s, s, lambda at: [(at[0] + step * (n // 2),) for step in (-1, 0, 1)]), 1),
    "lag": Threshold(lambda s, n: _moved_from(s, lambda at: np.maximum(at - n, 0)), 1),
    "clip": Threshold(lambda s, n: _moved_from(s, lambda at: np.minimum(at, n)), 1),
    "middle": Threshold(lambda s, n: _moved_from(s, lambda at: np.clip(at, n, max(len(at) - n, n) - 1)[: len(at)] % len(at)), 1),
    "first": Threshold(lambda s, n: moved(lambda a: a[:n], s), 1),
    "last": Threshold(lambda s, n: moved(lambda a: a[-n:], s), 1),
    "without the first": Threshold(lambda s, n: moved(lambda a: a[n:], s), 1),
    "roll": Threshold(lambda s, n: moved(np.roll, s, n), 1),
    "reflect": Threshold(lambda s, n: moved(lambda a: np.pad(a, n, mode="reflect"), s), 1),
    "edge": Threshold(lambda s, n: moved(lambda a: np.pad(a, (n, 0), mode="edge"), s), 1),
    "first or all": Threshold(lambda s, n: moved(lambda a: a[: n if len(a) > 2 * n else len(a)], s), 1),
    "what is left": Threshold(lambda s, n: listed((), s, lambda at: [(s[0] % n,)]), 1, (2, 4)),
    "what is left of all": Threshold(lambda s, n: listed((), s, lambda at: [(math.prod(s) % n, 0)] if s[0] > 4 else []), 2, (2, 4)),
    "whole groups": Threshold(lambda s, n: moved(lambda a: a[: len(a) // n * n], s), 1, (2, 4)),
    "every n-th": Threshold(lambda s, n: moved(lambda a: a[n - 1 :: n], s), 1, (2, 4)),
    "summed in time": Threshold(lambda s, n: listed(s, s, lambda at: [(x,) for x in range(max(at[0] - n, 0), at[0] + 1)]), 1),
}
