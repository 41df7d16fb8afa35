"""Code of which nothing is known: each cell is changed, and what changes in the result is looked up. A lower bound, and marked so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from airflow_lineage_provider.arrays.compress import compress
from airflow_lineage_provider.arrays.grouping import Ints
from airflow_lineage_provider.arrays.tracking.array import Tracked, Values, check_values, copied, made, plain
from airflow_lineage_provider.arrays.tracking.call import hidden_in
from airflow_lineage_provider.arrays.tracking.relations import ruled
from airflow_lineage_provider.errors import CaptureFailed, NotTracked, TooManyCells
from airflow_lineage_provider.shown import shown

_LETTERS = "aZ 0"
"""What a character is changed to."""


def probe(function: Callable[..., Any], *arrays: Any, calls: int = 20_000, seed: int = 0, name: str | None = None) -> Tracked:
    """What a function gives for the values of arrays, as a tracked array whose lineage is found by changing each cell in turn.

    A cell that changes nothing in three tries may have an influence that none of them showed, and is left out: the lineage is a lower
    bound, its guarantee ``unavailable``. Where the result gets another shape, or the function fails, for a changed cell, all of the
    result hangs on it.

    :param function: takes as many plain arrays and gives one, the same for the same.
    :param calls: the most that the function is called; it is up to three times for each cell.
    :param seed: of the changes, which are the same in every process.
    :param name: of the operation, in paths; the function's own by default.
    :raises NotTracked: none of the arrays is tracked, or one, or the result, is masked.
    :raises TooManyCells: they have more cells than there may be calls.
    :raises CaptureFailed: the function gives another result for the same arrays.
    """
    tracked = [at for at, one in enumerate(arrays) if isinstance(one, Tracked)]
    if not tracked or any(map(hidden_in, arrays)):
        raise NotTracked("arrays.probe needs a tracked array among its arguments, and none in lists; arrays.source(name, array) makes one")
    check_values("arrays.probe", *arrays)
    cells = sum(arrays[at].size for at in tracked)
    if _TRIES * cells + 2 > calls:
        raise TooManyCells(
            f"probing {cells:,} cells would call {_name(function, name)} {_TRIES * cells + 2:,} times, and calls={calls:,} are allowed; "
            "probe a part, or a smaller array, or say what stands behind the result: arrays.apply(function, x, lineage=…)"
        )
    values = [np.array(plain(one)) for one in arrays]
    before = _called(function, values)
    if not _same(before, _called(function, values)).all():
        raise CaptureFailed(f"{_name(function, name)} gives another result for the same arrays: what a change does cannot be told")
    random = np.random.default_rng(seed)
    operands = []
    for at in tracked:
        pairs = np.concatenate([np.zeros((0, before.ndim + values[at].ndim), np.int64), *_changed(function, values, at, before, random)])
        operands.append(ruled(arrays[at], compress(pairs, before.shape, values[at].shape), "unavailable"))
    return made(_name(function, name), before, operands)


_TRIES = 3


def _changed(function: Callable[..., Any], values: list[Values], which: int, before: Values, random: np.random.Generator) -> Iterator[Ints]:
    """The pairs of which the second cell, changed, changes the first."""
    for at in np.ndindex(values[which].shape):
        differs = np.zeros(before.shape, dtype=np.bool_)
        for value in _others(values[which], at, random):
            given = [one.copy() for one in values]
            given[which][at] = value
            differs |= _differing(function, given, before)
        found = np.argwhere(differs)
        yield np.concatenate([found, np.broadcast_to(np.array(at, dtype=np.int64), (len(found), len(at)))], axis=1)


def _differing(function: Callable[..., Any], given: list[Values], before: Values) -> Values:
    try:
        after = _called(function, given)
    except Exception:  # whatever it raises: for this cell it has no result
        return np.ones(before.shape, dtype=np.bool_)
    return ~_same(before, after) if after.shape == before.shape else np.ones(before.shape, dtype=np.bool_)


def _called(function: Callable[..., Any], values: list[Values]) -> Values:
    return copied("arrays.probe: the function", function(*(one.copy() for one in values)))


def _same(one: Values, other: Values) -> Values:
    if one.shape != other.shape:
        return np.zeros((), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        return np.asarray((one == other) | ((one != one) & (other != other)), dtype=np.bool_)


def _others(array: Values, at: tuple[int, ...], random: np.random.Generator) -> list[Any]:
    """Other values of a cell, three where there are as many: one near, one of the array's own, one far."""
    value, kind = array[at], array.dtype.kind
    if kind == "b":
        return [not value]
    if kind in "US":
        letters = [one for one in _LETTERS if one != str(value)]
        return letters[:_TRIES]
    if kind in "mM":
        unit = f"timedelta64[{np.datetime_data(array.dtype)[0]}]"
        return [value + np.array(step, dtype=unit) for step in (1, 7, 999)]
    own = array.reshape(-1)[random.integers(array.size)]
    if kind in "iu":
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        beside = int(value) + 1 if value < high else int(value) - 1
        return [beside, own if own != value else beside, high if value != high else low]
    scale = float(np.nanmax(np.abs(array), initial=1.0)) if np.isfinite(array).any() else 1.0
    near = (0.0 if value != value else value) + (0.1 + random.random()) * scale
    return [near, own if own == own and own != value else -near, -3.7 * near]


def _name(function: Callable[..., Any], name: str | None) -> str:
    return name or str(getattr(function, "__name__", shown(function)))
