"""What only moves has the values of the cells that it is told to be: larger arrays, values that repeat, and all kinds of types.

Small arrays of different numbers show nothing of it: numpy sorts others by vectors, in blocks, or by counting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays.tracking.array import Tracked
from airflow_lineage_provider.arrays.tracking.moving import Numbered
from airflow_lineage_provider.arrays.tracking.tracing import record
from airflow_lineage_provider.errors import NotTracked
from tests.arrays.drawing import drawn

Values = np.ndarray[Any, Any]

DTYPES = ("f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u8", "?", "c8", "c16", "M8[D]", "m8[s]", "U3", "S2")
SHAPES = ((2000,), (70, 30), (3, 500), (900, 2), (5, 7, 40), (1,), (0,), (4, 0))


def values(dtype: str, shape: tuple[int, ...], distinct: int, random: np.random.Generator) -> Values:
    """So many different values at most, some of them missing, or zeros of either sign."""
    numbers = random.integers(0, distinct, shape)
    if dtype[0] in "US":
        return (numbers % 900).astype(dtype)
    if dtype[0] not in "fc":
        return (numbers - distinct // 2).astype(dtype)
    found: Values = ((numbers - distinct // 2) / 8).astype(dtype)
    found[numbers % 11 == 3] = np.nan
    found[numbers % 7 == 2] = -0.0
    if dtype[0] == "c":
        found = (found + 1j * random.permutation(found.reshape(-1)).reshape(shape)).astype(dtype)
    return found


def same(one: Values, other: Values) -> bool:
    """Missing numbers are; so are 0.0 and -0.0, of which numpy's own sort by vectors makes more or fewer than there were."""
    if one.dtype.kind == "c":
        return same(one.real, other.real) and same(one.imag, other.imag)
    return bool(((one == other) | ((one != one) & (other != other))).all())


def cells(result: Tracked, source: Values) -> tuple[Values, Values]:
    """Of the result and of the source, the positions of what is told: numbers in C order."""
    (way,) = record(result, ..., influence=False).ways("source")
    pairs = arrays.expand(way.relation).T
    rank = result.ndim
    return (
        np.ravel_multi_index(tuple(pairs[:rank]), result.shape) if rank else np.zeros(pairs.shape[1], int),
        np.ravel_multi_index(tuple(pairs[rank:]), source.shape),
    )


def check(result: Tracked, source: Values) -> None:
    """Each cell of the result is one of the source, and has its value."""
    outputs, inputs = cells(result, source)
    assert sorted(outputs.tolist()) == list(range(result.size))
    assert same(result.values.reshape(-1)[outputs], source.reshape(-1)[inputs])


def kth(array: Tracked, axis: int | None, at: float) -> int:
    side = array.size if axis is None else array.shape[axis]
    return int(side * at)


ORDERED: Mapping[str, Callable[[Any, int | None, float], Any]] = {
    "sort": lambda a, axis, at: np.sort(a, axis),
    "stable sort": lambda a, axis, at: np.sort(a, axis, stable=True),
    "heapsort": lambda a, axis, at: np.sort(a, axis, kind="heapsort"),
    "partition": lambda a, axis, at: np.partition(a, kth(a, axis, at), axis),
    "partition of several": lambda a, axis, at: np.partition(a, sorted({0, kth(a, axis, at), kth(a, axis, at / 2)}), axis),
}


@drawn(
    30,
    one_in=2,
    name=st.sampled_from(sorted(ORDERED)),
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from([one for one in SHAPES if 0 not in one]),
    axis=st.sampled_from([None, 0, -1]),
    distinct=st.sampled_from([3, 40, 100_000]),
    at=st.floats(0, 0.99),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_is_ordered_is_told_by_its_values(
    name: str, dtype: str, shape: tuple[int, ...], axis: int | None, distinct: int, at: float, seed: int
) -> None:
    given = values(dtype, shape, distinct, np.random.default_rng(seed))
    found = ORDERED[name](arrays.source("source", given), axis, at)
    assert same(found.values, np.asarray(ORDERED[name](given, axis, at)))
    check(found, given)
    outputs, inputs = cells(found, given)
    assert len(set(inputs.tolist())) == given.size, "each cell is somewhere"
    along = [np.delete(np.unravel_index(one, given.shape), axis, axis=0) for one in (outputs, inputs)] if axis is not None else [0, 0]
    assert np.array_equal(*along), "and stays in its line"


def test_a_stable_sort_keeps_the_order_of_equal_cells() -> None:
    given = np.random.default_rng(0).integers(0, 9, 2000)
    outputs, inputs = cells(ORDERED["stable sort"](arrays.source("source", given), -1, 0.0), given)
    assert np.array_equal(inputs[np.argsort(outputs)], np.argsort(given, stable=True))


@pytest.mark.parametrize("shape", [one for one in SHAPES if 0 in one])
def test_what_is_empty_has_no_cells(shape: tuple[int, ...]) -> None:
    empty: Any = arrays.source("source", np.zeros(shape))
    for found in (np.sort(empty), np.sort(empty, axis=None), np.unique(empty), np.unique_values(empty)):
        assert arrays.trace(found, ..., to="source").cells.count == 0


UNIQUE: Mapping[str, Callable[[Any], Any]] = {
    "unique": np.unique,
    "unique and where": lambda a: np.unique(a, return_index=True, return_inverse=True, return_counts=True)[0],
    "each missing one": lambda a: np.unique(a, equal_nan=False),
    "unique_values": np.unique_values,
}


@drawn(
    20,
    one_in=4,
    name=st.sampled_from(sorted(UNIQUE)),
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from(SHAPES[:6]),
    distinct=st.sampled_from([3, 40, 100_000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_different_values_are_the_first_cells_that_have_them(
    name: str, dtype: str, shape: tuple[int, ...], distinct: int, seed: int
) -> None:
    given = values(dtype, shape, distinct, np.random.default_rng(seed))
    found = UNIQUE[name](arrays.source("source", given))
    assert same(found.values, np.asarray(UNIQUE[name](given)))
    check(found, given)
    _, inputs = cells(found, given)
    flat = given.reshape(-1).tolist()
    if given.dtype.kind not in "fc":
        assert all(flat.index(flat[at]) == at for at in inputs)
    assert len(set(inputs.tolist())) == len(inputs)


SETS: Mapping[str, Callable[[Any, Any], Any]] = {
    "union1d": np.union1d,
    "intersect1d": np.intersect1d,
    "intersect1d of different ones": lambda a, b: np.intersect1d(np.unique_values(a), np.unique_values(b), assume_unique=True),
    "setdiff1d": np.setdiff1d,
    "setdiff1d as they stand": lambda a, b: np.setdiff1d(a, b, assume_unique=True),
    "setxor1d": np.setxor1d,
}


@drawn(
    20,
    one_in=4,
    name=st.sampled_from(sorted(SETS)),
    dtype=st.sampled_from([*DTYPES, "i2 f8"]),
    shapes=st.tuples(*[st.sampled_from(SHAPES[:6])] * 2),
    distinct=st.sampled_from([3, 40, 100_000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_values_of_two_arrays_are_cells_of_the_first_that_has_them(
    name: str, dtype: str, shapes: tuple[tuple[int, ...], ...], distinct: int, seed: int
) -> None:
    """Each of the result is one cell of one of the two, or of each where both have it, and has its value."""
    random = np.random.default_rng(seed)
    one, other = (values(kind, shape, distinct, random) for kind, shape in zip((dtype.split() * 2)[:2], shapes, strict=True))
    found = SETS[name](arrays.source("source", one), arrays.source("other", other))
    assert same(found.values, np.asarray(SETS[name](one, other)))
    recorded = record(found, ..., influence=False)
    pairs: list[tuple[int, Any]] = []
    for source, given in (("source", one), ("other", other)):
        for way in recorded.ways(source) if source in recorded.sources else ():
            pairs += [(at, given[tuple(cell)]) for at, *cell in arrays.expand(way.relation).tolist()]
    assert sorted(at for at, _ in pairs) == sorted([*range(found.size)] * (2 if "intersect" in name else 1))
    assert all(same(found.values[at], np.asarray(value).astype(found.dtype)) for at, value in pairs)


SELECTED: Mapping[str, Callable[[Any], Any]] = {
    "trim_zeros": lambda a: np.trim_zeros(a),
    "trim_zeros behind": lambda a: np.trim_zeros(a, "b"),
    "index by a mask": lambda a: a[a == a.reshape(-1)[0]],
    "extract": lambda a: np.extract(a != a.reshape(-1)[0], a),
    "compress": lambda a: np.compress(a.reshape(-1) != a.reshape(-1)[0], a),
    "take by an order": lambda a: np.take(a, np.argsort(a, axis=None)),
    "take_along_axis by an order": lambda a: np.take_along_axis(a, np.argsort(a, axis=0), 0),
}


@drawn(
    15,
    one_in=4,
    name=st.sampled_from(sorted(SELECTED)),
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from([one for one in SHAPES if 0 not in one]),
    distinct=st.sampled_from([3, 40, 100_000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_is_selected_has_its_values(name: str, dtype: str, shape: tuple[int, ...], distinct: int, seed: int) -> None:
    given = values(dtype, shape, distinct, np.random.default_rng(seed))
    found = SELECTED[name](arrays.source("source", given))
    assert same(found.values, np.asarray(SELECTED[name](given)))
    if found.size:
        check(found, given)


MIDDLES: Mapping[str, Callable[[Any, int | None], Any]] = {
    "median": lambda a, axis: np.median(a, axis),
    "nanmedian": lambda a, axis: np.nanmedian(a, axis),
    "lower": lambda a, axis: np.percentile(a, 37, axis, method="lower"),
    "nearest": lambda a, axis: np.nanpercentile(a, 61, axis, method="nearest"),
}


@pytest.mark.filterwarnings("ignore")
@drawn(
    15,
    one_in=4,
    name=st.sampled_from(sorted(MIDDLES)),
    dtype=st.sampled_from(["f8", "f4", "f2", "i2", "i8", "u1"]),
    shape=st.sampled_from(SHAPES[:6]),
    axis=st.sampled_from([None, 0, -1]),
    distinct=st.sampled_from([3, 40, 100_000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_middle_has_the_values_that_it_is_read_from(
    name: str, dtype: str, shape: tuple[int, ...], axis: int | None, distinct: int, seed: int
) -> None:
    """One cell is the result, two are on its sides; where one is missing that is not skipped, all missing ones are told."""
    given = values(dtype, shape, distinct, np.random.default_rng(seed))
    found = MIDDLES[name](arrays.source("source", given), axis)
    ways = record(found, ..., influence=False).ways("source")
    pairs = arrays.expand(ways[0].relation) if ways else np.zeros((0, found.ndim + given.ndim), int)
    for at in np.ndindex(*found.shape):
        here = pairs[(pairs[:, : found.ndim] == at).all(axis=1)][:, found.ndim :]
        read = np.array([given[tuple(cell)] for cell in here]).astype(float)
        value = float(found.values[at])
        if np.isnan(value):
            assert np.isnan(read).all()
        else:
            assert len(read) in (1, 2)
            assert read.min() <= value <= read.max()
            assert "median" in name or value in read


TEXTS, DATES = np.array(["ab", "c", "def", "g"]), np.arange("2024-01-01", "2024-01-05", dtype="M8[D]")
_THIRD = np.array([True, False, False, True])


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda a: np.pad(a, 2, constant_values="none"), TEXTS),
        (lambda a: np.pad(a, 1), TEXTS),
        (lambda a: np.pad(a, (0, 3), mode="edge"), TEXTS),
        (lambda a: np.pad(a, 1, constant_values=np.datetime64("2000-01-01")), DATES),
        (lambda a: np.pad(a, 1, constant_values=np.datetime64("NaT")), DATES),
        (lambda a: np.pad(a, 1, constant_values=True), _THIRD),
        (lambda a: np.pad(a, 1, constant_values=1 + 2j), np.arange(4) * 1j),
        (lambda a: np.pad(a, 2, constant_values=np.nan), np.arange(4.0, dtype=np.float16)),
        (lambda a: np.select([_THIRD], [a], "none"), TEXTS),
        (lambda a: np.select([_THIRD, ~_THIRD], [a, "other"], "none"), TEXTS),
        (lambda a: np.select([_THIRD], [a], np.datetime64("NaT")), DATES),
        (lambda a: np.insert(a, 1, "x"), TEXTS),
        (lambda a: np.append(a, ["x", "yz"]), TEXTS),
        (lambda a: np.concatenate([["x"], a]), TEXTS),
        (lambda a: np.resize(a, (3, 3)), DATES),
        (lambda a: np.tril(np.tile(a, (3, 1))), np.arange(4) > 1),
    ],
)
def test_what_is_filled_in_may_be_of_any_type(function: Callable[[Any], Any], given: Values) -> None:
    """The cells that moved are told with their values, and no other cell of the result has lineage."""
    found = function(arrays.source("source", given))
    assert same(found.values, np.asarray(function(given)))
    outputs, inputs = cells(found, given)
    assert same(found.values.reshape(-1)[outputs], given[inputs].astype(found.dtype))
    where = np.isin(np.arange(found.size), outputs)
    others = found.values.reshape(-1)[~where]
    assert len(np.unique(others.astype(str))) <= 2, "the rest is what was filled in"


def test_what_fails_on_numbers_is_refused_by_name() -> None:
    odd = Numbered(lambda numbers: numbers.reshape(3, -1), ((4,),), (3, 2))
    with pytest.raises(NotTracked, match="ValueError"):
        _ = odd.numbers
    for other in (lambda numbers: numbers / 2, lambda numbers: numbers[:2]):
        with pytest.raises(NotTracked, match="in place of"):
            _ = Numbered(other, ((4,),), (4,)).numbers
