"""For which other shapes the captured calls of an operation speak (DSLog, Sec. VI.C, lets two of different shapes speak for all).

The lineage of an operation is affine in the dimensions piece by piece: where a window is as wide as the array, a position is clipped or a
triangle touches the other side, another piece begins. Where that is hangs on one dimension, on the sum or difference of two, or on a
number of cells: on a *measure*, which passes a *threshold*. That the calls fit one affine function does not say yet that no threshold lies
between them and another call; but each threshold would add a term of its own, what the measure is beyond it (or a jump), to the affine one.
So calls speak for another one if they determine what it is there with each such term, too: had it been there, they would not have fitted.

Thresholds are told by the arguments: an operation whose arguments are said has none beyond what their numbers multiply to (a window by its
dilation), of sums and differences beyond what they add up to (offsets), and speaks for dimensions beyond them of up to twice the size, or
half. Where they are not said any number may be one.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Ints

_SMALL = 3
"""A dimension of so few positions may be a case of its own: broadcast, empty, or shorter than a window."""
_GROWTH = 2
"""A dimension more than so many times as long as the longest that was captured, or as much shorter than the shortest, is captured first."""
_BETWEEN = 9
"""So many thresholds are tried between two calls."""
_MOST = 2**53
"""Larger numbers are as good as none."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Reach:
    """How far an operation's calls speak.

    :ivar cuts: dimensions at which its arguments may begin another piece: one on the other side is of another kind.
    :ivar last: no dimension, and no number of cells, has a threshold beyond this; infinite where nobody has said so.
    :ivar offset: no sum or difference of dimensions has, below zero neither.
    """

    cuts: tuple[int, ...]
    last: float
    offset: float

    @classmethod
    def of(cls, operation: str) -> Reach:
        """Of an operation's name and its arguments, as JSON; the arguments are said unless they are null."""
        args = json.loads(operation)[1]
        numbers = [] if args is None else [_whole(one) for one in _NUMBER.findall(json.dumps(args))]
        near = {part + step for one in numbers for part in (one // 2, one, 2 * one) for step in (-1, 0, 1)}
        bound = 2 * math.prod(1 + one for one in numbers) if numbers else 0
        is_said = args is not None and bound < _MOST
        last, offset = (bound, sum(1 + one for one in numbers)) if is_said else (math.inf, math.inf)
        return cls(tuple(sorted(one for one in near if _SMALL < one < _MOST)), last, offset)

    def is_alike(self, seen: tuple[Shape, ...], wanted: tuple[Shape, ...]) -> bool:
        """Whether a call can say something of another: the same numbers of axes, small dimensions equal, others of the same kinds."""
        if list(map(len, seen)) != list(map(len, wanted)):
            return False
        pairs = zip(itertools.chain(*seen), itertools.chain(*wanted), strict=True)
        return all(one == other if min(one, other) <= _SMALL else self._is_one_kind(one, other) for one, other in pairs)

    def _is_one_kind(self, one: int, other: int) -> bool:
        return one == other or not any(min(one, other) <= cut <= max(one, other) for cut in self.cuts)

    def covers(self, rows: Ints, shapes: Sequence[tuple[Shape, ...]], sides: int) -> bool:
        """Whether the calls speak for the last one.

        :param rows: (calls + 1, 1 + variables): a 1, and what ends of intervals are affine functions of.
        :param shapes: of each call.
        :param sides: how many of the variables are dimensions; they come first.
        """
        dimensions = rows[:, 1 : 1 + sides]
        seen, wanted = dimensions[:-1], dimensions[-1]
        if (wanted > _GROWTH * seen.max(axis=0)).any() or (_GROWTH * wanted < seen.min(axis=0)).any():
            return False
        sizes = np.array([[math.prod(shape) for shape in call] for call in shapes], dtype=np.int64)
        alone = [*rows[:, 1:].T, *sizes.T]
        pairs = [one + sign * other for one, other in itertools.combinations(dimensions.T, 2) for sign in (-1, 1)]
        told = [(one, last) for measures, last in ((alone, self.last), (pairs, self.offset)) for one in measures]
        return all(_is_covered(one, last, rows) for one, last in told if (one != one[0]).any())


def _is_covered(measure: Ints, last: float, rows: Ints) -> bool:
    """Whether the calls determine the last one whatever threshold a measure of theirs passes that is not beyond ``last``."""
    if measure[-1] == 0 and (measure[:-1] != 0).all():
        return False  # two dimensions that are equal for the first time
    beyond = measure - np.array(_thresholds(measure, last), dtype=np.int64)[:, None]
    return all(_determine(rows, term) for term in (np.maximum(beyond, 0), (beyond > 0).astype(np.int64)))


def _thresholds(measure: Ints, last: float) -> list[int]:
    """Numbers that stand for all that the measure may pass: between two calls that follow one another they are alike, but for a few."""
    found: set[int] = set()
    for before, behind in itertools.pairwise(np.unique(measure).tolist()):
        if before <= last and behind >= -last:
            least, most = int(max(before, -last)), int(min(behind, last))
            found |= set(range(least, most + 1) if most - least < _BETWEEN else map(int, np.linspace(least, most, _BETWEEN)))
    return sorted(found)


def _determine(rows: Ints, terms: Ints) -> bool:
    """Whether the calls determine the last one, also with each of some terms beside the variables.

    :param terms: (terms, calls + 1).
    """
    if not len(terms):
        return True
    both = np.concatenate([np.broadcast_to(rows, (len(terms), *rows.shape)), terms[:, :, None]], axis=2).astype(float)
    both /= np.maximum(np.abs(both).max(axis=1, keepdims=True), 1)
    return bool((np.linalg.matrix_rank(both[:, :-1]) == np.linalg.matrix_rank(both)).all())


def _whole(text: str) -> int:
    found = float(text)
    return math.ceil(found) if found < _MOST else _MOST
