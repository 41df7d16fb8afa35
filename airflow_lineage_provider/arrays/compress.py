"""ProvRC (DSLog, Sec. IV): pairs of cells as few rows of boxes, lossless, both steps.

Step 1 merges input cells into boxes. Step 2 merges along each output axis rows whose intervals stand still, or move with that axis.
Both merge by key and not by neighbourhood, so that rows that interleave (``x[i] + x[i + 5]``, strided columns) are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import (
    Bools,
    Ints,
    about_adjacent,
    keys,
    runs,
    sorting,
)
from airflow_lineage_provider.arrays.neighbours import between_neighbours
from airflow_lineage_provider.arrays.relation import Moves, Pattern, Relation, in_order

_OBSERVED = 8
"""How many patterns are taken from neighbours, the most frequent first."""
_SEEN = 2**16
"""About so many rows are compared with their neighbours."""
_MANY = 4096
"""Below so many rows every merge is made."""
_PAPERS = 6
"""For so many input axes, at most, all patterns of the paper are tried whether seen or not: 2 ** axes of them."""


def compress(pairs: Ints, out_shape: Shape, in_shape: Shape) -> Relation:
    """The relation that has these pairs and no others; duplicates are one, and their order does not matter.

    :param pairs: (n, l + m), output position then input position, from 0.

    >>> found = compress(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]), (2,), (2, 2))  # np.sum(axis=1)
    >>> found.out_lo.tolist(), found.out_hi.tolist(), found.lo_moves.tolist(), found.in_hi.tolist()
    ([[0]], [[1]], [[1], [0]], [[0], [1]])
    """
    columns = in_order(np.ascontiguousarray(pairs.T))
    outputs, inputs = columns[: len(out_shape)], columns[len(out_shape) :]
    still = np.zeros(inputs.shape, dtype=np.int8)
    return merge(_neighbours_merged(Relation(out_shape, in_shape, outputs, outputs, inputs, inputs, still, still)))


def merge(relation: Relation) -> Relation:
    """The same pairs in no more rows, in the order of their output boxes."""
    for axis in range(len(relation.out_shape)):
        relation = standing(relation, axis)
    if not _is_function(relation):
        for axis in reversed(range(len(relation.in_shape))):
            relation = merge_inputs(relation, axis)
    for axis in reversed(range(len(relation.out_shape))):
        relation = merge_outputs(relation, axis)
    order = sorting(
        keys(
            [*relation.out_lo, *relation.in_lo, *(relation.out_hi - relation.out_lo)],
            len(relation),
        )
    )
    return relation.take(order)


def is_little(fewer: int, rows: int) -> bool:
    """Whether a merge is not worth it. Where next to nothing merges the columns stay as they are, and take fewer bytes."""
    return fewer == 0 or (rows >= _MANY and fewer < rows // 64)


def _neighbours_merged(relation: Relation) -> Relation:
    """Runs of neighbours along the last output axis, in each of which every input position moves by one step (−1, 0 or 1), as one row each.

    For sorted pairs with one for each output cell, of which step 1 has nothing to merge: most of step 2 in one look. Where that is not so,
    or would not halve the rows, they stay as they are.
    """
    rank, axis = len(relation.in_shape), len(relation.out_shape) - 1
    steps = np.diff(relation.out_lo, axis=1)
    if axis < 0 or len(relation) < 2 or not steps.any(axis=0).all():
        return relation
    line = (steps[axis] == 1) & ~steps[:axis].any(axis=0)
    moves = np.diff(relation.in_lo, axis=1)
    line &= (np.abs(moves) <= 1).all(axis=0)
    goes_on = line.copy()
    goes_on[1:] &= ~line[:-1] | (moves[:, 1:] == moves[:, :-1]).all(axis=0)
    starts = np.flatnonzero(np.append(True, ~goes_on))
    if 2 * len(starts) > len(relation):
        return relation
    ends = np.append(starts[1:], len(relation)) - 1
    step = np.where(ends > starts, moves[:, np.minimum(starts, len(relation) - 2)], 0).reshape(rank, len(starts))
    kept = relation.take(starts)
    out_hi, in_lo, how = relation.out_lo[:, ends], kept.in_lo - step * kept.out_lo[axis], (step * (axis + 1)).astype(np.int8)
    return replace(kept, out_hi=out_hi, in_lo=in_lo, in_hi=in_lo, lo_moves=how, hi_moves=how)


def standing(relation: Relation, axis: int) -> Relation:
    """The same rows: where a box is one position along an output axis, what moves with that axis is told as standing still."""
    point = relation.out_lo[axis] == relation.out_hi[axis]
    if not (point & relation.moving).any():
        return relation
    told: list[tuple[Ints, Moves]] = []
    for offsets, moves in (
        (relation.in_lo, relation.lo_moves),
        (relation.in_hi, relation.hi_moves),
    ):
        own = (np.abs(moves) == axis + 1) & point
        told.append(
            (
                offsets + np.where(own, np.sign(moves) * relation.out_lo[axis], 0),
                np.where(own, 0, moves).astype(np.int8),
            )
        )
    (in_lo, lo_moves), (in_hi, hi_moves) = told
    return replace(relation, in_lo=in_lo, lo_moves=lo_moves, in_hi=in_hi, hi_moves=hi_moves)


def _is_function(relation: Relation) -> bool:
    """Whether no two output boxes are alike, so that no inputs merge; of rows in another order than theirs it says no."""
    key = keys(_outputs(relation, range(len(relation.out_shape))), len(relation))
    return bool((key[1:] > key[:-1]).all())


def merge_inputs(relation: Relation, axis: int) -> Relation:
    """Step 1 along one input axis: rows that agree in all else become one where their intervals overlap or are adjacent.

    An interval whose ends move alike is one of offsets, and merges like one that stands still.
    """
    alike = relation.lo_moves[axis] == relation.hi_moves[axis]
    if not alike.all():
        return concatenated([merge_inputs(relation.take(alike), axis), relation.take(~alike)])
    columns = [
        *_outputs(relation, range(len(relation.out_shape))),
        relation.lo_moves[axis],
        *_inputs(relation, _but(axis, relation.in_shape)),
    ]
    found = runs(keys(columns, len(relation)), relation.in_lo[axis], relation.in_hi[axis])
    if is_little(len(relation) - len(found.starts), len(relation)):
        return relation
    kept = relation.take(found.order[found.starts])
    in_hi = kept.in_hi.copy()
    in_hi[axis] = found.tops
    return replace(kept, in_hi=in_hi)


def merge_outputs(relation: Relation, axis: int) -> Relation:
    """Step 2 along one output axis: for one pattern after the other, rows that agree in it and are adjacent become one.

    The paper starts a new set as empty where a run breaks, and so loses the row that broke it; `grouping.runs` keeps it.
    """
    done: list[Relation] = []
    for pattern in _patterns(relation, axis) if len(relation) > 1 else ():
        merged, relation = _merge_pattern(relation, axis, pattern)
        done += [merged] if len(merged) else []
        if len(relation) < 2:
            break
    return concatenated([*done, relation])


def _merge_pattern(relation: Relation, axis: int, pattern: Pattern) -> tuple[Relation, Relation]:
    """The rows that a pattern merges, merged; and the others, as they were."""
    seen, able = _seen(relation, axis, pattern)
    rows = np.flatnonzero(able)
    if len(rows) < 2:
        return relation.take(rows[:0]), relation
    part = seen if len(rows) == len(relation) else seen.take(rows)
    key = keys(
        [
            *_outputs(part, _but(axis, part.out_shape)),
            *_inputs(part, range(len(part.in_shape))),
        ],
        len(rows),
    )
    if is_little(about_adjacent(key, part.out_lo[axis], part.out_hi[axis]), len(rows)):
        return relation.take(rows[:0]), relation
    found = runs(key, part.out_lo[axis], part.out_hi[axis])
    if is_little(len(rows) - len(found.starts), len(rows)):
        return relation.take(rows[:0]), relation
    more = found.sizes > 1
    merged = part.take(found.order[found.starts[more]])
    out_hi = merged.out_hi.copy()
    out_hi[axis] = found.tops[more]
    left = np.ones(len(relation), dtype=np.bool_)
    left[rows[found.order[np.repeat(more, found.sizes)]]] = False
    return replace(merged, out_hi=out_hi), relation.take(left)


def _seen(relation: Relation, axis: int, pattern: Pattern) -> tuple[Relation, Bools]:
    """The relation with its ends told by a pattern, and which rows can be told so: a box that is wide already moves as it does."""
    rank, at = len(relation.in_shape), relation.out_lo[axis]
    point = at == relation.out_hi[axis]
    able = np.ones(len(relation), dtype=np.bool_)
    told: list[tuple[Ints, Moves]] = []
    for offsets, moves, steps in (
        (relation.in_lo, relation.lo_moves, pattern[:rank]), (relation.in_hi, relation.hi_moves, pattern[rank:]),
    ):  # fmt: skip
        offsets, moves = offsets.copy(), moves.copy()
        for own, step in enumerate(steps):
            if step:
                free = moves[own] == 0
                able &= point | ~free
                offsets[own] -= np.where(free, step * at, 0)
                moves[own] = np.where(free, step * (axis + 1), moves[own])
        told.append((offsets, moves))
    (in_lo, lo_moves), (in_hi, hi_moves) = told
    return replace(relation, in_lo=in_lo, lo_moves=lo_moves, in_hi=in_hi, hi_moves=hi_moves), able


def _patterns(relation: Relation, axis: int) -> list[Pattern]:
    """What is tried: the patterns in which neighbours differ, the most frequent first, then the paper's."""
    seen = between_neighbours(relation, axis)
    if seen is not None:
        worth = [one for one, count in seen if not is_little(count, len(relation))]
        return [one for at, one in enumerate(worth) if at < _OBSERVED or min(one, default=0) >= 0]
    rank = len(relation.in_shape)
    free = [bool((relation.lo_moves[own] == 0).any() | (relation.hi_moves[own] == 0).any()) for own in range(rank)]
    papers = itertools.product(*((0, 1) if one and rank <= _PAPERS else (0,) for one in free))
    return list(dict.fromkeys([*_observed(relation, axis), *(both + both for both in papers)]))


def _observed(relation: Relation, axis: int) -> Iterator[Pattern]:
    """How the rows that are wide already move, and how others differ from the row before them; the most frequent first.

    A large relation is seen through some of its lines along the axis.
    """
    around = keys(_outputs(relation, _but(axis, relation.out_shape)), len(relation))
    if len(relation) > _SEEN:
        lines = np.flatnonzero(around <= np.partition(around, _SEEN)[_SEEN])[: 2 * _SEEN]
        relation, around = relation.take(lines), around[lines]
    wide = relation.take(relation.out_lo[axis] != relation.out_hi[axis])
    moves = np.concatenate([wide.lo_moves, wide.hi_moves])
    steps = np.concatenate(
        [
            (moves == axis + 1) * 1 - (moves == -(axis + 1)) * 1,
            _steps(relation, axis, around),
        ],
        axis=1,
    )
    code = np.zeros(steps.shape[1], dtype=np.int64)
    for step in steps:
        code = code * 3 + step + 1
    codes, counts = np.unique(code, return_counts=True)
    for place in np.argsort(-counts, kind="stable")[:_OBSERVED]:
        if not is_little(int(counts[place]), len(relation)):
            yield tuple(int(codes[place]) // 3**power % 3 - 1 for power in reversed(range(len(steps))))


def _steps(relation: Relation, axis: int, around: Ints) -> Ints:
    """(2m, steps): by how much the ends differ from those of the row of the same rank at the position before, if by no more than 1."""
    rows = len(relation)
    place = keys([around, relation.out_lo[axis]], rows)
    order = sorting(keys([place, *relation.in_lo, *(relation.in_hi - relation.in_lo)], rows))
    fresh = np.append(True, np.diff(place[order]) != 0)
    rank_at = np.arange(rows) - np.maximum.accumulate(np.where(fresh, np.arange(rows), 0))
    order = order[sorting(keys([around[order], rank_at, relation.out_lo[axis][order]], rows))]
    follows = (np.diff(around[order]) == 0) & (relation.out_lo[axis][order][1:] == relation.out_hi[axis][order][:-1] + 1)
    steps = np.diff(np.concatenate([relation.in_lo, relation.in_hi])[:, order], axis=1)[:, follows]
    return steps[:, (np.abs(steps) <= 1).all(axis=0)]


def _but(axis: int, shape: Shape) -> list[int]:
    """All axes but one."""
    return [other for other in range(len(shape)) if other != axis]


def _inputs(relation: Relation, axes: range | list[int]) -> list[Ints | Moves]:
    """Of some input axes, what two rows have to agree in; lengths in place of ends, as most of them are the same."""
    lengths = relation.in_hi - relation.in_lo
    return [one[axis] for axis in axes for one in (relation.lo_moves, relation.hi_moves, relation.in_lo, lengths)]


def _outputs(relation: Relation, axes: range | list[int]) -> list[Ints]:
    """The same of some output axes."""
    return [
        one
        for axis in axes
        for one in (
            relation.out_lo[axis],
            relation.out_hi[axis] - relation.out_lo[axis],
        )
    ]


def concatenated(parts: list[Relation]) -> Relation:
    """The rows of several relations between the same arrays; at least one is given."""
    if len(parts) == 1:
        return parts[0]
    names = ("out_lo", "out_hi", "in_lo", "in_hi", "lo_moves", "hi_moves")
    columns = (np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names)
    return Relation(parts[0].out_shape, parts[0].in_shape, *columns)
