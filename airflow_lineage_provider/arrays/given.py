"""What people give as lineage between two arrays, checked: pairs of cells, a capture, names and shapes."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from airflow_lineage_provider.arrays.boxes import Shape
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.errors import CaptureFailed, InvalidArray, InvalidRelation
from airflow_lineage_provider.shown import shown

LONGEST_SIDE = 2**31 - 1
"""The most positions along one axis."""
MOST_AXES = 32
"""As numpy had for long."""
MOST_CELLS = 2**62
"""The most cells of an array, so that they can be counted."""

_UNKEPT = re.compile("[\0\ud800-\udfff]")
"""NUL, and halves of pairs: no database keeps them."""

Capture = Callable[[tuple[int, ...]], Any]
"""Of a cell of the output, the cells of the input behind it: (cells, axes) integers, an empty list for none."""


def check_name(name: Any) -> str:
    """The name of an array: a text that can be stored.

    :raises InvalidArray: it is another thing, empty, or has a character that no database keeps.
    """
    if not is_name(name):
        raise InvalidArray(f"an array cannot be named {shown(name)}: a name is a text, not empty, without NUL and lone surrogates")
    return name


def is_name(name: Any) -> TypeGuard[str]:
    """Whether an array may be called so."""
    return isinstance(name, str) and name != "" and _UNKEPT.search(name) is None


def is_shape(sides: Shape) -> bool:
    """Whether an array can have these sides."""
    return not sides or (min(sides) >= 0 and max(sides) <= LONGEST_SIDE and math.prod(sides) <= MOST_CELLS and len(sides) <= MOST_AXES)


def check_shape(name: str, shape: Any) -> Shape:
    """The sides of an array; () is an array of one cell, and a side may be 0.

    :raises InvalidArray: they are not whole numbers from 0, or too large.
    """
    try:
        sides = tuple(operator.index(side) for side in shape)
    except TypeError:
        raise InvalidArray(
            f"array {shown(name)}: {shown(shape)} is no shape; it is a tuple of whole numbers, such as (480, 640, 3)"
        ) from None
    if not is_shape(sides):
        raise InvalidArray(
            f"array {shown(name)} cannot have shape {shown(sides)}: it can have {MOST_AXES} axes, {LONGEST_SIDE:,} positions along each, "
            f"and {MOST_CELLS:,} cells"
        )
    return sides


def read_pairs(pairs: Any, output: tuple[str, Shape], source: tuple[str, Shape]) -> Ints:
    """Pairs of cells, (n, l + m) from 0: the output's position, then the source's.

    :param output: its name and shape; ``source`` likewise.
    :raises InvalidRelation: they are no integers, masked, of another width, or beyond a shape (which pair, and which axis).
    """
    sides = output[1] + source[1]
    wanted = (
        f"pairs from {shown(source[0])} to {shown(output[0])} are integers of shape (n, {len(output[1])} + {len(source[1])}), output first"
    )
    found = _integers(pairs, wanted)
    if not found.size and found.ndim == 1:
        found = found.reshape(0, len(sides))
    if found.ndim != 2 or found.shape[1] != len(sides):
        raise InvalidRelation(f"{wanted}; these have shape {found.shape}")
    outside = (found < 0) | (found >= np.array(sides, dtype=np.int64))
    if outside.any():
        row, column = (int(one) for one in np.argwhere(outside)[0])
        name, shape = output if column < len(output[1]) else source
        raise InvalidRelation(f"pair {row} has position {found[row, column]}, beyond array {shown(name)} of shape {shape}, counted from 0")
    return found.astype(np.int64, copy=False)


def _integers(given: Any, wanted: str) -> Ints:
    if has_mask(given):
        raise InvalidRelation(f"{wanted}; a masked array is none, as its mask would be lost: give its compressed rows")
    try:
        found = np.asarray(given)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidRelation(f"{wanted}; {shown(given)} is no array of them ({error})") from error
    if not found.size and found.dtype.kind in "fiu":
        return found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise InvalidRelation(f"{wanted}; these are of type {found.dtype}")
    if found.dtype.kind == "u" and found.dtype.itemsize == 8 and int(found.max()) > LONGEST_SIDE:
        raise InvalidRelation(f"{wanted}; {found.max()} is beyond every array")
    return found


def has_mask(given: Any) -> bool:
    """Whether it is a masked array, or a list of some: `numpy.asarray` would take what is masked for what is not."""
    return isinstance(given, np.ma.MaskedArray) or (isinstance(given, list | tuple) and any(map(has_mask, given)))


def captured(capture: Capture, output: tuple[str, Shape], source: tuple[str, Shape]) -> Ints:
    """The pairs that a capture tells, which is called for every cell of the output, in C order.

    :raises CaptureFailed: at which cell it raised, or gave something else than cells of the source.
    """
    parts: list[Ints] = [np.zeros((0, len(output[1]) + len(source[1])), dtype=np.int64)]
    for index in np.ndindex(*output[1]):
        cells = _behind(capture, index, output[0], source)
        parts.append(np.concatenate([np.broadcast_to(np.array(index, dtype=np.int64), (len(cells), len(index))), cells], axis=1))
    return np.concatenate(parts)


def _behind(capture: Capture, index: tuple[int, ...], output: str, source: tuple[str, Shape]) -> Ints:
    where = f"the capture of {shown(output)} from {shown(source[0])}, at cell {index},"
    try:
        cells = capture(index)
        if cells is None:
            raise CaptureFailed(f"{where} gave nothing; it gives the cells behind this one, an empty list where there are none")
        found = cells if isinstance(cells, Sequence | np.ndarray) else list(cells)
    except CaptureFailed:
        raise
    except Exception as error:
        raise CaptureFailed(f"{where} raised {type(error).__name__}: {error}") from error
    try:
        rank = len(source[1])
        if rank == 1 and np.ndim(found) == 1:
            found = np.reshape(found, (-1, 1))
        return read_pairs(found, ("", ()), source)
    except (InvalidRelation, ValueError) as error:
        raise CaptureFailed(f"{where} gave no cells of shape (n, {rank}) in an array of shape {source[1]}: {error}") from error
