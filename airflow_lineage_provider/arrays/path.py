"""A query along a path of relations (DSLog, Sec. V): join, project and merge, hop by hop, by boxes or by bitmaps as it costs less."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from airflow_lineage_provider.arrays import dense, join
from airflow_lineage_provider.arrays.boxes import DENSE_CELLS, boxes_of, nothing
from airflow_lineage_provider.arrays.plain import FEW, FEW_TO_TELL_APART, apart
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.side import Side

_DENSE_RANK = 8
"""A bitmap's prefix sums are read at 2 ** rank corners for each row."""
_BLOCKS = 4
"""For each of so few boxes rows are looked at anew."""
_SMALL = 2**21
"""So few cells of two arrays are gone through as quickly as some hundred points."""


class Step(NamedTuple):
    """A relation, and the way it is gone."""

    relation: Relation
    backward: bool

    @property
    def side(self) -> Side:
        """The relation's, which is asked about."""
        return self.relation.out_side if self.backward else self.relation.in_side

    def candidates(self, region: Region) -> int:
        """How many pairs of a row and a box have to be looked at."""
        return join.candidates(region.boxes if region.at_hand is None else region.at_hand, self.side)[0]


@dataclass
class Hop:
    """One hop of a query, as it went. (A frozen one takes twice as long to make.)

    :ivar source: the array it started from.
    :ivar target: the array it led to.
    :ivar boxes: how many boxes there are in what it found; runs of cells where bitmaps were used.
    :ivar ms: how long it took, in milliseconds.
    :ivar execution: ``boxes`` or ``dense``.
    """

    source: str
    target: str
    boxes: int
    ms: float
    execution: str


def is_dense(step: Step, region: Region) -> bool:
    """Whether bitmaps cost less than boxes."""
    relation = step.relation
    if region.is_empty:
        return False
    if relation.is_identity:
        return region.bits is not None
    shapes = (relation.in_shape, relation.out_shape)
    cells = sum(map(math.prod, shapes))
    if cells <= DENSE_CELLS and _are_blocks(step, region) and (not step.backward or _is_painted(region, cells)):
        return True
    if step.backward and not region.unread and join.are_numbered(relation, region.cells_at_most):
        return False
    if cells > DENSE_CELLS or max(map(len, shapes)) > _DENSE_RANK:
        return False
    size = region.size if region.at_hand is None else len(region.at_hand)
    if len(relation) == 1 and size <= 1:
        return False
    # What has to be looked at to tell more costs more than many a hop.
    boxes, painted = _cost(region, size), _painting(region) + dense.making(relation)
    least = dense.least_cost(relation) + painted
    if boxes + size * _CANDIDATE * len(relation) <= least:
        return False
    if not region.unread and join.is_scanned(size, step.side):
        met = step.candidates(region)
        # Where nothing is met, the other side of the rows need not be read.
        if not met or boxes + _CANDIDATE * met <= least:
            return False
    bitmaps = dense.cost(relation, step.backward) + painted
    if boxes + _SORTED * step.side.index_rows > bitmaps:
        step.side.passed_by += 1
        return True
    return boxes + _CANDIDATE * step.candidates(region) > bitmaps


def _cost(region: Region, size: int) -> float:
    """Nanoseconds of a hop by so many boxes, at least: some for whatever is done, and to find out which overlap, or what a bitmap has."""
    telling = 0 if region.is_told_apart else _TELLING + _APART * size
    return _HOP + telling + _BOX * size + _BIT * region.unread


def _painting(region: Region) -> float:
    """Nanoseconds to make a bitmap of it, about."""
    if region.has_mask:
        return 0.0
    return min(_PAINTED * region.cells_at_most, _CHANGED * region.cells)


_HOP, _TELLING, _APART, _BOX, _CANDIDATE, _SORTED, _BIT, _PAINTED, _CHANGED = 100_000, 50_000, 300, 150, 250, 60, 7, 20, 4
"""Nanoseconds, measured, as `dense.cost` has its own."""


def follow(
    steps: Sequence[Step],
    names: Sequence[str],
    region: Region,
    *,
    merge: bool = True,
    choose: Callable[[Step, Region], bool] = is_dense,
) -> tuple[Region, tuple[Hop, ...]]:
    """The cells of the last array that the path leads to from cells of the first, and how the hops went.

    :param names: of the arrays, one more than steps.
    :param merge: merge boxes that overlap or touch after every hop; without it only the last answer is (the paper's NoMerge, all in boxes).
    :param choose: whether a hop goes by bitmaps.
    """
    hops = []
    for step, source, target in zip(steps, names[:-1], names[1:], strict=True):
        start = time.perf_counter()
        execution = "boxes"
        if merge and _in_plain_numbers(step, region):
            region = region if step.relation.is_identity else _by_numbers(step, region)
        elif merge and choose(step, region):
            region, execution = _by_bitmaps(step, region), "dense"
        else:
            region = _by_boxes(step, region, merge)
        found = len(region.parts) if region.parts is not None and not merge else region.size
        hops.append(Hop(source, target, found, (time.perf_counter() - start) * 1000, execution))
    return region, tuple(hops)


def _by_bitmaps(step: Step, region: Region) -> Region:
    if step.relation.is_identity:
        return region
    if _are_blocks(step, region):
        assert step.relation.in_order is not None
        return step.relation.in_order.reached(region.plain or (), is_backward=step.backward)
    way = dense.backward if step.backward else dense.forward
    return Region(_reached(step), bits=way(step.relation, region.mask))


def _are_blocks(step: Step, region: Region) -> bool:
    """Whether the cells are in so few boxes that only the rows of these are read, of a relation that has them in order."""
    return join.are_in_order(step.relation) and region.plain is not None and len(region.plain) <= _BLOCKS


def _is_painted(region: Region, cells: int) -> bool:
    """Whether what is behind a block is a bitmap rather than points, which cost each hop further on more than one of so many cells."""
    return region.cells_at_most > (FEW_TO_TELL_APART if cells <= _SMALL else join.NUMBERED)


def _by_boxes(step: Step, region: Region, merge: bool) -> Region:
    if region.is_empty:
        return _none(step)
    if merge and step.relation.is_identity:
        return region
    way = join.backward if step.backward else join.forward
    boxes = region.boxes if merge or region.parts is None else region.parts
    return Region(_reached(step), parts=way(step.relation, boxes), are_apart=merge and _keeps_apart(step))


def _in_plain_numbers(step: Step, region: Region) -> bool:
    """Whether rows and boxes are so few that they are gone through one by one."""
    rows, boxes = step.relation.few, region.plain
    return rows is not None and boxes is not None and len(rows) * len(boxes) <= FEW and not (step.backward and step.relation.has_shared)


def _by_numbers(step: Step, region: Region) -> Region:
    rows, boxes, shape = step.relation.few or (), region.plain or (), _reached(step)
    asked = ((row.backward if step.backward else row.forward, box) for row in rows for box in boxes)
    found = [one for way, box in asked if (one := way(*box)) is not None]
    if not found:
        return _none(step)
    if len(found) == 1 or _keeps_apart(step):
        return Region(shape, few=tuple(found))
    alone = apart(found) if len(found) <= FEW_TO_TELL_APART else None
    return Region(shape, few=alone) if alone is not None else Region(shape, parts=boxes_of(found, len(shape)))


def _keeps_apart(step: Step) -> bool:
    """Whether boxes that do not overlap lead to such."""
    rows = step.relation.few
    return rows is not None and len(rows) == 1 and rows[0].keeps_apart[not step.backward]


def _none(step: Step) -> Region:
    shape = _reached(step)
    return Region(shape, parts=nothing(len(shape)))


def _reached(step: Step) -> tuple[int, ...]:
    return step.relation.in_shape if step.backward else step.relation.out_shape
