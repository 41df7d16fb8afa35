"""The doors that take a table and need neither a store nor Spark, given anything: linked views, and profiles."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from airflow_lineage_provider.answers.crossfilter import Crossfilter
from airflow_lineage_provider.answers.profile import Profile
from airflow_lineage_provider.options import check_options
from tests.doors.fuzzed import answers, fuzzed
from tests.doors.strategies import anything, predicates, texts

pytest.importorskip("duckdb")

TABLE = pa.table({
    "id": [1, 2, 3, None], "name": ["a", "b", None, "\x00"], "score": [0.5, float("nan"), -0.0, None], "raw": [b"x", b"", None, b"y"],
    "tags": [["a"], [], None, ["b"]],
})  # fmt: skip
COLUMNS = st.sampled_from(TABLE.column_names)
EXPRESSIONS = st.one_of(COLUMNS, predicates, texts, anything)


@fuzzed(views=st.one_of(anything, st.dictionaries(st.one_of(texts, COLUMNS), EXPRESSIONS, max_size=3)))
def test_views(views: Any) -> None:
    def ask() -> None:
        check_options({"views": views})
        Crossfilter.over(TABLE, views)

    answers(ask)


@pytest.fixture(scope="module")
def view() -> Crossfilter:
    return Crossfilter.over(TABLE, {"id": "id", "name": "name", "score": "score > 0"})


BRUSHES = st.one_of(anything, st.dictionaries(st.one_of(st.sampled_from(["id", "name", "score"]), texts), anything, max_size=2))


@fuzzed(brushes=BRUSHES, limit=st.integers(-3, 5))
def test_brushes(view: Crossfilter, brushes: Any, limit: int) -> None:
    def ask() -> None:
        found = view.brush(brushes)
        assert found.rows(limit).num_rows <= max(limit, 0)
        assert 0 <= found.selected <= view.rows
        assert all(sum(counts.values()) <= view.rows for counts in found.counts.values())

    answers(ask)


DEPENDENCIES = st.lists(st.one_of(texts, st.tuples(COLUMNS, st.just(" -> "), COLUMNS).map("".join)), max_size=3)
NULLS = st.one_of(st.sampled_from(["ignore", "value"]), anything)
METHODS = st.one_of(st.sampled_from(["cd", "ug", "auto"]), anything)


@fuzzed(fds=st.one_of(anything, DEPENDENCIES), nulls=NULLS, method=METHODS)
def test_profiles(fds: Any, nulls: Any, method: Any) -> None:
    def ask() -> None:
        check_options({"nulls": nulls, "method": method})
        found = Profile.of("a table", TABLE, fds, nulls=nulls, method=method)
        assert found.graph.edges().num_rows == sum(found.values(at).column("rows").to_numpy().sum() for at in range(len(found)))

    answers(ask)
