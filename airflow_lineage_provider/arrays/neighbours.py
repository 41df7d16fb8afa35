"""How rows differ from their neighbours along an output axis, where no two rows have an output cell in common: in one pass.

There rows merge with the row behind them or not at all (DSLog, Sec. IV, step 2), so that no pattern has to be tried that is not seen.
"""

from __future__ import annotations

import numpy as np

from airflow_lineage_provider.arrays.grouping import Bools, Ints, keys, sorting
from airflow_lineage_provider.arrays.relation import Moves, Pattern, Relation


def between_neighbours(relation: Relation, axis: int) -> list[Pattern] | None:
    """The patterns by which rows that touch along an output axis differ, the most frequent first.

    None where rows overlap along it, as then others may merge than those that touch; or where there are too many input axes to tell.

    >>> still = np.zeros((1, 4), dtype=np.int8)
    >>> at, flipped = np.array([[0, 1, 2, 3]]), np.array([[3, 2, 1, 0]])
    >>> between_neighbours(Relation((4,), (4,), at, at, flipped, flipped, still, still), 0)
    [(-1, -1)]
    """
    if len(relation.in_shape) > _MOST_AXES:
        return None
    first, last = relation.out_lo[axis], relation.out_hi[axis]
    others = [
        one
        for other in range(len(relation.out_shape))
        if other != axis
        for one in (relation.out_lo[other], relation.out_hi[other] - relation.out_lo[other])
    ]
    around = keys(others, len(relation))
    order = sorting(keys([around, first], len(relation)))
    together = np.diff(around[order]) == 0
    gaps = first[order[1:]] - last[order[:-1]]
    if (together & (gaps < 1)).any():
        return None
    touching = np.flatnonzero(together & (gaps == 1))
    return _frequent(_Touching(relation, axis, order[touching], order[touching + 1]).steps())


_MOST_AXES = 16
"""Of more the steps do not fit into one number."""


class _Touching:
    """Pairs of rows of which the second begins where the first ends, along an axis."""

    def __init__(self, relation: Relation, axis: int, before: Ints, behind: Ints) -> None:
        self._relation, self._axis, self._before, self._behind = relation, axis, before, behind
        wide = relation.out_lo[axis] != relation.out_hi[axis]
        self._wide = wide[before], wide[behind]

    def steps(self) -> Ints:
        """(2m, pairs): by how much each end moves from the one row to the other, of the pairs that a pattern makes one row."""
        found, fits = [], np.ones(len(self._before), dtype=np.bool_)
        for offsets, moves in (
            (self._relation.in_lo, self._relation.lo_moves), (self._relation.in_hi, self._relation.hi_moves),
        ):  # fmt: skip
            for own in range(len(offsets)):
                step, is_able = self._of_end(offsets[own], moves[own])
                found.append(step)
                fits &= is_able
        return np.array(found, dtype=np.int64).reshape(len(found), len(fits))[:, fits]

    def _of_end(self, offset: Ints, moves: Moves) -> tuple[Ints, Bools]:
        """The step of one end, and where it is one that both rows can be told by: a wide row moves as it does."""
        axis, relation = self._axis, self._relation
        along = np.where(np.abs(moves) == axis + 1, np.sign(moves), 0).astype(np.int64)
        before, behind = self._before, self._behind
        step = offset[behind] - offset[before]
        step += along[behind] * relation.out_lo[axis, behind] - along[before] * relation.out_hi[axis, before]
        aside = np.where(along == 0, moves, 0)
        able = (np.abs(step) <= 1) & (aside[before] == aside[behind]) & ((aside[before] == 0) | (step == 0))
        for rows, is_wide in zip((before, behind), self._wide, strict=True):
            able &= ~is_wide | (step == along[rows])
        return step, able


def _frequent(steps: Ints) -> list[Pattern]:
    code = np.zeros(steps.shape[1], dtype=np.int64)
    for step in steps:
        code = code * 3 + step + 1
    codes, counts = np.unique(code, return_counts=True)
    ordered = codes[np.argsort(-counts, kind="stable")].tolist()
    return [tuple(one // 3**power % 3 - 1 for power in reversed(range(len(steps)))) for one in ordered]
