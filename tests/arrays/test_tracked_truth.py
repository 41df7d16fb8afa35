"""What a tracked array says its cells were computed from, against numpy itself: each cell is perturbed, and what changes is looked up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays.tracking.array import Tracked
from airflow_lineage_provider.arrays.tracking.functions import RULES
from airflow_lineage_provider.arrays.tracking.tracing import record
from tests.arrays.drawing import LONG
from tests.arrays.numpy_functions import CASES, COUNTS, Case
from tests.in_turn import QUICK, sampled_of_each

INPUTS = 20 if LONG else 1
FUNCTIONS = 218
"""How many of numpy's functions are taken, ufuncs aside."""
CHANGES = (lambda cell: cell + 0.371, lambda cell: cell * -3.3, lambda cell: np.float64(0.0))

Pairs = set[tuple[int, ...]]


def inputs(case: Case, seed: int) -> list[Any]:
    """Values between 1 and 2, all different, of each of the case's shapes."""
    random = np.random.default_rng(seed)
    return [np.asarray(case.make(1 + random.permutation(97)[: math.prod(shape)].reshape(shape) / 97)) for shape in case.shapes]


def plain(case: Case, values: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(case.call(*values))


def told(result: Tracked, name: str, *, influence: bool) -> Pairs:
    """The pairs of the array's own lineage: all paths composed."""
    recorded = record(result, ..., influence=influence)
    if name not in recorded.sources:
        return set()
    return {tuple(pair) for way in recorded.ways(name) for pair in arrays.expand(way.relation).tolist()}


def changed(case: Case, values: list[Any], which: int) -> Iterator[tuple[int, ...]]:
    """The pairs of which the second cell, changed, changes the first; every cell where the result's shape changes."""
    before = plain(case, values)
    for at in np.ndindex(*case.shapes[which]):
        for change in CHANGES:
            given = [one.copy() for one in values]
            given[which][at] = change(given[which][at])
            try:
                after = plain(case, given)
            except (np.linalg.LinAlgError, IndexError, ValueError):
                continue
            differs = np.ones(before.shape, dtype=bool) if after.shape != before.shape else ~same(before, after)
            yield from ((*map(int, output), *at) for output in np.argwhere(differs))


def function_of(case: Case) -> str:
    return case.name.rpartition(" ")[0]


SOME = sampled_of_each(CASES, function_of, 3)[:: 3 if QUICK else 1]


def same(one: Any, other: Any) -> Any:
    return (one == other) | ((one != one) & (other != other))


def tracked(case: Case, values: list[Any]) -> Tracked:
    with np.errstate(all="ignore"):
        found = case.call(*(arrays.source(f"source {at}", one) for at, one in enumerate(values)))
    assert isinstance(found, Tracked)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_what_changes_is_in_the_answer(case: Case) -> None:
    for seed in range(INPUTS):
        values = inputs(case, seed)
        found, wanted = tracked(case, values), plain(case, values)
        assert found.values.dtype == wanted.dtype
        assert found.shape == wanted.shape
        assert np.all(same(found.values, wanted))
        for which in range(len(values)):
            computed = told(found, f"source {which}", influence=False)
            changes = set(changed(case, values, which))
            assert changes <= computed | told(found, f"source {which}", influence=True)
            if case.is_exact:
                assert changes == computed


READING: Mapping[Any, Any] = {
    function: [one for one in CASES if one.covers is function]
    for function in (
        np.median, np.nanmedian, np.percentile, np.nanpercentile, np.quantile, np.nanquantile, np.sort, np.partition, np.where, np.take,
        np.extract, np.compress, np.select, np.take_along_axis,
    )
}  # fmt: skip
"""By what they read of the cells: what they only compare has influence."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [one for some in READING.values() for one in some], ids=lambda case: case.name)
def test_a_change_that_reorders_nothing_changes_what_is_computed_from_the_cell(case: Case) -> None:
    """Of cells that are far enough from one another, and from what they are compared with."""
    values = inputs(case, 3)
    found, before = tracked(case, values), plain(case, values)
    if before.dtype.kind != "f":
        pytest.skip("places of cells do not change with them")
    for which, shape in enumerate(case.shapes):
        changes = set()
        for at in np.ndindex(*shape):
            given = [one.copy() for one in values]
            given[which][at] += 3e-5
            after = plain(case, given)
            assert after.shape == before.shape
            changes |= {(*map(int, output), *at) for output in np.argwhere(~same(before, after))}
        missing = {pair for pair in told(found, f"source {which}", influence=False) if np.isnan(values[which][pair[before.ndim :]])}
        assert told(found, f"source {which}", influence=False) - missing == changes


def test_every_function_that_is_taken_has_a_case() -> None:
    assert set(COUNTS) - {one for one in COUNTS if isinstance(one, str)} == set(RULES)
    assert len(RULES) == FUNCTIONS


UFUNCS = sorted({one for one in vars(np).values() if isinstance(one, np.ufunc) and one.signature is None}, key=lambda one: one.__name__)


def _operands(ufunc: np.ufunc) -> list[Any] | None:
    """Arrays that the ufunc takes."""
    for values in (np.array([1.25, 1.5, 2.25]), np.array([1, 2, 3]), np.array(["a", "bb", "c"])):
        try:
            ufunc(*[values] * ufunc.nin)
        except (TypeError, ValueError):
            continue
        return [values] * ufunc.nin
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda one: one.__name__)
def test_every_ufunc_is_elementwise(ufunc: np.ufunc) -> None:
    values = _operands(ufunc)
    if values is None:
        pytest.skip("takes neither numbers nor texts")
    sources = [arrays.source(f"source {at}", one) for at, one in enumerate(values)]
    found, wanted = ufunc(*sources), ufunc(*values)
    for one, other in zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, wanted)), strict=True):
        assert np.all(same(one.values, other))
        assert all(told(one, f"source {at}", influence=False) == {(0, 0), (1, 1), (2, 2)} for at in range(ufunc.nin))
