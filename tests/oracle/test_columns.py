"""Column-level lineage against plain Python: changing the values of a source column changes no output column that does not name it.

The pipelines are captured by Spark over empty tables; what they give is evaluated without it (`evaluate`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.spark.capturing.capture import capture
from airflow_lineage_provider.tracing.columns.lineage import ColumnLineage, column_lineage
from tests.oracle import evaluate, render_sql, udfs
from tests.oracle import query as q
from tests.oracle.render_frame import to_frame
from tests.oracle.row import Ambiguous
from tests.oracle.strategies import Case, cases
from tests.oracle.values import same
from tests.tracing.told_columns import one_segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.plan.pipeline import Pipeline

pytestmark = pytest.mark.spark

Pair = tuple[str, str]
"""A table and one of its columns."""
EXAMPLES, CHANGES = 40, 10
VALUES: dict[str, tuple[Any, ...]] = {
    "int": (7, 0, None, -4), "bigint": (9, 1, None, -2), "string": ("z", "a", None, "B"), "boolean": (True, False, None),
    "double": (2.5, 0.0, None, float("nan")),
}  # fmt: skip


@contextmanager
def empty_tables(tables: q.Tables, spark: SparkSession) -> Iterator[None]:
    for name, data in tables.items():
        spark.createDataFrame([], data.ddl).createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name in tables:
            spark.catalog.dropTempView(name)


def captured(case: Case, spark: SparkSession) -> Pipeline:
    with empty_tables(case.tables, spark):
        for udf in udfs.REASONED:
            udf.register(spark)
        if case.style == "frame":
            return capture(to_frame(case.query, case.tables, spark)).pipeline
        return capture(spark.sql(render_sql.to_sql(case.query, case.tables, case.style))).pipeline


def behind(lineage: ColumnLineage, *, with_rows: bool = True) -> list[set[Pair]]:
    """For each output column the source columns that the lineage names; a session's table may be several (``t0``, ``t0_2`` …)."""
    rows = lineage.rows if with_rows else ()
    return [{(one.source.relation.name, one.source.column) for one in (*column.inputs, *rows)} for column in lineage.columns]


def columns_of(case: Case) -> list[Pair]:
    return [(name, column) for name, data in case.tables.items() for column, _ in data.columns]


def changed(tables: q.Tables, pair: Pair, random: Random) -> dict[str, q.Data]:
    """The tables with other values in one column (rids stay different from each other)."""
    data = tables[pair[0]]
    at = [name for name, _ in data.columns].index(pair[1])
    if at == data.rid:
        new: list[Any] = random.sample([row[at] for row in data.rows], len(data.rows))
    else:
        new = random.choices(VALUES[data.columns[at][1]], k=len(data.rows))
    rows = tuple((*row[:at], value, *row[at + 1 :]) for row, value in zip(data.rows, new, strict=True))
    return {**tables, pair[0]: replace(data, rows=rows)}


def bag(query: q.Node, tables: q.Tables, positions: list[int]) -> Counter[tuple[Any, ...]] | None:
    """The result's values in some columns; None where a limit cuts between equal rows."""
    try:
        rows = evaluate.rows(query, tables)
    except Ambiguous:
        return None
    return Counter(tuple(same(row.values[at]) for at in positions) for row in rows)


def violations(case: Case, named: list[set[Pair]], counted: Counter[str]) -> list[Pair]:
    """The source columns whose change is seen in output columns that do not name them."""
    found, random = [], Random(len(named))
    for pair in columns_of(case):
        free = [at for at, names in enumerate(named) if pair not in names]
        before = bag(case.query, case.tables, free) if free and case.tables[pair[0]].rows else None
        if before is None:
            continue
        for _ in range(CHANGES):
            after = bag(case.query, changed(case.tables, pair, random), free)
            counted["checked"] += after is not None
            if after is not None and after != before:
                found.append(pair)
                break
    return found


def checked_lineage(case: Case, spark: SparkSession, counted: Counter[str]) -> ColumnLineage:
    """The lineage of a case, which holds."""
    pipeline = captured(case, spark)
    lineage = column_lineage(rewrite(pipeline))
    assert behind(lineage) == behind(column_lineage(one_segment(pipeline.plan, pipeline.names)))
    assert {pair for names in behind(lineage) for pair in names} <= set(columns_of(case))
    wrong = violations(case, behind(lineage), counted)
    assert not wrong, f"{wrong} matter to columns that do not name them"
    return lineage


@pytest.mark.timeout(120)
def test_a_source_column_that_is_not_named_does_not_matter(spark: SparkSession) -> None:
    counted: Counter[str] = Counter()

    @settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=cases(depth=3))
    def hold(case: Case) -> None:
        lineage = checked_lineage(case, spark, counted)
        # The check itself must be able to fail: without what decides the rows, and without anything at all, it does.
        counted["found without rows"] += bool(violations(case, behind(lineage, with_rows=False), counted))
        counted["found without all"] += bool(violations(case, [set() for _ in lineage.columns], counted))

    hold()
    assert counted["checked"] > 20 * EXAMPLES
    assert counted["found without rows"] > EXAMPLES // 10
    assert counted["found without all"] > EXAMPLES // 3


# --- one influence at a time --------------------------------------------------------------------------------------------

T = q.Data((("rid", "int"), ("k", "int"), ("s", "string")), ((1, 0, "a"), (2, 1, None), (3, None, "b"), (4, 7, "a")))
U = q.Data((("rid", "int"), ("v", "int")), ((11, 0), (12, 1), (13, None), (14, 7)))
RID, K, S = (q.Col(at) for at in range(3))
POSITIVE = q.Op("<", (q.Lit(0, "int"), K))
STRINGS = q.Project(q.Table("t"), (S,))
JOINED = q.Op("=", (K, q.Col(4)))

# The query, and the source columns that its last output column must name: each matters, in these data.
SINGLE: dict[str, tuple[q.Node, set[Pair]]] = {
    "case": (q.Project(q.Table("t"), (q.Op("case", (POSITIVE, S, q.Lit("c", "string"))),)), {("t", "k"), ("t", "s")}),
    "case of constants": (
        q.Project(q.Table("t"), (q.Op("case", (POSITIVE, q.Lit("y", "string"), q.Lit("n", "string"))),)), {("t", "k")},
    ),
    "coalesce": (q.Project(q.Table("t"), (q.Op("coalesce", (K, q.Lit(3, "int"))),)), {("t", "k")}),
    "udf": (q.Project(q.Table("t"), (q.Udf("blend", (K, S)),)), {("t", "k"), ("t", "s")}),
    "udf in a filter": (q.Project(q.Filter(q.Table("t"), q.Udf("likes", (S,))), (RID,)), {("t", "s"), ("t", "rid")}),
    "filter": (q.Project(q.Filter(q.Table("t"), POSITIVE), (S,)), {("t", "k"), ("t", "s")}),
    "filter of a union's right": (
        q.Union(STRINGS, q.Project(q.Filter(q.Table("t"), POSITIVE), (S,))), {("t", "k"), ("t", "s")},
    ),
    "union of tables": (q.Union(q.Project(q.Table("t"), (K,)), q.Project(q.Table("u"), (q.Col(1),))), {("t", "k"), ("u", "v")}),
    "group key": (q.Project(q.Aggregate(q.Table("t"), (S,), (q.Call("count"),)), (q.Col(1),)), {("t", "s")}),
    "aggregate": (q.Project(q.Aggregate(q.Table("t"), (S,), (q.Call("max", K),)), (q.Col(1),)), {("t", "k"), ("t", "s")}),
    "global count": (q.Aggregate(q.Filter(q.Table("t"), POSITIVE), (), (q.Call("count"),)), {("t", "k")}),
    "distinct": (q.Project(q.Distinct(q.Project(q.Table("t"), (K, S))), (q.Col(1),)), {("t", "k"), ("t", "s")}),
    "top": (q.Project(q.TopK(q.Project(q.Table("t"), (K, RID)), 2), (q.Col(1),)), {("t", "k"), ("t", "rid")}),
    "join": (q.Project(q.Join("inner", q.Table("t"), q.Table("u"), JOINED), (S,)), {("t", "k"), ("t", "s"), ("u", "v")}),
    "left join": (q.Project(q.Join("left", q.Table("t"), q.Table("u"), JOINED), (q.Col(3),)), {("t", "k"), ("u", "rid"), ("u", "v")}),
    "left join with a filter on the right": (
        q.Project(q.Join("left", q.Table("t"), q.Filter(q.Table("u"), q.Op("is_null", (q.Col(1),)))), (S,)), {("t", "s"), ("u", "v")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
def test_each_way_to_matter_is_named_and_does_matter(name: str, spark: SparkSession) -> None:
    query, wanted = SINGLE[name]
    case = Case(tables={"t": T, "u": U}, query=query)
    *_, last = behind(checked_lineage(case, spark, Counter()))
    assert last == wanted
    for pair in wanted:
        assert violations(case, [wanted - {pair}], Counter()) == [pair]
