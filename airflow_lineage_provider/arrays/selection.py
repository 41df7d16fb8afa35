"""The cells that somebody asks about: an index, slices, a bitmap, an array of indices, boxes."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.boxes import Boxes, Shape
from airflow_lineage_provider.arrays.given import has_mask
from airflow_lineage_provider.arrays.grouping import Bools, Ints
from airflow_lineage_provider.arrays.labels import NO_LABELS, Labels, position
from airflow_lineage_provider.arrays.region import Region
from airflow_lineage_provider.errors import InvalidCells
from airflow_lineage_provider.shown import shown

_MOST_BOXES = 2**24
"""The most boxes that slices with steps are."""
_LARGE = 2**16
"""So few bytes are read as soon as parts of them, which take a statement more."""
_SHARE = 4
"""By so much an axis has to be longer than what is asked about, that rows are read alone."""
_MOST_BYTES = 2**59


def in_parts(cells: Any) -> int | None:
    """Of how many bytes relations have to be, that parts of them are worth reading for a question about these cells of an array whose shape
    is not known yet; None where all of them is read.

    :param cells: as `selected` has them, if they are such.
    """
    if isinstance(cells, np.ndarray) and cells.ndim:
        if cells.dtype.kind not in "iu":
            # From a bitmap answers go by bitmaps, for which all rows are read.
            return None
        if cells.ndim == 3 and cells.shape[1] and cells.shape[2] == 2:
            # (Of one box, or a few, in plain numbers.)
            of_boxes = sum(end - begin for begin, end in cells[:, 0].tolist())
            return max(_LARGE * len(cells), _of_sides(of_boxes, cells.shape[1]))
        return _LARGE * max(1, len(cells))
    if isinstance(cells, list):
        return _LARGE * max(1, len(cells))
    index = cells if isinstance(cells, tuple) else (cells,)
    positions = _positions(index[0]) if index else None
    return None if positions is None else max(_LARGE, _of_sides(positions, max(2, len(index))))


def _positions(one: Any) -> int | None:
    """How many positions along the first axis a part of an index is; None where that hangs on the array."""
    if isinstance(one, slice):
        ends = one.start or 0, one.stop
        return ends[1] - ends[0] if all(isinstance(end, int) for end in ends) else None
    return None if one is Ellipsis or one is None else len(one) if isinstance(one, list) else 1


def _of_sides(positions: int, rank: int) -> int:
    """Of which relations so many positions along the first axis are a small share, if all axes are about as long."""
    # (A row behind a sort takes one byte or two.)
    return min(int((_SHARE * max(positions, 0)) ** min(rank, 64)), _MOST_BYTES)


def selected(cells: Any, name: str, shape: Shape, labels: Labels = NO_LABELS) -> Region:
    """The cells of an array that are meant.

    :param cells: what `numpy.s_` makes (whole numbers, slices, ``...``, and along an axis that has labels one, or a list of some), a bool
        array of the array's shape, integers of shape (k, axes) for k cells, or integers of shape (k, axes, 2) for k boxes, [start, stop).
    :raises InvalidCells: they are none, or not all of this array; negative positions are none.
    """
    if type(cells) is np.ndarray and cells.shape == (1, len(shape), 2) and cells.dtype.kind in "iu":
        found = _one_box(cells[0].tolist(), shape)
        if found is not None:
            return found
    where = f"array {shown(name)} of shape {shape}"
    if has_mask(cells):
        raise InvalidCells(f"cells of {where} cannot be asked for by a masked array, whose mask would be lost: give its filled(…)")
    if isinstance(cells, list) and not are_labels(cells):
        cells = _listed(cells, where, len(shape))
    if not isinstance(cells, np.ndarray) or (cells.ndim == 0 and cells.dtype.kind in "iu"):
        return Region(shape, parts=_indexed(cells if isinstance(cells, tuple) else (cells,), where, shape, labels))
    if cells.dtype == np.bool_:
        return Region(shape, bits=_bitmap(cells, where, shape))
    if cells.dtype.kind not in "iu":
        raise InvalidCells(f"cells of {where} cannot be asked for by an array of type {cells.dtype}; give integers, or a bool array")
    if cells.ndim == 1 and len(shape) == 1:
        cells = cells.reshape(-1, 1)
    if cells.ndim == 2 and cells.shape[1] == len(shape):
        return Region(shape, parts=_checked(cells, cells + 1, where, shape))
    if cells.ndim == 3 and cells.shape[1:] == (len(shape), 2):
        return Region(shape, parts=_checked(cells[..., 0], cells[..., 1], where, shape))
    rank = len(shape)
    raise InvalidCells(
        f"integers for cells of {where} have shape (cells, {rank}) or, for boxes, (boxes, {rank}, 2); these have {cells.shape}"
    )


def _one_box(ends: list[list[int]], shape: Shape) -> Region | None:
    """A box of [start, stop) along each axis, in plain numbers; None where it is empty, or not of this array."""
    if not all(0 <= start < stop <= side for (start, stop), side in zip(ends, shape, strict=True)):
        return None
    return Region(shape, few=(([start for start, _ in ends], [stop - 1 for _, stop in ends]),))


def are_labels(one: Any) -> bool:
    """Whether it is a list of texts."""
    return isinstance(one, list) and bool(one) and all(isinstance(label, str) for label in one)


def _listed(cells: list[Any], where: str, rank: int) -> Any:
    try:
        found = np.asarray(cells)
    except (ValueError, OverflowError) as error:
        raise InvalidCells(f"{shown(cells)} is no list of cells of {where}: {error}") from error
    return found if found.size else np.zeros((0, rank), dtype=np.int64)


def _bitmap(mask: Bools, where: str, shape: Shape) -> Bools:
    if mask.shape != shape:
        raise InvalidCells(f"a mask for cells of {where} has this shape, too; this one has {mask.shape}")
    return mask.copy()


def _checked(start: Ints, stop: Ints, where: str, shape: Shape) -> Boxes:
    """Boxes of cells, (k, axes) each, without the empty ones."""
    start, stop = (np.asarray(one, dtype=np.int64).T for one in (start, stop))
    outside = (start < 0) | (stop > np.array(shape, dtype=np.int64).reshape(-1, 1)) | (stop < start)
    if outside.any():
        axis, row = (int(one) for one in np.argwhere(outside)[0])
        raise InvalidCells(f"[{start[axis, row]}, {stop[axis, row]}) along axis {axis} is not within {where}; positions count from 0")
    full = (stop > start).all(axis=0)
    return Boxes(start[:, full], stop[:, full] - 1)


def _indexed(index: tuple[Any, ...], where: str, shape: Shape, labels: Labels) -> Boxes:
    dots = [place for place, one in enumerate(index) if one is Ellipsis]
    missing = len(shape) - (len(index) - len(dots))
    if missing < 0 or len(dots) > 1:
        raise InvalidCells(f"{shown(index)} has not the {len(shape)} axes of {where}")
    place = dots[0] if dots else len(index)
    whole = (*index[:place], *[slice(None)] * missing, *index[place + len(dots) :])
    axes = [_along(one, axis, where, shape[axis], labels.get(axis)) for axis, one in enumerate(whole)]
    count = math.prod(map(len, axes))
    if count > _MOST_BOXES:
        raise InvalidCells(f"{shown(index)} are more than {_MOST_BOXES:,} separate boxes of {where}; give a mask")
    boxes = np.array(list(itertools.product(*axes)), dtype=np.int64).reshape(count, len(shape), 2)
    return _checked(boxes[..., 0], boxes[..., 1], where, shape)


def _along(one: Any, axis: int, where: str, side: int, labels: tuple[str, ...] | None) -> list[tuple[int, int]]:
    """The half-open intervals that a part of an index is."""
    if isinstance(one, str) or are_labels(one):
        wanted = [one] if isinstance(one, str) else one
        return [(at, at + 1) for at in {position(label, labels, f"axis {axis} of {where}") for label in wanted}]
    try:
        if not isinstance(one, slice):
            at = operator.index(one) if not isinstance(one, bool) else operator.index(None)  # type: ignore[arg-type]
            start, stop, step = at, at + 1, 1
        else:
            given = (one.start, 0), (one.stop, side), (one.step, 1)
            start, stop, step = (default if given is None else operator.index(given) for given, default in given)
    except TypeError:
        known = "a whole number, a slice, ..., a label, a mask, an array of indices or of boxes"
        raise InvalidCells(f"{shown(one)} is no cell along axis {axis} of {where}; it can be {known}") from None
    if start < 0 or stop > side or step < 1:
        raise InvalidCells(f"{shown(one)} along axis {axis} is not within {where}; positions count from 0, steps from 1")
    return [(start, max(start, stop))] if step == 1 else [(at, at + 1) for at in range(start, stop, step)]
