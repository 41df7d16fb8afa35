"""A set of cells of one array, as boxes that do not overlap or as a bitmap: whichever is at hand, and the other when it is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, Shape, common, from_mask, run_count, to_mask, union
from airflow_lineage_provider.arrays.grouping import Bools

_PAIRS = 2**22
"""Of more pairs of boxes than these, bitmaps say what they have in common."""


@dataclass(frozen=True, eq=False)
class Region:
    """Cells of an array of this shape; exactly one of ``parts``, which may overlap, and ``bits`` is given."""

    shape: Shape
    parts: Boxes | None = None
    bits: Bools | None = None

    @cached_property
    def boxes(self) -> Boxes:
        """Boxes of which no two overlap.

        :raises TooManyCells: there are too many of them to be told apart.
        """
        return union(self.parts, self.shape) if self.parts is not None else from_mask(self._given)

    @cached_property
    def mask(self) -> Bools:
        """A bitmap of the whole array."""
        return self._given if self.parts is None else to_mask(self.parts, self.shape)

    @property
    def _given(self) -> Bools:
        assert self.bits is not None
        return self.bits

    @property
    def size(self) -> int:
        """About how many boxes there are, without making them."""
        return run_count(self._given) if self.bits is not None and "boxes" not in self.__dict__ else len(self.boxes)

    @property
    def count(self) -> int:
        """How many cells there are; none is enumerated."""
        return int(np.count_nonzero(self.bits)) if self.bits is not None else int(self.boxes.volumes().sum())

    @property
    def cells(self) -> int:
        """How many cells the whole array has."""
        return math.prod(self.shape)

    def common(self, other: Region) -> Region:
        """The cells that are in both, which are of one array."""
        if len(self.boxes) * len(other.boxes) > _PAIRS:
            return Region(self.shape, bits=self.mask & other.mask)
        return Region(self.shape, parts=common(self.boxes, other.boxes))
