"""A set of cells of one array, as boxes that do not overlap, a few of them in plain numbers, or as a bitmap: whichever is at hand, and the
others when they are asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airflow_lineage_provider.arrays.boxes import DENSE_CELLS, Boxes, Shape, boxes_of, common, from_mask, run_count, to_mask, union
from airflow_lineage_provider.arrays.grouping import Bools
from airflow_lineage_provider.arrays.plain import FEW, FEW_TO_TELL_APART, Box, apart

_FEW, _CELLS_A_POINT, _CELLS_A_BOX = 256, 200, 10
"""More boxes than a few, and than one for so many cells of the array, are made a bitmap (measured)."""
_PAIRS = 2**22
"""Of more pairs of boxes than these, bitmaps say what they have in common."""


@dataclass(eq=False)
class Region:
    """Cells of an array of this shape, which are no others later (made for each hop: a frozen one takes twice as long).

    Exactly one of ``parts``, which may overlap, ``bits`` and ``few``, which do not, is given.

    :ivar are_apart: whether it is known that no two of ``parts`` overlap.
    """

    shape: Shape
    parts: Boxes | None = None
    bits: Bools | None = None
    few: tuple[Box, ...] | None = None
    are_apart: bool = False

    @cached_property
    def plain(self) -> tuple[Box, ...] | None:
        """Boxes of which no two overlap in plain numbers, where they are few and can be had without a look at a bitmap."""
        if self.few is not None or self.parts is None or not 0 < len(self.parts) <= (FEW if self.are_apart else FEW_TO_TELL_APART):
            return self.few
        boxes = tuple(zip(self.parts.lo.T.tolist(), self.parts.hi.T.tolist(), strict=True))
        return boxes if self.are_apart else apart(boxes)

    @property
    def is_empty(self) -> bool:
        """Whether it is known to have no cell, without a look at any."""
        return self.parts is not None and not len(self.parts)

    @cached_property
    def boxes(self) -> Boxes:
        """Boxes of which no two overlap.

        :raises TooManyCells: there are too many of them to be told apart.
        """
        if self.plain is not None:
            return boxes_of(self.plain, len(self.shape))
        if self.parts is not None and self.are_apart:
            return self.parts
        return union(self.parts, self.shape) if self.parts is not None and not self._is_crowded else from_mask(self.mask)

    @cached_property
    def mask(self) -> Bools:
        """A bitmap of the whole array."""
        if self.bits is not None:
            return self.bits
        return to_mask(self.boxes if self.parts is None else self.parts, self.shape)

    @cached_property
    def _is_crowded(self) -> bool:
        """Whether there are so many boxes that a bitmap of the whole array costs less than telling them apart."""
        if self.parts is None or self.are_apart or len(self.parts) <= _FEW or self.cells > DENSE_CELLS:
            return False
        is_points = bool((self.parts.lo == self.parts.hi).all())
        return len(self.parts) > self.cells // (_CELLS_A_POINT if is_points else _CELLS_A_BOX)

    @property
    def size(self) -> int:
        """About how many boxes there are, without making them."""
        if self.plain is not None:
            return len(self.plain)
        return self._runs if "boxes" not in self.__dict__ and (self.bits is not None or self._is_crowded) else len(self.boxes)

    @cached_property
    def _runs(self) -> int:
        return run_count(self.mask)

    @property
    def at_hand(self) -> Boxes | None:
        """Its boxes, which may overlap, where they can be had without a look at a bitmap and without telling them apart."""
        if self.parts is not None and not self.is_told_apart:
            return self.parts
        return None if self.bits is not None and "boxes" not in self.__dict__ else self.boxes

    @property
    def is_told_apart(self) -> bool:
        """Whether it is known which of its boxes overlap."""
        return self.are_apart or self.parts is None or "boxes" in self.__dict__ or self.plain is not None

    @cached_property
    def cells_at_most(self) -> int:
        """How many cells its boxes have, those twice that two of them have."""
        return int(self.at_hand.volumes().sum()) if self.at_hand is not None else self.cells

    @property
    def has_mask(self) -> bool:
        """Whether there is a bitmap already."""
        return self.bits is not None or "mask" in self.__dict__

    @property
    def unread(self) -> int:
        """How many cells of a bitmap have yet to be looked at for boxes."""
        return self.cells if self.bits is not None and "boxes" not in self.__dict__ else 0

    @property
    def count(self) -> int:
        """How many cells there are; none is enumerated."""
        return int(np.count_nonzero(self.mask)) if self.bits is not None or self._is_crowded else int(self.boxes.volumes().sum())

    @property
    def cells(self) -> int:
        """How many cells the whole array has."""
        return math.prod(self.shape)

    def common(self, other: Region) -> Region:
        """The cells that are in both, which are of one array."""
        if len(self.boxes) * len(other.boxes) > _PAIRS:
            return Region(self.shape, bits=self.mask & other.mask)
        return Region(self.shape, parts=common(self.boxes, other.boxes))
