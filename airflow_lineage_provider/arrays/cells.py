"""An answer: cells of one array, counted without being enumerated, and written out within a limit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from airflow_lineage_provider.arrays.boxes import cells_of
from airflow_lineage_provider.arrays.grouping import Bools, Ints
from airflow_lineage_provider.arrays.labels import NO_LABELS, Labels, labels_in
from airflow_lineage_provider.arrays.path import Hop
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.errors import TooManyCells
from airflow_lineage_provider.settings import cell_limit
from airflow_lineage_provider.shown import shown


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Cells of an array.

    :ivar array: the array's name.
    :ivar guarantee: ``exact``; ``superset``, some of these cells may be no part of the answer; or ``unavailable``, others may be. It is the
        weakest of the relations on the way.
    :ivar hops: how each hop of the path went.
    :ivar cause: why the guarantee is weaker than was said of the relations, if it is.
    :ivar axis_labels: of the whole array.
    """

    array: str
    region: Region
    guarantee: str
    hops: tuple[Hop, ...]
    cause: str = ""
    axis_labels: Labels = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Cells(array={self.array!r}, shape={self.shape}, count={self.count:,}, guarantee={self.guarantee!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.region.shape

    @property
    def count(self) -> int:
        """How many cells there are."""
        return self.region.count

    @property
    def labels(self) -> Labels:
        """Of each axis that has labels, those at which there are cells, in the array's order: which columns of a table they are in."""
        return labels_in(self.region.boxes, self.axis_labels) if self.axis_labels else NO_LABELS

    @property
    def boxes(self) -> Ints:
        """(boxes, axes, 2): [start, stop) along each axis of boxes of which no two overlap, in C order."""
        found = self.region.boxes
        order = np.lexsort(found.lo[::-1]) if found.rank else slice(None)
        return np.stack([found.lo.T, found.hi.T + 1], axis=-1)[order]

    def mask(self) -> Bools:
        """A bool array of the array's shape.

        :raises TooManyCells: the array has more cells than `settings.cell_limit`.
        """
        self._within(self.region.cells, "a mask of")
        return self.region.mask.copy()

    def indices(self) -> Ints:
        """(count, axes): the position of every cell, in C order.

        :raises TooManyCells: there are more than `settings.cell_limit`.
        """
        self._within(self.count, "the indices of")
        boxes = self.region.boxes
        cells, _ = cells_of(boxes.lo, boxes.hi)
        return np.ascontiguousarray(cells[:, np.lexsort(cells[::-1])].T) if len(cells) else cells.T

    def _within(self, cells: int, what: str) -> None:
        if cells > cell_limit():
            raise TooManyCells(
                f"{what} {cells:,} cells of array {shown(self.array)} would be more than {cell_limit():,} (AIRFLOW_LINEAGE_CELL_LIMIT); "
                ".count and .boxes have no limit"
            )
