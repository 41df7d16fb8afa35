"""The cells of an array that a reason speaks of: those in its boxes, under its mask, its spans', its features'.

A reason is read by its fields, as reasons are declared above this package: `boxes`, `runs`, `spans` or `features`. An array of truth values
is a mask, one of numbers has the weight of each cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, Shape, joined, nothing
from airflow_lineage_provider.arrays.compress import merge
from airflow_lineage_provider.arrays.given import check_shape, has_mask
from airflow_lineage_provider.arrays.grouping import Ints, ranges
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.arrays.relation import Relation
from airflow_lineage_provider.arrays.tracking.array import Values
from airflow_lineage_provider.arrays.tracking.relations import along
from airflow_lineage_provider.errors import InvalidCells
from airflow_lineage_provider.shown import shown

IMAGE_AXES = (0, 1)
"""The axes of an image's rows and columns."""


@dataclass(frozen=True, eq=False)
class Marked:
    """A part of a reason, and the cells that it speaks of.

    :ivar part: its place in the reason, from 0.
    :ivar label: what it says of them, None where nothing.
    :ivar weight: its score, weight or contribution; None where it has none.
    :ivar region: the cells.
    """

    part: int
    label: str | None
    weight: float | None
    region: Region

    @property
    def boxes(self) -> Ints:
        """(boxes, axes, 2): [start, stop) along each axis, of boxes of which no two overlap."""
        found = self.region.boxes
        return np.stack([found.lo.T, found.hi.T + 1], axis=-1)


def of_reason(reason: Any, shape: Sequence[int], *, threshold: float = 0.0, axes: Sequence[int] = IMAGE_AXES) -> tuple[Marked, ...]:
    """The parts of a reason with their cells of an array.

    :param reason: `payload.Boxes`, `Mask`, `TextSpans` (of an array of characters) or `Attributions` (a cell for each feature, in order);
        or, of the array's first axes, an array of truth values, or of the weights of cells.
    :param shape: of the array that the reason is about.
    :param threshold: parts whose weight is of a smaller size are left out, and cells of an array of weights; those without weight are
        left out anyway.
    :param axes: of boxes: the array's axes of rows and of columns.
    :raises InvalidCells: the reason is of another kind, or does not fit the array.
    """
    found = _parts(reason, check_shape("of a reason", shape), tuple(axes), threshold)
    return tuple(one for one in found if _counts(one, threshold))


def behind(reason: Any, shape: Sequence[int], *, threshold: float = 0.0, axes: Sequence[int] = IMAGE_AXES, parts: bool = False) -> Relation:
    """What a reason says of the lineage of its decision, as a relation: the cells of the array that stand behind it.

    :param parts: whether each part of the reason is a cell of the decision; without, the decision is one cell, of shape ().
    Else as `of_reason`, which has weights, too: a relation has none.

    >>> found = behind(np.array([[False, True, True], [False, True, True]]), (2, 3))
    >>> found.out_shape, found.in_shape, found.in_lo.tolist(), found.in_hi.tolist()
    ((), (2, 3), [[0], [1]], [[1], [2]])
    """
    sides = check_shape("of a reason", shape)
    found = list(_parts(reason, sides, tuple(axes), threshold))
    chosen = [one for one in found if _counts(one, threshold)]
    regions = [(one.part, one.region) for one in chosen] if parts else [(0, together(chosen, sides))]
    output = (len(found),) if parts else ()
    own = np.repeat([part for part, _ in regions], [len(region.boxes) for _, region in regions]).astype(np.int64)
    boxes = joined([nothing(len(sides)), *(region.boxes for _, region in regions)])
    still, outputs = np.zeros((len(sides), len(boxes)), dtype=np.int8), own[None][: len(output)]
    return merge(Relation(output, sides, outputs, outputs.copy(), boxes.lo, boxes.hi, still, still.copy()))


def _counts(part: Marked, threshold: float) -> bool:
    return part.weight is None or not abs(part.weight) < threshold


def _parts(reason: Any, shape: Shape, axes: tuple[int, ...], threshold: float) -> Iterator[Marked]:
    if isinstance(reason, np.ndarray | np.generic):
        yield _of_array(np.asanyarray(reason), shape, threshold)
    elif hasattr(reason, "boxes"):
        yield from _of_boxes(reason, shape, axes)
    elif hasattr(reason, "runs"):
        yield _of_mask(reason, shape)
    elif hasattr(reason, "spans"):
        yield from _of_spans(reason, shape)
    elif hasattr(reason, "features"):
        yield from _of_features(reason, shape)
    else:
        wanted = "Boxes, Mask, TextSpans, Attributions, or an array of truth values or weights"
        raise InvalidCells(f"{type(reason).__name__} marks no cells; say them (cells=), or give {wanted}")


def _of_boxes(reason: Any, shape: Shape, axes: tuple[int, ...]) -> Iterator[Marked]:
    """Every pixel that a box touches; what of it is beyond the image is no pixel."""
    if len(axes) != 2 or not all(-len(shape) <= axis < len(shape) for axis in axes) or len(set(along(axes, len(shape)))) != 2:
        raise InvalidCells(f"an array of shape {shape} has no axes {shown(axes)} of rows and columns for boxes")
    rows, columns = along(axes, len(shape))
    if reason.image_size is not None and tuple(reason.image_size) != (shape[columns], shape[rows]):
        size = " × ".join(map(str, reason.image_size))
        raise InvalidCells(f"the boxes are on an image of {size} pixels, and the array has {shape[columns]} × {shape[rows]} (axes={axes})")
    for part, box in enumerate(reason.boxes):
        if not all(map(math.isfinite, (box.x, box.y, box.width, box.height))):
            raise InvalidCells(f"box {part} has no finite place: x {box.x}, y {box.y}, {box.width} × {box.height}")
        ends = {rows: (box.y, box.y + box.height), columns: (box.x, box.x + box.width)}
        sides = [_touched(*ends[axis], side) if axis in ends else (0, side) for axis, side in enumerate(shape)]
        yield Marked(part, box.label, box.score, _region(shape, [sides]))


def _touched(start: float, end: float, side: int) -> tuple[int, int]:
    return max(math.floor(start), 0), min(math.ceil(end), side)


def _of_mask(reason: Any, shape: Shape) -> Marked:
    if tuple(reason.shape) != shape:
        raise InvalidCells(f"the mask is of shape {tuple(reason.shape)}, and the array of {shape}")
    bits = np.zeros(math.prod(shape), dtype=np.bool_)
    if reason.runs:
        starts, lengths = np.array(reason.runs, dtype=np.int64).T
        bits[ranges(starts, starts + lengths)[0]] = True
    return Marked(0, reason.label, None, Region(shape, bits=bits.reshape(shape)))


def _of_array(reason: Values, shape: Shape, threshold: float) -> Marked:
    """A mask, or weights, of the array's first axes; along all others every cell."""
    if has_mask(reason) or reason.dtype.kind not in "biuf":
        raise InvalidCells(f"the cells that count are told by truth values or weights, not by an array of {reason.dtype}, or a masked one")
    if reason.shape != shape[: reason.ndim]:
        raise InvalidCells(f"the reason is an array of shape {reason.shape}, and the array that it is about has {shape}")
    bits = reason if reason.dtype.kind == "b" else (np.abs(reason) >= threshold) & (reason != 0) & (reason == reason)
    whole = np.broadcast_to(bits.reshape(bits.shape + (1,) * (len(shape) - bits.ndim)), shape)
    return Marked(0, None, None, Region(shape, bits=np.array(whole)))


def _of_spans(reason: Any, shape: Shape) -> Iterator[Marked]:
    if len(shape) != 1:
        raise InvalidCells(f"spans are of a text, an array of one axis, and the array has shape {shape}")
    for part, span in enumerate(reason.spans):
        if span.end > shape[0]:
            raise InvalidCells(f"span {part} ends at character {span.end}, and the array has {shape[0]}")
        yield Marked(part, span.label, span.weight, _region(shape, [[(span.start, span.end)]]))


def _of_features(reason: Any, shape: Shape) -> Iterator[Marked]:
    if shape != (len(reason.features),):
        raise InvalidCells(f"{len(reason.features)} features are that many cells of an array of one axis; this one has shape {shape}")
    for part, one in enumerate(reason.features):
        yield Marked(part, one.feature, one.contribution, _region(shape, [[(part, part + 1)]]))


def _region(shape: Shape, boxes: Sequence[Sequence[tuple[int, int]]]) -> Region:
    """The cells of boxes of [start, stop) along each axis, without the empty ones."""
    full = [box for box in boxes if all(start < stop for start, stop in box)]
    ends = np.array(full, dtype=np.int64).reshape(len(full), len(shape), 2)
    return Region(shape, parts=Boxes(ends[..., 0].T.copy(), ends[..., 1].T - 1))


def marks_cells(reason: Any) -> bool:
    """Whether a reason is of a kind that marks cells itself."""
    return any(hasattr(reason, one) for one in ("boxes", "runs", "spans", "features"))


def together(marks: Sequence[Marked], shape: Shape) -> Region:
    """The cells of all parts."""
    return Region(shape, parts=joined([nothing(len(shape)), *(one.region.boxes for one in marks)]))
