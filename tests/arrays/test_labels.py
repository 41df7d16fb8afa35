"""Arrays whose positions have labels: asked for by them, and told."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from airflow_lineage_provider import arrays
from airflow_lineage_provider.arrays import Log
from airflow_lineage_provider.arrays.index_text import index_of
from airflow_lineage_provider.arrays.labels import MOST_LABELS
from airflow_lineage_provider.errors import InvalidArray, InvalidCells, UnknownArray

COLUMNS = ["client", "price", 'net, "euros"']


@pytest.fixture
def log() -> Log:
    """Orders, and for each a share that its price and its client stand behind; of the second order the price alone."""
    made = Log()
    made.array("orders", (4, 3), labels={1: COLUMNS})
    made.array("shares", (4,), labels={0: ["a", "b", "c", "d"]})
    made.lineage("orders", "shares", [(row, row, column) for row in range(4) for column in (0, 1) if (row, column) != (1, 0)])
    return made


def test_cells_are_asked_for_by_labels_and_told_with_them(log: Log) -> None:
    found = log.prov_query(["orders", "shares"], np.s_[:, "client"])
    assert (found.indices()[:, 0].tolist(), found.labels) == ([0, 2, 3], {0: ("a", "c", "d")})
    found = log.prov_query(["shares", "orders"], "b")
    assert (found.indices().tolist(), found.labels) == ([[1, 1]], {1: ("price",)})
    assert log.prov_query(["shares", "orders"], ["a", "b"]).labels == {1: ("client", "price")}
    assert log.prov_query(["orders", "shares"], np.s_[..., COLUMNS[2]]).labels == {0: ()}
    traced = log.trace("shares", np.s_[["d", "b", "d"]], to="orders")
    assert (traced.cells.count, traced.cells.labels, traced.paths[0].cells.labels) == (3, *[{1: ("client", "price")}] * 2)
    assert log.labels("orders") == {1: tuple(COLUMNS)}


def test_labels_are_said_once(log: Log) -> None:
    log.array("orders", (4, 3))
    log.array("orders", [4, 3], labels={1: pd.Index(COLUMNS)})
    log.array("orders", (4, 3), labels={1: np.array(COLUMNS)})
    with pytest.raises(InvalidArray, match=r"with other labels \(axis 1: 'client', 'price', .*new name"):
        log.array("orders", (4, 3), labels={1: ["client", "price", "net"]})
    with pytest.raises(InvalidArray, match="with other labels"):
        log.array("orders", (4, 3), labels={0: list("wxyz"), 1: COLUMNS})
    log.array("plain", (3,), labels={})
    with pytest.raises(InvalidArray, match=r"other labels \(none\)"):
        log.array("plain", (3,), labels={0: COLUMNS})
    assert log.labels("plain") == {}
    with pytest.raises(UnknownArray, match="'gone'"):
        log.labels("gone")


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (COLUMNS, "are no labels; they are texts by the axis"),
        ({2: COLUMNS}, "2 is none of its axes"),
        ({-1: COLUMNS}, "-1 is none of its axes"),
        ({True: COLUMNS}, "True is none of its axes"),
        ({"1": COLUMNS}, "'1' is none of its axes"),
        ({1: "abc"}, "a list of texts, not 'abc'"),
        ({1: 3}, "a list of texts, not 3"),
        ({1: ["a", "b"]}, "are 3, one for each position; these are 2"),
        ({1: ["a", "b", "a"]}, "'a' is there twice"),
        ({1: ["a", "b", 2018]}, "2018 is none"),
        ({1: ["a", "b", ""]}, "'' is none"),
        ({1: ["a", "b", "c\0"]}, "is none"),
        ({1: ["a", "b", "\ud800"]}, "is none"),
        ({0: map(str, range(MOST_LABELS + 1))}, "can have 10,000 labels; these are more"),
    ],
)
def test_what_are_no_labels_is_refused(log: Log, labels: Any, why: str) -> None:
    with pytest.raises(InvalidArray, match=f"'new'.*{why}"):
        log.array("new", (4, 3), labels=labels)
    with pytest.raises(UnknownArray):
        log.labels("new")


@pytest.mark.parametrize(
    ("path", "asked", "why"),
    [
        ("orders", "price", r"'price' is no position: axis 0 of array 'orders' of shape \(4, 3\) has no labels"),
        ("orders", np.s_[0, "cost"], r"'cost' is no label: axis 1 of array 'orders' of shape \(4, 3\) has 'client', 'price', "),
        ("orders", np.s_[0, ["price", "cost"]], "'cost' is no label"),
        ("orders", np.s_[0, ["price", 1]], "is no cell along axis 1"),
        ("orders", np.s_[0, "client":"price"], "is no cell along axis 1"),
        ("orders", np.s_[0, "client", 0], "has not the 2 axes"),
        ("shares", ["a", "e"], "'e' is no label"),
        ("shares", np.array(["a"]), "array of type <U1"),
    ],
)
def test_what_are_no_labels_of_the_array_are_no_cells(log: Log, path: str, asked: Any, why: str) -> None:
    with pytest.raises(InvalidCells, match=why):
        log.prov_query([path], asked)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("'price'", ("price",)),
        (' 0:2 , "a, b" ', (slice(0, 2), "a, b")),
        ("..., 'it''s'", (..., "it's")),
        ('"it\'s", 1', ("it's", 1)),
        ("['a'], [\"b:[]\", 'c,']", (["a"], ["b:[]", "c,"])),
        ("''''", ("'",)),
        ("", ()),
    ],
)
def test_an_index_is_written_with_labels(text: str, wanted: tuple[Any, ...]) -> None:
    assert index_of(text) == wanted


@pytest.mark.parametrize(
    "text", ["'a", "a", "['a'", "'a']", "[1]", "[]", "['a', 0]", "'a''", "'a' 'b'", "'a':'b'", "[['a']]", "'a',", ",", '"']
)
def test_what_is_no_index_is_refused(text: str) -> None:
    with pytest.raises(InvalidCells):
        index_of(text)


def test_a_log_with_labels_answers_as_a_frame_does() -> None:
    """Random tables, some of whose columns and rows are kept; the frame follows the cells itself, and knows columns by labels, too."""
    draw = np.random.default_rng(8)
    for _ in range(20):
        rows, columns = (int(one) for one in draw.integers(1, 6, 2))
        names = [f"column {at}" for at in range(columns)]
        table = arrays.frame("table", pd.DataFrame(draw.integers(0, 3, (rows, columns)), columns=names))
        chosen = draw.permutation(names)[: draw.integers(1, columns + 1)].tolist()
        kept = table[draw.random(rows) < 0.6][chosen].sort_values(chosen)
        log = Log()
        log.array("table", (rows, columns), labels={1: table.columns})
        log.array("kept", kept.shape, labels={1: kept.columns})
        log.lineage("table", "kept", capture=partial(behind, kept))
        for label in chosen:
            wanted = arrays.trace(kept, kept.cells(columns=label), to="table").cells
            found = log.prov_query(["kept", "table"], np.s_[:, label])
            assert found.indices().tolist() == wanted.indices().tolist()
            assert found.labels == {1: (label,) if len(kept) else ()}
            forward = log.prov_query(["table", "kept"], np.s_[..., [label]])
            assert places(forward.indices()) == places(kept.cells(columns=label))


def behind(kept: Any, at: tuple[int, ...]) -> Any:
    return arrays.trace(kept, at, to="table").cells.indices()


def places(cells: Any) -> Sequence[tuple[int, ...]]:
    return sorted(map(tuple, cells.tolist()))
