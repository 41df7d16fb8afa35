"""Tracked arrays: what they tell by path, what they refuse, and what is declared for code that numpy does not know."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import rules
from airflow_lineage_provider.arrays.tracking.functions import OF_SHAPES, RULES, called
from airflow_lineage_provider.errors import (
    InvalidArray,
    InvalidCells,
    InvalidOption,
    InvalidRelation,
    NotTracked,
    TooManyCells,
    UnknownArray,
)
from tests.arrays.test_tracked_truth import told

MASKED = np.ma.masked_less(np.arange(480.0).reshape(20, 24), 7)


def image() -> arrays.Tracked:
    return arrays.source("image", np.arange(480.0).reshape(20, 24))


def test_an_answer_is_told_by_path() -> None:
    picture = image()
    small = picture[4:20, 4:20].reshape(8, 2, 8, 2).mean(axis=(1, 3))
    scaled = (small - small.mean()) / small.max()
    found = arrays.trace(scaled, np.s_[0:2, 0:3], to="image")
    assert [(one.names, one.cells.count) for one in found.paths] == [
        (("divide", "subtract", "mean", "reshape", "index", "image"), 24),
        (("divide", "max", "mean", "reshape", "index", "image"), 256),
        (("divide", "subtract", "mean 2", "mean", "reshape", "index", "image"), 256),
    ]
    assert found.paths[0].cells.boxes.tolist() == [[[4, 8], [4, 10]]]
    assert (found.cells.count, found.cells.guarantee) == (256, "exact")


def test_names_are_those_of_operations_whatever_was_computed_beside() -> None:
    def names() -> list[tuple[str, ...]]:
        picture = image()
        _ = picture + 1
        return [one.names for one in arrays.trace(picture.T - picture.mean(axis=1), (0, 0), to="image").paths]

    assert names() == names() == [("subtract", "transpose", "image"), ("subtract", "mean", "image")]


def test_two_sources() -> None:
    one, other = arrays.source("one", np.ones((2, 3))), arrays.source("other", np.ones((3, 4)))
    found = one @ other
    assert arrays.trace(found, (1, 2), to="one").cells.indices().tolist() == [[1, 0], [1, 1], [1, 2]]
    assert arrays.trace(found, (1, 2), to="other").cells.indices().tolist() == [[0, 2], [1, 2], [2, 2]]


def test_the_same_array_twice() -> None:
    cells = arrays.source("cells", np.arange(4.0))
    assert arrays.trace(np.concatenate([cells, cells]), np.s_[3:6], to="cells").cells.indices().tolist() == [[0], [1], [3]]
    assert arrays.trace(cells * cells[::-1], (0,), to="cells").cells.indices().tolist() == [[0], [3]]


def test_a_source_may_have_the_name_of_an_operation() -> None:
    cells = arrays.source("add", np.arange(4.0))
    assert arrays.trace(cells + 1 + 1, (0,), to="add").paths[0].names == ("add 3", "add 2", "add")


def test_a_text_is_an_array_of_characters() -> None:
    text = arrays.source("text", "so good")
    assert (text[3:].shape, arrays.trace(text[3:], (0,), to="text").cells.indices().tolist()) == ((4,), [[3]])


def test_cells_are_found_whatever_type_is_asked_for() -> None:
    cells = arrays.source("cells", np.arange(300.0))
    small: Any = np.concatenate([cells, cells[:3]], dtype=np.uint8, casting="unsafe")
    assert (small.values.dtype, small.values[299]) == (np.uint8, 43)
    assert arrays.trace(small, np.s_[299:302], to="cells").cells.indices().tolist() == [[0], [1], [299]]


def test_a_cell_of_no_axes_that_an_answer_does_not_lead_to_has_none() -> None:
    cells = arrays.source("cells", np.arange(3.0))
    single: Any = cells.take(1)
    found: Any
    for found, wanted in (
        (np.stack([cells[0], single]), [[[0]], [[1]]]),
        (np.insert(cells, 0, cells.take(0))[1:], [[[0]], [[1]], [[2]]]),
        (np.unstack(cells)[2], [[[2]]]),
        (np.array([single, cells[2]], like=single), [[[1]], [[2]]]),
        (np.stack([single + 1, cells.take(2)])[::-1], [[[2]], [[1]]]),
    ):
        for at, index in enumerate(np.ndindex(found.shape)):
            assert arrays.trace(found, index, to="cells").cells.indices().tolist() == wanted[at]
            assert arrays.traced(found, on=found) is not None
        assert told(found, "cells", influence=False) == {(*index, wanted[at][0][0]) for at, index in enumerate(np.ndindex(found.shape))}


def test_an_axis_that_numpy_takes_of_an_array_of_no_axes() -> None:
    one, axis = np.array(3.0), -1
    functions: tuple[Any, ...] = (np.sum, np.max, np.any, np.ptp, np.nansum, np.argmax, np.cumsum, np.count_nonzero, np.argsort)
    for function in functions:
        found, wanted = function(arrays.source("one", one), axis=axis), function(one, axis=axis)
        assert (found.shape, found.values.tolist()) == (np.shape(wanted), wanted.tolist()), function
        assert arrays.trace(found, (slice(None),) * found.ndim, to="one").cells.count == 1, function
    summed: Any = np.add.reduce(arrays.source("one", one), axis=axis)
    assert summed.values == 3


def test_types_are_those_of_numpys_operators_and_methods() -> None:
    for values in (np.array([True, False]), np.array([1, 2], np.int8), np.array([1 + 2j])):
        one = arrays.source("one", values)
        for found, wanted in ((one**2, values**2), (one**3, values**3), (one.conj(), values.conj())):
            assert (found.dtype, found.values.tolist()) == (wanted.dtype, wanted.tolist())
            assert arrays.trace(found, 0, to="one").cells.count == 1


def test_an_order_in_memory_is_that_of_the_values() -> None:
    laid: list[Callable[[Any], Any]] = [
        lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a.T[1:], lambda a: a.reshape(3, 2, 2).transpose(1, 0, 2),
        lambda a: a[1, 2], lambda a: np.broadcast_to(a[0], (3, 4)),
    ]  # fmt: skip
    asked: list[Callable[[Any, Any], Any]] = [
        np.ravel, lambda a, order: a.flatten(order), lambda a, order: a.reshape(2 if a.size % 2 == 0 else 1, -1, order=order),
    ]  # fmt: skip
    given = np.arange(100.0, 112).reshape(3, 4)
    for source in (given, np.asfortranarray(given)):
        orders = ("A", "K") if source is given else (b"A", "k", None)
        for lie, ask, order in product(laid, asked, orders):
            plain = lie(source)
            try:
                wanted = ask(plain, order)
            except (TypeError, ValueError) as error:  # reshape takes no K
                with pytest.raises(type(error)):
                    ask(lie(arrays.source("cells", source)), order)
                continue
            if order in ("K", "k") and not plain.flags.forc:
                with pytest.raises(NotTracked, match="neither C nor Fortran order"):
                    ask(lie(arrays.source("cells", source)), order)
                continue
            found = ask(lie(arrays.source("cells", source)), order)
            assert np.array_equal(found.values, wanted)
            pairs = {(*at, *np.argwhere(given == wanted[at])[0].tolist()) for at in np.ndindex(wanted.shape)}
            assert told(found, "cells", influence=False) == pairs, order


def test_influence_is_asked_for() -> None:
    cells = arrays.source("cells", np.array([3.0, 1.0, 2.0]))
    least = np.sort(cells)[0]
    assert arrays.trace(least, (), to="cells").cells.indices().tolist() == [[1]]
    assert arrays.trace(least, (), to="cells", influence=True).cells.count == 3
    positive = cells[cells > 1.5]
    assert arrays.trace(positive, (1,), to="cells").cells.indices().tolist() == [[2]]
    assert arrays.trace(positive, (1,), to="cells", influence=True).cells.count == 3


def test_a_source_is_copied_and_nothing_of_it_can_be_written() -> None:
    given = np.zeros(3)
    cells = arrays.source("cells", given)
    given[0] = 7
    assert cells.values.tolist() == [0, 0, 0]
    ordered: Any = np.sort(cells)
    for values in (cells.values, cells[1:].values, (cells + 1).values, ordered.values):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            values.setflags(write=True)


USED_ONCE: list[tuple[Callable[[Any, Any], Any], Any, Any]] = [
    (lambda a, at: a[at], [0, 1], [3, 4]),
    (lambda a, at: a[1:][at, None], [0, 1], [2, 3]),
    (lambda a, mask: a[mask], [True, True, False, False, False], [False, False, True, True, False]),
    (lambda a, at: a.reshape(5, 1)[[at, 0], 0], 1, 3),
    (np.take, [0, 1], [3, 4]),
    (lambda a, at: np.take_along_axis(a, at, 0), [0, 1], [3, 4]),
    (lambda a, counts: np.repeat(a, counts), [2, 0, 1, 0, 0], [0, 1, 0, 0, 2]),
    (lambda a, mask: np.compress(mask, a), [True, False, False, True, False], [False, True, True, False, False]),
    (lambda a, mask: np.extract(mask, a), [True, False, False, True, False], [False, True, True, False, False]),
    (lambda a, which: np.choose(which, [a, a[::-1]]), [0, 0, 0, 1, 1], [1, 1, 0, 0, 0]),
    (lambda a, mask: np.select([mask, ~mask], [a, a[::-1]]), [True, True, False, False, True], [False, True, False, True, True]),
    (lambda a, mask: np.select([mask], [a], -1), [True, True, False, False, True], [False, True, False, True, True]),
    (lambda a, at: np.insert(a, at, a[:2]), [0, 4], [1, 2]),
    (np.delete, [0, 3], [1, 2]),
    (np.roll, [1], [2]),
    (lambda a, at: np.split(a, at)[1], [1, 3], [2, 4]),
    (lambda a, width: np.pad(a, width), [1, 2], [2, 1]),
    (np.quantile, [0.0, 0.25], [1.0, 0.75]),
    (lambda a, shares: np.nanpercentile(a, shares, axis=0), [0.0, 25.0], [100.0, 75.0]),
]
"""What is called with an array, what it is given, and what is written there afterwards."""


def test_what_an_index_was_when_it_was_used_is_told() -> None:
    def behind(found: Any) -> list[list[list[int]]]:
        return [arrays.trace(found, at, to="cells").cells.indices().tolist() for at in np.ndindex(found.shape)]

    cells = arrays.source("cells", np.arange(5.0))
    for at, (call, before, after) in enumerate(USED_ONCE):
        given = np.array(before)
        found = call(cells, given)
        values, wanted = found.values.tolist(), behind(call(cells, np.array(before)))
        given[...] = after
        assert (behind(found), found.values.tolist()) == (wanted, values), at
        assert behind(call(cells, given)) != wanted, at
    series = pd.Series([0, 1])
    found = cells[series]
    series[:] = [3, 4]
    assert behind(found) == [[[0]], [[1]]]
    plain = np.zeros(5)
    beside: Any = np.broadcast_arrays(cells, plain)[1]
    plain[:] = 7
    assert beside.values.tolist() == [0] * 5


def test_a_function_may_give_one_buffer_again_and_again() -> None:
    buffers: dict[Any, Any] = {}

    def reusing(values: Any) -> Any:
        """Twice the values, as cv2 with ``dst=`` gives them."""
        return np.multiply(values, 2, out=buffers.setdefault(np.shape(values), np.zeros(np.shape(values))))

    first, other = np.array([3.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])
    probed = arrays.probe(reusing, arrays.source("cells", first))
    assert (probed.values.tolist(), told(probed, "cells", influence=False)) == ([6, 2, 4], {(at, at) for at in range(3)})
    for lineage in ("elementwise", "cells"):
        function = reusing if lineage == "elementwise" else lambda a: reusing(a) if a.dtype != object else a * 2
        kept: Any = arrays.apply(function, arrays.source("cells", first), lineage=lineage)
        middle: Any = np.median(kept)
        ordered: Any = np.sort(kept)
        reusing(other)
        assert kept.values.tolist() == [6, 2, 4]
        assert told(middle, "cells", influence=False) == {(2,)}
        assert told(ordered, "cells", influence=False) == {(0, 1), (1, 2), (2, 0)}

    edges, places = np.array([0.0, 2.0, 4.0]), np.arange(16).reshape(4, 4) // 8
    bins: Any = np.histogram(arrays.source("cells", first), edges)[1]
    edges[:] = 0
    assert bins.values.tolist() == [0, 2, 4]
    over: Any = np.apply_over_axes(lambda a, axis: reusing(np.sum(a, axis, keepdims=True)), arrays.source("cells", first), [0])
    reusing(np.zeros(1))
    assert over.values.tolist() == [12]

    def score(image: Any) -> Any:
        """Of two classes, of which each looks at a corner."""
        return image[::3, ::3].diagonal() * 1.0

    def in_buffer(image: Any) -> Any:
        return np.add(score(image), 0, out=buffers.setdefault("score", np.zeros(2)))

    image = np.random.default_rng(1).random((4, 4))
    for capture in (arrays.by_lime, arrays.by_drise):
        wanted, found = (
            capture(one, image, samples=200, **({"grid": 2} if capture is arrays.by_drise else {})) for one in (score, in_buffer)
        )
        for index in ((0,), (1,)):
            assert found(index).tolist() == wanted(index).tolist() != []
    by_places, as_before = (arrays.by_lime(score, image, segments=one, samples=50) for one in (places, places.copy()))
    places[:] = 0
    assert by_places((0,)).tolist() == as_before((0,)).tolist()


def test_what_hangs_on_no_cell_is_plain() -> None:
    picture = image()
    assert (np.shape(picture), np.ndim(picture), np.size(picture), len(picture)) == ((20, 24), 2, 480, 20)
    assert isinstance(np.zeros_like(picture), np.ndarray)
    assert not hasattr(picture, "item")
    assert repr(picture + 1) == "Tracked(shape=(20, 24), dtype=float64, made by 'add')"


def test_a_large_image_costs_what_is_asked() -> None:
    picture = arrays.source("image", np.zeros((3000, 4000, 3), dtype=np.uint8))
    gray = (picture[100:2900, 200:3800] / np.float32(255)).mean(axis=2)
    small = gray.reshape(700, 4, 900, 4).mean(axis=(1, 3))
    found = arrays.trace(np.rot90(small), np.s_[10:20, 10:20], to="image")
    assert (found.cells.count, len(found.cells.boxes)) == (40 * 40 * 3, 1)


@pytest.mark.parametrize(
    "ask",
    [
        np.asarray,
        np.array,
        lambda a: np.array([a, a]),
        lambda a: float(a[0, 0]),
        lambda a: int(a[0, 0]),
        lambda a: bool(a[0, 0]),
        lambda a: complex(a[0, 0]),
        lambda a: [1, 2, 3][a[0, 0]],
        lambda a: 3.0 in a,
        lambda a: a.item(),
        lambda a: a.tolist(),
        lambda a: a.sort(),
        lambda a: a.__setitem__(0, 1),
        lambda a: np.add(a, 1, out=np.zeros(a.shape)),
        lambda a: np.sum(a, out=np.zeros(24), axis=0),
        lambda a: a.__iadd__(1),
        lambda a: np.add.at(a, 0, 1),
        lambda a: np.copyto(a, 1),
        lambda a: np.piecewise(a, [a.values > 3], [1, 2]),
        lambda a: np.histogram(a, bins=a[0, :3]),
        lambda a: np.histogram([1.0], weights=[a[0, 0]]),
        lambda a: np.apply_along_axis(lambda line: line - a[0, 0], 0, a),
        lambda a: np.apply_along_axis(np.add, 0, a, a[:, 0]),
        lambda a: np.add.reduceat(a, [a[0, 0]]),
        lambda a: np.einsum(a, [0, 1], [0]),
        lambda a: np.average(a, returned=True),
        lambda a: np.nan_to_num(a, copy=False),
        lambda a: np.percentile(a, 50, weights=a.values, method="inverted_cdf"),
        lambda a: np.gradient(a, a[0, 0]),
        lambda a: np.add(a, 1, where=a.values > 3, out=np.zeros(a.shape)),
        lambda a: np.add(a, 1, where=MASKED > 3),
        lambda a: np.add(a[0, :2], 1, where=[a[0, 0] > 3, False]),
        lambda a: np.add([1.0, 2.0], a[0, 0], where=(True, a[0, 1] > 3)),
        lambda a: np.put(a, 0, 1),
        lambda a: np.sum(a, where=a > 3),
        lambda a: np.take(a.values, (a[0] * 0).astype(int)),
        lambda a: np.pad(a, 1, mode="mean"),
        lambda a: np.pad(a, 1, constant_values=a[0, 0]),
        lambda a: np.full_like(a, a[0, 0]),
        lambda a: np.percentile(a.values, a[0, :1]),
        lambda a: np.unique(a, sorted=False),
        lambda a: np.interp(0.5, [0, 1], a[0, :2], period=2),
        lambda a: np.interp(0.5, [1, 0], a[0, :2]),
        lambda a: np.matmul(a, a.T, axes=[(0, 1), (0, 1), (0, 1)]),
        lambda a: np.vectorize(abs)(a),
        lambda a: np.convolve([1.0], a[0]),
        lambda a: np.mean(a, axis=(a[0, 0],)),
        lambda a: a.base,
        lambda a: a + [a[0], a[1]][:1],
        lambda a: np.dot(a[0], [a[0, 0]] * 24),
        lambda a: np.clip(a[0], [a[0, 0]] * 24, 5),
        lambda a: np.einsum("i,i", a[0], [a[0, 0]] * 24),
        lambda a: np.sum([a, a]),
        lambda a: np.zeros((20, 24)).__setitem__(0, a[0]),
        lambda a: np.zeros((20, 24)).__iadd__(a),
        lambda a: np.arange(3)[(a[0, :2] * 0).astype(int)],
        lambda a: np.arange(24)[a[0] > 3],
        lambda a: max(a[0]),
        lambda a: arrays.apply(np.sum, a, [a], lineage="all"),
        lambda a: a + MASKED,
        lambda a: MASKED + a,
        lambda a: np.where(MASKED > 0, a, 0),
        lambda a: np.concatenate([a, MASKED]),
        lambda a: np.sum(a, where=MASKED > 0),
        lambda a: a[MASKED > 0],
        lambda a: a[np.ma.masked_array([0, 1], [True, False]), 0],
        lambda a: np.ma.sum(a),
        lambda a: arrays.apply(lambda values: np.ma.masked_less(values, 3), a, lineage="elementwise"),
        lambda a: arrays.probe(lambda values: np.ma.masked_less(values, 3), a),
        lambda a: arrays.probe(lambda values, other: values + other, a, MASKED),
        lambda a: np.clip(a, 1, 5, where=np.ones((20, 24), dtype=bool)),
        lambda a: a * np.asmatrix(np.ones((24, 2))),
        lambda a: np.asmatrix(np.ones((2, 20))) * a,
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_what_would_lose_the_lineage_is_refused(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(NotTracked):
        ask(image())


DISPATCHED = {
    one: f"{place.__name__}.{name}"
    for place in (np, np.linalg, np.fft, np.strings, np.char)
    for name, one in vars(place).items()
    if hasattr(one, "_implementation") and one not in RULES and one not in OF_SHAPES
}
"""Numpy's functions that ask their arguments, and are in no list of ours."""


@pytest.mark.parametrize("function", DISPATCHED, ids=DISPATCHED.values())
def test_every_other_function_is_refused_by_its_name(function: Callable[..., Any]) -> None:
    with pytest.raises(NotTracked, match=function.__name__):
        called(function, (image(),), {})


def test_there_are_such_functions() -> None:
    assert 60 < len(DISPATCHED) < 140


def test_a_universal_function_where_something_is_true() -> None:
    """Elsewhere numpy leaves what was in the memory; here it is 0, and no cell stands behind it."""
    random = np.random.default_rng(0)
    left, right, mask = random.random((4, 6)), random.random(6), random.random((3, 4, 6)) < 0.5
    one: Any = arrays.source("left", left)
    other: Any = arrays.source("right", right)
    by: Any = arrays.source("mask", mask)
    number: Any = arrays.source("a", 1.0)
    letters: Any = arrays.source("text", "ab")
    for where in (mask, by):
        found: Any = np.multiply(one, other, where=where)
        assert np.array_equal(found.values, np.where(mask, left * right, 0))
        for at in np.ndindex(3, 4, 6):
            cells = {name: arrays.trace(found, at, to=name).cells.indices().tolist() for name in ("left", "right")}
            assert cells == ({"left": [[*at[1:]]], "right": [[at[2]]]} if mask[at] else {"left": [], "right": []})
    behind = arrays.trace(found, (1, 2, 3), to="mask", influence=True).cells
    assert behind.indices().tolist() == [[1, 2, 3]]
    whole, part = np.divmod(one, 0.3, where=mask[0])
    assert np.array_equal(part.values, np.where(mask[0], np.divmod(left, 0.3)[1], 0))
    assert arrays.trace(whole, ..., to="left").cells.count == mask[0].sum()
    scalar: Any = np.add(number, 2.0, where=False)
    assert (scalar.values.tolist(), arrays.trace(scalar, (), to="a").cells.count) == (0.0, 0)
    half: Any = {"where": np.array([True, False])}
    text: Any = np.strings.add(letters, "c", **half)
    assert (text.values.tolist(), arrays.trace(text, ..., to="text").cells.count) == (["ac", ""], 1)


def test_the_position_of_an_extreme_is_not_computed_from_what_it_skips() -> None:
    cells = arrays.source("cells", np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 4.0]]))
    for function in (np.nanargmax, np.nanargmin):
        found = arrays.trace(function(cells, axis=1), ..., to="cells").cells
        assert (found.indices().tolist(), found.guarantee) == ([[0, 0], [0, 2], [1, 1], [1, 2]], "exact")
        assert arrays.trace(function(cells), ..., to="cells", influence=True).cells.count == 6


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: arrays.source("", np.zeros(3)), InvalidArray),
        (lambda: arrays.source("a", np.array([None, {}])), InvalidArray),
        (lambda: arrays.source("a", np.zeros(3, dtype=[("x", int)])), InvalidArray),
        (lambda: arrays.source("a", np.ma.masked_array([1, 2], [True, False])), InvalidArray),
        (lambda: arrays.source("a", image()), NotTracked),
        (lambda: arrays.trace(np.zeros(3), (0,), to="image"), NotTracked),
        (lambda: arrays.trace(image() + 1, (0, 0), to="picture"), UnknownArray),
        (lambda: arrays.trace(image(), (20, 0), to="image"), InvalidCells),
        (lambda: arrays.trace(arrays.source("a", [1]) + arrays.source("a", [2]), (0,), to="a"), InvalidArray),
    ],
)
def test_what_is_no_source_and_no_question_is_refused(make: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_paths_without_end_are_refused() -> None:
    cells = arrays.source("cells", np.arange(3.0))
    for _ in range(11):
        cells = cells + cells[::-1]
    with pytest.raises(TooManyCells, match="paths"):
        arrays.trace(cells, (0,), to="cells")


# --- what is declared -------------------------------------------------------------------------------------------------------


def test_declared_lineage() -> None:
    picture = image()
    doubled = arrays.apply(lambda a: a * 2, picture, lineage="elementwise", name="brighten")
    assert arrays.trace(doubled, (1, 2), to="image").paths[0].names == ("brighten", "image")
    assert arrays.trace(doubled, (1, 2), to="image").cells.indices().tolist() == [[1, 2]]
    score = arrays.apply(lambda a: np.array(a.sum()), picture, lineage="all")
    found = arrays.trace(score, (), to="image").cells
    assert (found.count, found.guarantee) == (480, "superset")
    rows = arrays.apply(lambda a: np.sort(a, axis=1), picture, lineage="axis", axis=1)
    assert arrays.trace(rows, (3, 0), to="image").cells.boxes.tolist() == [[[3, 4], [0, 24]]]
    blurred = arrays.apply(lambda a: a, picture, lineage=lambda shape: rules.windows(shape, (3, 3), "same"))
    assert arrays.trace(blurred, (0, 5), to="image").cells.boxes.tolist() == [[[0, 2], [4, 7]]]
    product = arrays.apply(lambda a, b: a @ b, picture, np.ones((24, 2)), lineage=rules.matmul, guarantee="unavailable")
    assert arrays.trace(product, (0, 1), to="image").cells.guarantee == "unavailable"
    turned = arrays.apply(np.rot90, picture, lineage=arrays.moved(np.rot90, (20, 24)))
    assert arrays.trace(turned, (0, 0), to="image").cells.indices().tolist() == [[0, 23]]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"lineage": "elements"}, InvalidOption),
        ({"lineage": "all", "guarantee": "sure"}, InvalidRelation),
        ({"lineage": rules.scan((3,), 0)}, InvalidRelation),
        ({"lineage": lambda shape: None}, (InvalidRelation, TypeError)),
        ({"lineage": "axis", "axis": 0, "function": lambda a: a[:, :3]}, InvalidRelation),
        ({"lineage": "elementwise", "function": lambda a: a[:3]}, InvalidRelation),
        ({"lineage": "all", "function": lambda a: [object()]}, NotTracked),
    ],
)
def test_what_is_declared_wrongly_is_refused(options: dict[str, Any], error: Any) -> None:
    with pytest.raises(error):
        arrays.apply(options.pop("function", lambda a: a), image(), **options)
    with pytest.raises(NotTracked):
        arrays.apply(np.negative, np.zeros(3), lineage="elementwise")


def test_interpolation_at_what_is_no_number_reads_no_value() -> None:
    known = arrays.source("known", np.array([3.0, 7.0, 1.0]))
    found = np.interp([np.nan, 0.5, 9.0], [0.0, 1.0, 2.0], known)
    behind = [arrays.trace(found, at, to="known").cells.indices().reshape(-1).tolist() for at in range(3)]
    assert behind == [[], [0, 1], [2]]
