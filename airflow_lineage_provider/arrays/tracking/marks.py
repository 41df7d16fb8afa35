"""The cells of an array that a reason speaks of: those in its boxes, under its mask, of each of its weights, its spans', its features'.

A reason is read by its fields, as reasons are declared above this package: `boxes`, `runs`, `levels`, `spans` or `features`. An array of
truth values is a mask, one of numbers has the weight of each cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, Shape, from_mask, joined, nothing
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

    :param reason: `payload.Boxes`, `Mask`, `Weights`, `TextSpans` (of an array of characters) or `Attributions` (a cell for each feature,
        in order); or, of the array's first axes, an array of truth values, or of the weights of cells. Of weights each different one is
        a part, the largest size first; cells of weight 0 or NaN are of none.
    :param shape: of the array that the reason is about.
    :param threshold: parts whose weight is of a smaller size are left out; those without weight never are.
    :param axes: of boxes: the array's axes of rows and of columns.
    :raises InvalidCells: the reason is of another kind, or does not fit the array.
    """
    found = _parts(reason, check_shape("of a reason", shape), tuple(axes))
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
    found = list(_parts(reason, sides, tuple(axes))) if parts else []
    chosen = [(one.part, one.region) for one in found if _counts(one, threshold)]
    regions = chosen if parts else [(0, all_of(reason, sides, threshold=threshold, axes=axes))]
    output = (len(found),) if parts else ()
    own = np.repeat([part for part, _ in regions], [len(region.boxes) for _, region in regions]).astype(np.int64)
    boxes = joined([nothing(len(sides)), *(region.boxes for _, region in regions)])
    still, outputs = np.zeros((len(sides), len(boxes)), dtype=np.int8), own[None][: len(output)]
    return merge(Relation(output, sides, outputs, outputs.copy(), boxes.lo, boxes.hi, still, still.copy()))


def all_of(reason: Any, shape: Shape, *, threshold: float = 0.0, axes: Sequence[int] = IMAGE_AXES) -> Region:
    """The cells of all parts, as of `of_reason`."""
    weights = _weights(reason)
    if weights is not None:
        return _above(weights, shape, threshold)
    marks = of_reason(reason, shape, threshold=threshold, axes=axes)
    return Region(shape, parts=joined([nothing(len(shape)), *(one.region.boxes for one in marks)]))


def _counts(part: Marked, threshold: float) -> bool:
    return part.weight is None or not abs(part.weight) < threshold


def _parts(reason: Any, shape: Shape, axes: tuple[int, ...]) -> Iterator[Marked]:
    weights = _weights(reason)
    if weights is not None:
        yield from _of_weights(weights, shape, getattr(reason, "label", None))
    elif isinstance(reason, np.ndarray | np.generic):
        yield Marked(0, None, None, _region_of(np.asanyarray(reason), shape))
    elif hasattr(reason, "boxes"):
        yield from _of_boxes(reason, shape, axes)
    elif hasattr(reason, "runs"):
        yield _of_mask(reason, shape)
    elif hasattr(reason, "spans"):
        yield from _of_spans(reason, shape)
    elif hasattr(reason, "features"):
        yield from _of_features(reason, shape)
    else:
        wanted = "Boxes, Mask, Weights, TextSpans, Attributions, or an array of truth values or weights"
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


def _weights(reason: Any) -> Values | None:
    """The weights of the cells of an array's first axes; None for a reason of another kind."""
    if hasattr(reason, "levels") and not isinstance(reason, np.ndarray):
        return np.asarray(reason.to_array())
    if not isinstance(reason, np.ndarray | np.generic) or reason.dtype.kind == "b":
        return None
    if has_mask(reason) or reason.dtype.kind not in "iuf":
        raise InvalidCells(f"the cells that count are told by truth values or weights, not by an array of {reason.dtype}, or a masked one")
    return np.asarray(reason)


def _above(weights: Values, shape: Shape, threshold: float) -> Region:
    """All cells of a weight of that size or more."""
    return _region_of((np.abs(weights.astype(np.float64)) >= threshold) & (weights != 0) & (weights == weights), shape)


def _region_of(bits: Values, shape: Shape) -> Region:
    """A mask of the array's first axes; along all others every cell."""
    if has_mask(bits):
        raise InvalidCells("the cells that count are told by truth values or weights, not by a masked array")
    _check_first_axes(bits.shape, shape)
    whole = np.broadcast_to(bits.reshape(bits.shape + (1,) * (len(shape) - bits.ndim)), shape)
    return Region(shape, bits=np.array(whole))


def _check_first_axes(given: Shape, shape: Shape) -> None:
    if given != shape[: len(given)]:
        raise InvalidCells(f"the reason is an array of shape {given}, and the array that it is about has {shape}")


def _of_weights(weights: Values, shape: Shape, label: str | None) -> Iterator[Marked]:
    """A part for each different weight, the largest size first; along all other axes every cell."""
    _check_first_axes(weights.shape, shape)
    flat = weights.ravel()
    at = np.flatnonzero((flat != 0) & (flat == flat))
    values, which = np.unique(flat[at], return_inverse=True)
    cells = at[np.argsort(which, kind="stable")]
    ends = np.cumsum(np.bincount(which, minlength=len(values)))
    sizes = np.abs(values.astype(np.float64))
    for part, level in enumerate(np.lexsort((values < 0, -sizes)).tolist()):
        first, end = (ends[level - 1] if level else 0), ends[level]
        found = _boxes_of(cells[first:end], weights.shape)
        rest = np.array(shape[weights.ndim :], dtype=np.int64)[:, None].repeat(len(found), axis=1)
        whole = Boxes(np.vstack([found.lo, np.zeros_like(rest)]), np.vstack([found.hi, rest - 1]))
        yield Marked(
            part, label, float(values[level]), Region(shape, parts=whole if (rest > 0).all() else nothing(len(shape)), are_apart=True)
        )


def _boxes_of(cells: Ints, shape: Shape) -> Boxes:
    """Boxes of which no two overlap, of cells by their row-major numbers, of which there is one at least."""
    if not shape:
        return from_mask(np.array(True))
    places = np.array(np.unravel_index(cells, shape), dtype=np.int64)
    if len(cells) == 1:
        return Boxes(places, places.copy())
    first, last = places.min(axis=1), places.max(axis=1)
    bits = np.zeros(last - first + 1, dtype=np.bool_)
    bits[tuple(places - first[:, None])] = True
    found = from_mask(bits)
    return Boxes(found.lo + first[:, None], found.hi + first[:, None])


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
    return any(hasattr(reason, one) for one in ("boxes", "runs", "levels", "spans", "features"))
