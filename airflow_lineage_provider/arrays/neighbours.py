"""How rows differ from their neighbours along an output axis, where no two rows have an output cell in common: in one pass.

There rows merge with the row behind them or not at all (DSLog, Sec. IV, step 2), so that no pattern has to be tried that is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from airflow_lineage_provider.arrays.grouping import Bools, Ints, keys, sorting
from airflow_lineage_provider.arrays.relation import Moves, Pattern, Relation


def between_neighbours(relation: Relation, axis: int) -> list[tuple[Pattern, int]] | None:
    """The patterns by which rows that touch along an output axis differ, the most frequent first, and of how many rows.

    None where rows overlap along it, as then others may merge than those that touch; or where there are too many input axes to tell.

    >>> still = np.zeros((1, 4), dtype=np.int8)
    >>> at, flipped = np.array([[0, 1, 2, 3]]), np.array([[3, 2, 1, 0]])
    >>> between_neighbours(Relation((4,), (4,), at, at, flipped, flipped, still, still), 0)
    [((-1, -1), 3)]
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
    if len(relation) > _LARGE and _has_none(relation, axis, around):
        return []
    order = sorting(keys([around, first], len(relation)))
    together = np.diff(around[order]) == 0
    gaps = first[order[1:]] - last[order[:-1]]
    if (together & (gaps < 1)).any():
        return None
    touching = np.flatnonzero(together & (gaps == 1))
    return _frequent(_Touching(relation, axis, order[touching], order[touching + 1]).steps())


_LARGE, _SAMPLED, _ENOUGH = 2**18, 2**15, 2**12
"""Of more rows about so many, on some lines along the axis, are looked at first, where these are enough."""


def _has_none(relation: Relation, axis: int, around: Ints) -> bool:
    """Whether next to none touch and fit on lines here and there, which in order cost little: all of them would have to be sorted."""
    lines = np.flatnonzero(around % (len(relation) // _SAMPLED) == 0)
    if not _ENOUGH < len(lines) < len(relation) // 4:
        return False
    found = between_neighbours(relation.take(lines), axis)
    return found is not None and sum(count for _, count in found) < len(lines) // 256


_MOST_AXES = 16
"""Of more the steps do not fit into one number."""


@dataclass(frozen=True, eq=False)
class _Touching:
    """Pairs of rows of which the second begins where the first ends, along an axis."""

    relation: Relation
    axis: int
    before: Ints
    behind: Ints

    def steps(self) -> Ints:
        """(2m, pairs): by how much each end moves from the one row to the other, of the pairs that a pattern makes one row."""
        relation, pairs = self.relation, self
        found: list[Ints] = []
        for offsets, moves in ((relation.in_lo, relation.lo_moves), (relation.in_hi, relation.hi_moves)):
            for own in range(len(offsets)):
                step, able = pairs._of_end(offsets[own], moves[own])
                if not able.all():
                    pairs, found = replace(pairs, before=pairs.before[able], behind=pairs.behind[able]), [one[able] for one in found]
                found.append(step[able])
        return np.array(found, dtype=np.int64).reshape(len(found), len(pairs.before))

    def _of_end(self, offset: Ints, moves: Moves) -> tuple[Ints, Bools]:
        """The step of one end, and where it is one that both rows can be told by: a wide row moves as it does."""
        before, behind, relation, axis = self.before, self.behind, self.relation, self.axis
        step = offset[behind] - offset[before]
        if not relation.motions:
            able = np.abs(step) <= 1
            for rows in (before, behind):
                able &= (step == 0) | ~self._is_wide(rows)
            return step, able
        along = np.where(np.abs(moves) == axis + 1, np.sign(moves), 0).astype(np.int64)
        step += along[behind] * relation.out_lo[axis, behind] - along[before] * relation.out_hi[axis, before]
        aside = np.where(along == 0, moves, 0)
        able = (np.abs(step) <= 1) & (aside[before] == aside[behind]) & ((aside[before] == 0) | (step == 0))
        for rows in (before, behind):
            able &= ~self._is_wide(rows) | (step == along[rows])
        return step, able

    def _is_wide(self, rows: Ints) -> Bools:
        return np.asarray(self.relation.out_lo[self.axis, rows] != self.relation.out_hi[self.axis, rows])


def _frequent(steps: Ints) -> list[tuple[Pattern, int]]:
    code = np.zeros(steps.shape[1], dtype=np.int64)
    for step in steps:
        code = code * 3 + step + 1
    codes, counts = np.unique(code, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    powers = list(reversed(range(len(steps))))
    told = zip(codes[order].tolist(), counts[order].tolist(), strict=True)
    return [(tuple(code // 3**power % 3 - 1 for power in powers), count) for code, count in told]
