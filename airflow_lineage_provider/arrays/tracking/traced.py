"""A reason that says which cells of a decision's arguments it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.selection import selected
from airflow_lineage_provider.arrays.tracking.array import tracked_array
from airflow_lineage_provider.arrays.tracking.marks import IMAGE_AXES, all_of, marks_cells
from airflow_lineage_provider.arrays.tracking.tracing import record_result
from airflow_lineage_provider.arrays.tracking.ways import Way
from airflow_lineage_provider.errors import InvalidArray


@dataclass(frozen=True, eq=False)
class TracedSource:
    """A source behind a reason: its name and shape, and the paths to it, the one with the fewest cells first."""

    name: str
    shape: Shape
    ways: tuple[Way, ...]


@dataclass(frozen=True, eq=False)
class TracedReason:
    """A reason about a tracked array, with the lineage of the cells that it speaks of. Reasoning mode returns it in a reason's place.

    :ivar shape: the array's.
    :ivar cells: the boxes that were said, (boxes, axes, 2); None where the reason itself says them.
    """

    reason: Any
    shape: Shape
    cells: Any
    threshold: float
    axes: tuple[int, ...]
    sources: tuple[TracedSource, ...]


def traced(
    reason: Any, on: Any, *, cells: Any = None, threshold: float = 0.0, axes: Sequence[int] = IMAGE_AXES, influence: bool = False
) -> TracedReason:
    """A reason with the cells of the sources that stand behind it: return it from reasoning mode, in the reason's place.

    :param reason: what reasoning mode would return without.
    :param on: the tracked array that it is about.
    :param cells: of it, where the reason is of a kind that marks none; all by default.
    :param threshold: as of `of_reason`, as is ``axes``.
    :param influence: whether cells count that were only compared, or selected by.
    :raises NotTracked: it is about no tracked array.
    :raises InvalidArray: the array was made from no source.
    :raises InvalidCells: the reason does not fit the array.
    """
    array = tracked_array(on)
    says_itself = cells is None and marks_cells(reason)
    if says_itself:
        region = all_of(reason, array.shape, threshold=threshold, axes=axes)
    else:
        region = selected(... if cells is None else cells, "that the reason is about", array.shape)
    recorded = record_result(array.result, region, influence=influence)
    if not recorded.sources:
        raise InvalidArray("the reason's array was made from no source: begin with arrays.source(argument, array)")
    sources = tuple(TracedSource(name, recorded.sources[name].shape, tuple(recorded.ways(name))) for name in sorted(recorded.sources))
    said = None if says_itself else np.stack([region.boxes.lo.T, region.boxes.hi.T + 1], axis=-1)
    return TracedReason(reason, array.shape, said, float(threshold), tuple(map(int, axes)), sources)
