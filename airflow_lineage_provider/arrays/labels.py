"""Labels of positions along an axis: a table is an array whose second axis has the names of its columns.

A label is a text, and one of its axis: a number would be taken for a position.

>>> named = check_labels("orders", (2, 3), {1: ["id", "client", "price"]})
>>> position("price", named[1], "axis 1")
2
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from airflow_lineage_provider.arrays.boxes import Boxes, Shape
from airflow_lineage_provider.arrays.given import is_name
from airflow_lineage_provider.errors import InvalidArray, InvalidCells
from airflow_lineage_provider.shown import shown

Labels = Mapping[int, tuple[str, ...]]
"""By the axis; of those that have some."""

NO_LABELS: Labels = {}
MOST_LABELS = 10_000
"""The most of an array: they are read whenever it is asked for."""
_TOLD = 20


def check_labels(name: str, sides: Shape, labels: Any) -> Labels:
    """The labels of an array's axes; None is none.

    :raises InvalidArray: they are no texts of some axes of this shape, one for each position, each another.
    """
    if labels is None:
        return NO_LABELS
    if not isinstance(labels, Mapping):
        raise InvalidArray(
            f"array {shown(name)}: {shown(labels)} are no labels; they are texts by the axis, such as {{1: ['id', 'price']}}"
        )
    found = {axis: _of_axis(name, sides, axis, given) for axis, given in labels.items()}
    if sum(map(len, found.values())) > MOST_LABELS:
        raise InvalidArray(f"array {shown(name)} can have {MOST_LABELS:,} labels; these are more")
    return dict(sorted(found.items()))


def _of_axis(name: str, sides: Shape, axis: Any, given: Any) -> tuple[str, ...]:
    where = f"labels of array {shown(name)} of shape {sides}"
    if isinstance(axis, bool) or not isinstance(axis, int) or not 0 <= axis < len(sides):
        raise InvalidArray(f"{where} are said by the axis, from 0; {shown(axis)} is none of its axes")
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArray(f"{where} along axis {axis} are a list of texts, not {shown(given)}")
    found = tuple(itertools.islice(given, MOST_LABELS + 1))
    wrong = [one for one in found if not is_name(one)]
    if wrong:
        raise InvalidArray(f"{where} along axis {axis} are texts, not empty, without NUL and lone surrogates; {shown(wrong[0])} is none")
    if len(set(found)) < len(found):
        twice = next(one for at, one in enumerate(found) if one in found[:at])
        raise InvalidArray(f"{where} along axis {axis}: {shown(twice)} is there twice, and would mean two positions")
    if len(found) != sides[axis] and len(found) <= MOST_LABELS:
        raise InvalidArray(f"{where} along axis {axis} are {sides[axis]:,}, one for each position; these are {len(found):,}")
    return tuple(map(str, found))  # a numpy.str_ is another type


def check_labels_are(name: str, said: Labels, known: Labels) -> None:
    """That labels that are said of a known array are those that it has; none are said where they are not repeated.

    :raises InvalidArray: they are others.
    """
    if said and said != known:
        told = "; ".join(f"axis {axis}: {_list(labels)}" for axis, labels in known.items()) or "none"
        raise InvalidArray(f"array {shown(name)} is known with other labels ({told}); an array that changed needs a new name")


def position(label: str, labels: tuple[str, ...] | None, where: str) -> int:
    """Where a label stands.

    :raises InvalidCells: nowhere.
    """
    if labels is None:
        raise InvalidCells(f"{shown(label)} is no position: {where} has no labels (array(…, labels=))")
    if label not in labels:
        raise InvalidCells(f"{shown(label)} is no label: {where} has {_list(labels)}")
    return labels.index(label)


def labels_in(boxes: Boxes, labels: Labels) -> Labels:
    """The labels of the positions that boxes have cells at."""
    return {axis: tuple(itertools.compress(of, _positions(boxes, axis, len(of)))) for axis, of in labels.items()}


def _positions(boxes: Boxes, axis: int, side: int) -> list[bool]:
    """Of each position whether a box is there."""
    met = [False] * side
    for lo, hi in {*zip(boxes.lo[axis].tolist(), boxes.hi[axis].tolist(), strict=True)}:
        met[lo : hi + 1] = [True] * (hi + 1 - lo)
    return met


def _list(labels: tuple[str, ...]) -> str:
    more = f" and {len(labels) - _TOLD:,} more" if len(labels) > _TOLD else ""
    return f"{', '.join(map(shown, labels[:_TOLD])) or 'none'}{more}"
