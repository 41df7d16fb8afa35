"""One side of a relation's rows, the outputs' or the inputs': their boxes, and what makes them quick to find, made when asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from airflow_lineage_provider.arrays.boxes import Boxes, Shape, flat
from airflow_lineage_provider.arrays.grouping import IntervalIndex, Ints


@dataclass(eq=False)
class Side:
    """n boxes of cells of an array of this shape.

    :ivar made: the boxes. :ivar passed_by: how often they were gone through without an index, as it costs more to make.
    :ivar held_against: the boxes that all were held against last, and what met: positions of rows, and of those.
    """

    rows: int
    shape: Shape
    made: Callable[[], Boxes]
    passed_by: int = 0
    held_against: tuple[Boxes, Ints, Ints] | None = None

    def __len__(self) -> int:
        return self.rows

    @cached_property
    def boxes(self) -> Boxes:
        """Them."""
        return self.made()

    @cached_property
    def index(self) -> tuple[IntervalIndex, ...]:
        """For each axis, the boxes by their interval."""
        return tuple(IntervalIndex.of(lo, hi) for lo, hi in zip(self.boxes.lo, self.boxes.hi, strict=True))

    @property
    def index_rows(self) -> float:
        """How many rows have yet to be sorted for the index, spread over as many hops as would have had a use of it."""
        return 0.0 if "index" in vars(self) else len(self) * len(self.shape) / (1 + self.passed_by)

    @cached_property
    def cells(self) -> Ints | None:
        """(n,) the numbers of the cells in C order, where each box is one cell; None where any is larger."""
        return flat(self.boxes.lo, self.shape) if bool((self.boxes.lo == self.boxes.hi).all()) else None
