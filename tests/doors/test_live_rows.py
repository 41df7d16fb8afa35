"""The doors that ask a run about rows, or capture its lineage, given anything: over a small table, captured and not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from airflow_lineage_provider import Capture, CaptureTable, Cube, Lineage, LineageRows, Run
from airflow_lineage_provider.store import Store
from tests.doors.fuzzed import answers, fuzzed
from tests.doors.strategies import anything, predicates, texts
from tests.pipeline.small_files import view

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]

SHARE = 5
SCHEMA = "id int, name string, score double"
GROUPS = "SELECT name, count(*) AS n, max(score) AS score FROM door_rows GROUP BY name"
COLUMNS = st.sampled_from(["id", "name", "score", "n", "door_rows"])
CELLS = st.dictionaries(st.one_of(COLUMNS, texts), anything, max_size=2)
TARGETS = st.one_of(predicates, CELLS, st.lists(CELLS, max_size=2), anything)
TABLES = st.one_of(st.just("door_rows"), texts, anything)
OPTIONS = ("at", "max_rows", "lazy", "subqueries", "difference", "params", "across", "save", "context")


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    rows = [(1, "a", 0.5), (2, "a", None), (3, None, 1.5), (None, "b", 2.0)]
    view(spark, tmp_path_factory.mktemp("door_rows"), "door_rows", rows, SCHEMA)
    yield Lineage(spark, store=store)
    spark.catalog.dropTempView("door_rows")


@pytest.fixture(scope="module", params=["lazy", "eager"])
def run(request: pytest.FixtureRequest, lineage: Lineage) -> Iterator[Run]:
    made = lineage.run(GROUPS, name="door rows", capture=request.param, progress=False)
    yield made
    made.close()


def options(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """One option or none, of any value."""
    one = st.tuples(st.sampled_from(names), st.one_of(anything, st.lists(texts), st.dictionaries(texts, anything)))
    return st.one_of(st.just({}), one.map(lambda pair: dict([pair])))


def looked_at(found: Any) -> None:
    """All that an answer says, and that what it says fits together."""
    for one in found.values() if isinstance(found, dict) else [found]:
        if isinstance(one, LineageRows):
            numbers, each = one.rids.tolist(), one.per_target.to_pylist()
            assert numbers == sorted({rid for own in each for rid in own})
            assert one.count == one.rows.num_rows == len(numbers)
        one.to_dict()


@fuzzed(share=SHARE, target=TARGETS, table=st.one_of(st.none(), TABLES), given=options(OPTIONS[:5]))
def test_backward(run: Run, target: Any, table: Any, given: dict[str, Any]) -> None:
    answers(lambda: looked_at(run.backward(target, table, **{"progress": False} | given)))


@fuzzed(share=SHARE, target=TARGETS, table=st.one_of(st.none(), TABLES), given=options(OPTIONS))
def test_forward(run: Run, target: Any, table: Any, given: dict[str, Any]) -> None:
    answers(lambda: looked_at(run.forward(target, table, **{"progress": False} | given)))


REVISED = st.one_of(CELLS, st.lists(CELLS, max_size=2), anything)


@fuzzed(share=2 * SHARE, target=TARGETS, revised=REVISED, given=options(("at", "max_rows", "table")))
def test_impact(run: Run, target: Any, revised: Any, given: dict[str, Any]) -> None:
    answers(lambda: run.impact(target, revised=revised, **{"progress": False} | given).to_dict())


@fuzzed(share=SHARE, target=TARGETS, table=st.one_of(st.none(), TABLES))
def test_linked(run: Run, target: Any, table: Any) -> None:
    answers(lambda: looked_at(run.linked(target, run, table, progress=False)))


@fuzzed(share=SHARE, target=TARGETS, given=options(("at", "max_rows", "lazy")))
def test_witnesses(run: Run, target: Any, given: dict[str, Any]) -> None:
    answers(lambda: run.witnesses(target, **{"progress": False} | given).to_arrow())


EXPRESSIONS = st.one_of(st.lists(st.one_of(COLUMNS, predicates, texts), max_size=2), anything)


@fuzzed(share=SHARE, condition=st.one_of(predicates, texts), by=EXPRESSIONS, measures=EXPRESSIONS)
def test_rows_that_are_asked_on(run: Run, condition: str, by: Any, measures: Any) -> None:
    rows = run.backward("true", "door_rows", progress=False)
    answers(lambda: rows.where(condition).to_arrow(2))
    answers(lambda: rows.aggregate(by, measures))
    answers(lambda: rows.query(condition))


PARTS = st.fixed_dictionaries({}, optional={
    "where": st.one_of(predicates, anything), "partition_by": EXPRESSIONS, "granularity": EXPRESSIONS,
    "cube": st.one_of(anything, st.lists(st.tuples(EXPRESSIONS, EXPRESSIONS), max_size=1)),
})  # fmt: skip


def wanted(parts: dict[str, Any]) -> CaptureTable:
    cubes = parts.get("cube")
    if isinstance(cubes, list) and all(isinstance(one, tuple) and len(one) == 2 for one in cubes):
        parts = parts | {"cube": [Cube(by=by, measures=measures) for by, measures in cubes]}
    return CaptureTable(**parts)


@fuzzed(share=SHARE, parts=PARTS, given=options(("direction", "tables", "subqueries", "difference", "witnesses", "params")))
def test_capture(run: Run, parts: dict[str, Any], given: dict[str, Any]) -> None:
    def tables() -> dict[str, Any]:
        return {"tables": {"door_rows": wanted(parts)}, "progress": False}

    answers(lambda: run.capture(**tables() | given))
    answers(lambda: Capture(**given | {"tables": {"door_rows": wanted(parts)}}))
    assert run.index is None or not run.index.problem
