"""Cells that are followed through code: what they were computed from, as the rules tell it, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.tracking import following
from airflow_lineage_provider.errors import NotTracked, TooManyCells
from tests.arrays.test_probe import blurred, pairs, truth

Function = Callable[..., Any]
WEIGHTS = np.arange(1.0, 7.0).reshape(3, 2)


def horner(x: Any) -> Any:
    """Arithmetic with numbers on either side, ufuncs, and a constant that nothing stands behind."""
    found = 2 - x * np.float64(3) + 1 / (np.exp(-x) + 2) ** 2 - (7 - x) // 2 + (x % 3) - abs(-x)
    return np.concatenate([found.reshape(-1), [5.0]])


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (lambda a: a.sum(axis=1), rules.reduction((4, 3), 1)),
        (lambda a: np.mean(a), rules.reduction((4, 3))),
        (lambda a: np.cumsum(a, axis=0), rules.scan((4, 3), 0)),
        (lambda a: a @ WEIGHTS, rules.einsum("ij,jk->ik", (4, 3), (3, 2))[0]),
        (lambda a: a.T[::-1], arrays.moved(lambda a: a.T[::-1], (4, 3))[0]),
        (blurred, rules.windows((4, 3), (3, 3), "same")),
        (np.negative, rules.elementwise((4, 3))[0]),
        (lambda a: np.sqrt(a) + a.copy(), rules.elementwise((4, 3))[0]),
    ],
)
def test_they_are_what_the_rules_tell(function: Function, rule: arrays.Relation, kind: type) -> None:
    image: np.ndarray = np.random.default_rng(1).integers(1, 20, (4, 3)).astype(kind)
    found = arrays.apply(function, arrays.source("image", image), lineage="cells")
    np.testing.assert_array_equal(found.values, function(image))
    assert pairs(found, "image") == truth(rule)
    assert arrays.trace(found, ..., to="image").cells.guarantee == "exact"


def test_what_a_change_shows_is_among_them() -> None:
    """The oracle that knows nothing of the code: each cell is changed."""
    image = np.random.default_rng(2).random((5, 4))
    found = arrays.apply(horner, arrays.source("image", image), lineage="cells")
    changed = pairs(arrays.probe(horner, arrays.source("image", image)), "image")
    assert changed <= pairs(found, "image") == {(at, *divmod(at, 4)) for at in range(20)}


def test_of_several_arrays_those_that_are_tracked_are_followed() -> None:
    one, other = arrays.source("one", np.arange(6.0).reshape(2, 3)), arrays.source("other", np.arange(1.0, 4.0))
    found = arrays.apply(lambda a, b, c: (a * b + c)[:, ::-1], one, other, np.ones(3), lineage="cells", name="mixed")
    np.testing.assert_array_equal(found.values, (np.arange(6.0).reshape(2, 3) * np.arange(1.0, 4.0) + 1)[:, ::-1])
    assert arrays.trace(found, (1, 0), to="one").cells.indices().tolist() == [[1, 2]]
    assert arrays.trace(found, (1, 0), to="other").cells.indices().tolist() == [[2]]
    assert arrays.trace(found, (1, 0), to="one").paths[0].names[0] == "mixed"


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0)])
def test_arrays_of_no_axes_and_of_no_cells(shape: tuple[int, ...]) -> None:
    found = arrays.apply(lambda a: a * 2, arrays.source("a", np.ones(shape)), lineage="cells")
    assert pairs(found, "a") == {index * 2 for index in np.ndindex(shape)}


def swallowing(a: Any) -> Any:
    """Decides by a value where it can, and hides that it could not."""
    try:
        is_large = a[0] > 1e9
    except TypeError:
        is_large = False
    return a[1:] if is_large else a[:-1]


def apart(a: Any) -> Any:
    """Gives something else for objects, and says nothing."""
    return a if a.dtype == object else a + 1


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (np.sort, "is compared, or decides"),
        (lambda a: a.max(axis=0), "is compared, or decides"),
        (lambda a: a[a > 2], "is compared, or decides"),
        (lambda a: a.astype(float), "is made a plain number"),
        (lambda a: np.asarray([float(one) for one in a]), "is made a plain number"),
        (np.fft.ifft, "cannot be followed"),
        (swallowing, "is compared, or decides"),
        (apart, "not what it gives for numbers"),
        (lambda a: np.array(["x"] * len(a)), "not what it gives for numbers"),
    ],
)
def test_what_cells_cannot_tell_is_refused(function: Function, said: str) -> None:
    with pytest.raises(NotTracked, match=said):
        arrays.apply(function, arrays.source("a", np.array([3.0, 1.0, 2.0])), lineage="cells")


def test_arrays_of_others_than_numbers_and_large_ones_are_refused() -> None:
    with pytest.raises(NotTracked, match="arrays of numbers can be followed"):
        arrays.apply(lambda a: a, arrays.source("a", np.array(["x"])), lineage="cells")
    with pytest.raises(TooManyCells, match="10,001 cells would be followed, and 10,000 can be"):
        arrays.apply(lambda a: a, arrays.source("a", np.zeros(following.MOST + 1)), lineage="cells")


def test_what_is_captured_of_a_few_shapes_is_known_of_others() -> None:
    """As any capture's: compared with each other, and one of them foretold by the others."""
    log, known = arrays.Log(), []

    def steps(x: Any) -> Any:
        return (x[:, 1:] - x[:, :-1]).sum(axis=1)

    for rows in (4, 6, 7, 9, 11, 12, 16, 23):
        name = f"{rows} rows"
        log.array(name, (rows, 5))
        log.array(f"of {name}", (rows,))
        capture = None if rows == 23 else arrays.by_cells(steps, np.random.default_rng(rows).random((rows, 5)))
        known.append(log.register_operation("steps", [name], [f"of {name}"], args={}, capture=capture))
    assert (known[0], known[-1]) == (False, True)
    assert log.prov_query(["of 23 rows", "23 rows"], 5).boxes.tolist() == [[[5, 6], [0, 5]]]
    assert log.verify() == []
