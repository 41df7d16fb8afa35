"""For which other shapes the captured calls of an operation speak (DSLog, Sec. VI.C, lets two of different shapes speak for all).

The lineage of an operation is affine in the dimensions piece by piece: where a window is as wide as the array, a position is clipped or a
triangle touches the other side, another piece begins. Where that is hangs on one dimension, on the sum or difference of two or three, or of
multiples of two, or on the number of cells along some axes: on a *measure*, which passes a *threshold*. That the calls fit one affine
function does not say yet that no threshold lies between them and another call; but each threshold would add a term of its own, what the
measure is beyond it (or a jump), to the affine one. So calls speak for another one if they determine what it is there with each such term,
too: had it been there, they would not have fitted. A dimension that is the same in all calls is no variable, but the other may pass it.

Thresholds are told by the arguments: an operation whose arguments are said has none beyond what their numbers multiply to (a window by its
dilation), of sums and differences beyond what they add up to (offsets), multiples by its numbers alone, and speaks for dimensions
beyond them of up to twice the size, or half. Where they are not said any number may be one, and any multiple of any dimensions: then calls
speak for no dimensions but those within their convex hull. The numbers in an operation's name ("window 25") are arguments, too.

What is left of a measure that is divided may be a case of its own, as even and odd lengths are of many a transform: calls speak for another
one if they determine what it is with a term for such cases. Divided is by two and by small numbers of the arguments, or by two to four
where these are not said.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Ints

_SMALL = 3
"""A dimension of so few positions may be a case of its own: broadcast, empty, or shorter than a window."""
_GROWTH = 2
"""A dimension more than so many times as long as the longest that was captured, or as much shorter than the shortest, is captured first."""
_BETWEEN = 9
"""So many thresholds between two calls are all tried."""
_NUMBERS = 12
"""The multiples by more numbers are too many to be tried: then it is as if the arguments were not said."""
_DIVISORS = ((2,), (2, 3, 4))
"""What measures are divided by where the arguments are said, and where they are not."""
_DIVISOR = 12
"""By larger numbers of the arguments nothing is divided."""
_DENOMINATOR = 64
"""The largest of a ratio."""
_MULTIPLE = 2**31
"""No dimension is so many times as long as another."""
_HULL = 4
"""In a space of more variables nobody looks for the convex hull."""
_EXACT = 1e-9
"""What differs by less, of numbers around 1, is the same."""
_MOST = 2**53
"""Larger numbers are as good as none."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Reach:
    """How far an operation's calls speak.

    :ivar cuts: dimensions at which its arguments may begin another piece: one on the other side is of another kind.
    :ivar last: no dimension, and no number of cells, has a threshold beyond this; infinite where nobody has said so.
    :ivar offset: no sum or difference of dimensions has, below zero neither.
    :ivar ratios: by what two dimensions are multiplied whose sum, or difference, may have one.
    :ivar divisors: by which what is left of a measure may be a case of its own.
    """

    cuts: tuple[int, ...]
    last: float
    offset: float
    ratios: tuple[tuple[int, int], ...]
    divisors: tuple[int, ...] = (2,)

    @classmethod
    def of(cls, operation: str) -> Reach:
        """Of an operation's name and its arguments, as JSON; the arguments are said unless they are null."""
        name, args = json.loads(operation)[:2]
        texts = _NUMBER.findall(name) + ([] if args is None else _NUMBER.findall(json.dumps(args)))
        numbers = list(map(_whole, texts))
        near = {part + step for one in numbers for part in (one // 2, one, 2 * one) for step in (-1, 0, 1)}
        bound = 2 * math.prod(1 + one for one in numbers) if numbers else 0
        is_said = args is not None and bound < _MOST and len(set(numbers)) <= _NUMBERS
        last, offset = (bound, sum(1 + one for one in numbers)) if is_said else (math.inf, math.inf)
        cuts = tuple(sorted(one for one in near if _SMALL < one < _MOST))
        divisors = {*_DIVISORS[args is None], *(int(one) for one in texts if one.isdigit() and 1 < float(one) <= _DIVISOR)}
        return cls(cuts, last, offset, _ratios(texts if is_said else []), tuple(sorted(divisors)))

    def is_alike(self, seen: tuple[Shape, ...], wanted: tuple[Shape, ...]) -> bool:
        """Whether a call can say something of another: the same numbers of axes, small dimensions equal, others of the same kinds."""
        if list(map(len, seen)) != list(map(len, wanted)):
            return False
        pairs = zip(itertools.chain(*seen), itertools.chain(*wanted), strict=True)
        return all(one == other if min(one, other) <= _SMALL else self._is_one_kind(one, other) for one, other in pairs)

    def _is_one_kind(self, one: int, other: int) -> bool:
        return one == other or not any(min(one, other) <= cut <= max(one, other) for cut in self.cuts)

    def covers(self, rows: Ints, shapes: Sequence[tuple[Shape, ...]], outputs: Sequence[tuple[Shape, ...]], sides: int) -> bool:
        """Whether the calls speak for the last one.

        :param rows: (calls + 1, 1 + variables): a 1, and what ends of intervals are affine functions of.
        :param shapes: of each call's inputs. :param outputs: and of its outputs.
        :param sides: how many of the variables are dimensions of inputs; they come first.
        """
        dimensions = rows[:, 1 : 1 + sides]
        seen, wanted = dimensions[:-1], dimensions[-1]
        if (wanted > _GROWTH * seen.max(axis=0)).any() or (_GROWTH * wanted < seen.min(axis=0)).any():
            return False
        if math.isinf(self.last) and not _is_within(rows):
            return False
        if _are_equal_first(shapes):
            return False
        both = [one + made for one, made in zip(shapes, outputs, strict=True)]
        plain, unfitted = [*rows[:, 1:].T, *_numbers_of_cells(both)], _unfitted(rows)
        told = itertools.chain(((one, self.last) for one in plain), self._sums(both, shapes))
        is_covered = all(_is_covered(one, last, unfitted) for one, last in told if (one != one[0]).any())
        return is_covered and not _fit(self._cases(plain, both), unfitted)

    def _cases(self, measures: Sequence[Ints], calls: Sequence[tuple[Shape, ...]]) -> Ints:
        """(cases, calls): in which calls as much is left of a measure, or of a sum or difference of two dimensions, as in the last one."""
        sums = [one + sign * other for one, other in itertools.combinations(_dimensions(calls), 2) for sign in (-1, 1)]
        left = [one % divisor for one in (*measures, *sums) for divisor in self.divisors]
        return np.array([one == one[-1] for one in left], dtype=np.int64).reshape(len(left), len(calls))

    def _sums(self, calls: Sequence[tuple[Shape, ...]], inputs: Sequence[tuple[Shape, ...]]) -> Iterator[tuple[Ints, float]]:
        """Sums and differences of two dimensions, and of three `_together`, also of such as do not vary; how far their thresholds go."""
        for one, other in itertools.combinations(_dimensions(calls), 2):
            for (times, others), sign in itertools.product(self.ratios, (-1, 1)):
                yield times * one + sign * others * other, self.offset * max(times, others)
        for one, other, third in itertools.chain.from_iterable(itertools.combinations(some, 3) for some in _together(inputs)):
            for sign, signs in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
                yield one + sign * other + signs * third, self.offset


def _dimensions(calls: Sequence[tuple[Shape, ...]]) -> Ints:
    """(dimensions, calls): those that always are equal once."""
    return np.unique([list(itertools.chain(*call)) for call in calls], axis=1).T


def _together(inputs: Sequence[tuple[Shape, ...]]) -> Iterator[Ints]:
    """Dimensions of which three may stand in one sum: those of an array, and those along an axis of arrays that are alike but for it."""
    of_arrays = [np.array(shapes, dtype=np.int64).T for shapes in zip(*inputs, strict=True)]
    along: dict[Any, list[Ints]] = defaultdict(list)
    for one in of_arrays:
        for at, dimension in enumerate(one):
            along[at, np.delete(one, at, axis=0).tobytes()].append(dimension)
    for some in (*(one for one in of_arrays if len(one)), *map(np.array, along.values())):
        yield np.unique(some[(some > _SMALL).any(axis=1)], axis=0)


def _are_equal_first(shapes: Sequence[tuple[Shape, ...]]) -> bool:
    """Whether the last call has two equal dimensions that are not equal in any other."""
    every = _dimensions(shapes)
    is_equal = every[:, None] == every
    return bool((is_equal[..., -1] & ~is_equal[..., :-1].any(axis=2)).any())


def _ratios(texts: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Of a number what it multiplies one dimension by, and the other, either way."""
    found = [Fraction(float(text)).limit_denominator(_DENOMINATOR) for text in texts]
    told = {(one.numerator, one.denominator) for one in found if 0 < one < _MULTIPLE}
    return tuple(sorted({(1, 1), *told, *(one[::-1] for one in told)}))


def _numbers_of_cells(calls: Sequence[tuple[Shape, ...]]) -> Iterator[Ints]:
    """Along each two axes or more of each array."""
    for sides in (np.array(shapes, dtype=np.int64) for shapes in zip(*calls, strict=True)):
        for count in range(2, sides.shape[1] + 1):
            yield from (sides[:, axes].prod(axis=1) for axes in map(list, itertools.combinations(range(sides.shape[1]), count)))


def _is_within(rows: Ints) -> bool:
    """Whether the last one is in the convex hull of the calls: in that of as many of them as there are columns."""
    variables = rows.shape[1]
    if variables > 1 + _HULL:
        return False
    corners = rows[list(itertools.combinations(range(len(rows) - 1), variables))].astype(float)
    corners = corners[np.linalg.matrix_rank(corners) == variables]
    shares = np.linalg.solve(np.swapaxes(corners, 1, 2), np.broadcast_to(rows[-1].astype(float)[:, None], (len(corners), variables, 1)))
    return bool((shares >= -_EXACT).all(axis=(1, 2)).any())


def _unfitted(rows: Ints) -> Any:
    """(calls + 1, calls + 1): of values of all calls what an affine function of the variables leaves that is fitted to all but the last."""
    scaled = rows / np.maximum(np.abs(rows).max(axis=0), 1)
    return np.eye(len(rows)) - np.pad(scaled @ np.linalg.pinv(scaled[:-1]), ((0, 0), (0, 1)))


def _is_covered(measure: Ints, last: float, unfitted: Any) -> bool:
    """Whether the calls determine the last one whatever threshold a measure of theirs passes that is not beyond ``last``.

    The calls determine it without a threshold; with one they do not where its term fits them, and the last one is another by it.
    """
    for least, most, is_beyond in _gaps(measure, last):
        terms = np.concatenate([is_beyond[None], np.maximum(measure - _thresholds(measure, least, most, is_beyond, unfitted)[:, None], 0)])
        if _fit(terms, unfitted):
            return False
    return True


def _fit(terms: Any, unfitted: Any) -> bool:
    """Whether one of some terms, (terms, calls), fits all calls but the last, of which it makes another."""
    left = np.abs(terms @ unfitted.T) / np.maximum(np.abs(terms).max(axis=1, keepdims=True, initial=0), 1)
    return bool(((left[:, :-1] < _EXACT).all(axis=1) & (left[:, -1] > _EXACT)).any())


def _gaps(measure: Ints, last: float) -> Iterator[tuple[int, int, Ints]]:
    """Between two calls that follow one another the least and the greatest threshold, and which calls are beyond these."""
    for before, behind in itertools.pairwise(np.unique(measure).tolist()):
        if before <= last and behind >= -last:
            yield int(max(before, -last)), int(min(behind, last)), (measure >= behind).astype(np.int64)


def _thresholds(measure: Ints, least: int, most: int, is_beyond: Ints, unfitted: Any) -> Any:
    """Those that stand for all in a gap: along them what is left of a term is a line, so it is nothing everywhere, at one, or nowhere."""
    if most - least < _BETWEEN:
        return np.arange(least, most + 1, dtype=float)
    slope, start = (unfitted[:-1] @ one for one in (is_beyond, is_beyond * measure))
    square = slope @ slope
    nearest = float(np.clip(start @ slope / square, least, most)) if square > _EXACT**2 else least
    return np.array(sorted({least, most, nearest, math.floor(nearest), math.ceil(nearest)}), dtype=float)


def _whole(text: str) -> int:
    found = float(text)
    return math.ceil(found) if found < _MOST else _MOST
