"""Operators merged into one SELECT give what one subquery an operator gives: random plans in PostgreSQL and DuckDB, and some in Spark."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check_unique
from airflow_lineage_provider.sources.duckdb_connection import connected
from airflow_lineage_provider.sql import LeafKey, TableRef, lower
from tests.sql.build import aggregate, attribute, call, literal, named, source, table
from tests.sql.naive import naive

if TYPE_CHECKING:
    from psycopg2.extensions import cursor
    from pyspark.sql import SparkSession

ROWS: dict[str, list[tuple[Any, ...]]] = {
    "t0": [(1, 1, "a"), (1, 2, "b"), (2, None, "a"), (2, None, "a"), (None, 3, None), (3, 0, "B")],
    "t1": [(1, 5, "a"), (2, 1, "b"), (2, 2, "b"), (None, None, "a"), (4, 0, "")],
    "t2": [(0, 0, "a")],
    "t3": [],
}


@dataclass
class Maker:
    """Draws plans whose attributes have fresh ids and names."""

    data: st.DataObject
    tables: dict[LeafKey, TableRef] = field(default_factory=dict)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    leaves: itertools.count[int] = field(default_factory=itertools.count)

    def pick(self, *options: object) -> object:
        return self.data.draw(st.sampled_from(options))

    def plan(self, depth: int) -> o.Plan:
        kinds = ("leaf",) if depth == 0 else ("project", "filter", "join", "join", "aggregate", "distinct", "union", "sort", "semi")
        match self.pick(*kinds):
            case "leaf":
                return self.leaf()
            case "project":
                return self.project(self.plan(depth - 1))
            case "filter":
                child = self.plan(depth - 1)
                return o.Filter(child=child, condition=self.condition(child.output))
            case "join":
                return self.join(depth, ("inner", "left", "right", "full", "cross"))
            case "semi":
                return self.join(depth, ("left_semi", "left_anti", "existence"))
            case "aggregate":
                return self.aggregate(self.plan(depth - 1))
            case "distinct":
                return o.Distinct(child=self.plan(depth - 1))
            case "union":
                return self.union(depth)
        return self.top(self.plan(depth - 1))

    def leaf(self) -> o.Source:
        name = str(self.pick(*ROWS))
        number = next(self.leaves)
        columns = [attribute(i, f"c{i}", kind) for i, kind in zip(itertools.islice(self.ids, 3), ("int", "int", "string"), strict=True)]
        relation = source(number, name, *columns)
        leaf = o.Source(relation=relation.relation, output=relation.output, columns=("k", "v", "s"), leaf=number)
        self.tables["source", number] = table(leaf)
        return leaf

    def fresh(self, child: e.Expression) -> e.Alias:
        number = next(self.ids)
        return named(child, number, f"c{number}")

    def project(self, child: o.Plan) -> o.Plan:
        columns: list[e.Named] = []
        for _ in range(self.data.draw(st.integers(1, 4))):
            plain = self.attribute(child.output)
            if self.pick(True, False) and plain not in columns:
                columns.append(plain)
            else:
                columns.append(self.fresh(self.value(child.output)))
        return o.Project(child=child, columns=tuple(columns))

    def attribute(self, available: tuple[e.Attribute, ...]) -> e.Attribute:
        return self.data.draw(st.sampled_from(available))

    def value(self, available: tuple[e.Attribute, ...]) -> e.Expression:
        one = self.attribute(available)
        match self.pick("plain", "literal", "coalesce", "when"):
            case "plain":
                return one
            case "literal":
                return self.constant(one.type)
            case "coalesce":
                return call("coalesce", one, self.constant(one.type), kind=one.type)
        return call("when", call("isnull", one), self.constant(one.type), self.condition(available), one, kind=one.type)

    def constant(self, kind: str) -> e.Literal:
        value = self.pick(0, 1, 2, None) if kind != "string" else self.pick("a", "b", "", None)
        return e.Literal(value=None if value is None else str(value), type=kind) if kind != "boolean" else literal("true", "boolean")

    def condition(self, available: tuple[e.Attribute, ...]) -> e.Expression:
        one = self.attribute(available)
        match self.pick("compare", "null", "or", "same"):
            case "compare":
                return call(str(self.pick("=", "<", ">=", "<=>")), one, self.constant(one.type))
            case "null":
                return call("not", call("isnull", one))
            case "or":
                return call("or", call("isnull", one), self.condition(available))
        others = [a for a in available if a.type == one.type]
        return call("<=", one, self.data.draw(st.sampled_from(others)))

    def join(self, depth: int, kinds: tuple[str, ...]) -> o.Plan:
        left, right, kind = self.plan(depth - 1), self.plan(depth - 1), str(self.pick(*kinds))
        pairs = [(a, b) for a in left.output for b in right.output if a.type == b.type]
        if kind == "cross" or not pairs:
            return o.Join(left=left, right=right, kind="cross")
        condition: e.Expression = call("=", *self.data.draw(st.sampled_from(pairs)))
        if kind != "full" and self.pick(True, False):
            condition = call("and", condition, self.condition(left.output + right.output))
        number = next(self.ids)
        exists = attribute(number, f"c{number}", "boolean") if kind == "existence" else None
        return o.Join(left=left, right=right, kind=kind, condition=condition, exists=exists)  # type: ignore[arg-type]

    def aggregate(self, child: o.Plan) -> o.Plan:
        keys = tuple(dict.fromkeys(self.attribute(child.output) for _ in range(self.data.draw(st.integers(0, 2)))))
        one = self.attribute(child.output)
        calls = [aggregate("count", literal(1)), aggregate("count", one, distinct=bool(self.pick(True, False)))]
        if one.type != "boolean":
            calls.append(aggregate("max", one, kind=one.type))
        return o.Aggregate(child=child, keys=keys, columns=(*keys, *(self.fresh(made) for made in calls)))

    def union(self, depth: int) -> o.Plan:
        left, right = self.plan(depth - 1), self.plan(depth - 1)
        kinds = [a.type for a in left.output]
        columns: list[e.Named] = []
        for kind in kinds:
            found = [a for a in right.output if a.type == kind]
            columns.append(self.fresh(self.data.draw(st.sampled_from(found)) if found else self.constant(kind)))
        output = tuple(attribute(i, f"c{i}", kind) for i, kind in zip(itertools.islice(self.ids, len(kinds)), kinds, strict=True))
        return o.Union(children=(left, o.Project(child=right, columns=tuple(columns))), output=output)

    def top(self, child: o.Plan) -> o.Plan:
        """Sorted by everything, so that the first rows are settled."""
        keys = tuple(
            e.SortKey(child=a, ascending=bool(self.pick(True, False)), nulls_first=bool(self.pick(True, False))) for a in child.output
        )
        ordered = o.Sort(child=child, order=keys)
        limit = o.Limit(
            child=ordered, count=self.data.draw(st.sampled_from([0, 1, 3, None])), offset=self.data.draw(st.sampled_from([0, 1]))
        )
        return limit if self.pick(True, False) else ordered


@pytest.fixture(scope="module")
def filled(postgres: cursor) -> cursor:
    for name, rows in ROWS.items():
        postgres.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (k int, v int, s text)")
        for row in rows:
            postgres.execute(f"INSERT INTO {name} VALUES (%s, %s, %s)", row)
    return postgres


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Any]:
    with connected([]) as connection:
        for name, rows in ROWS.items():
            kinds = (pa.int32(), pa.int32(), pa.string())
            columns = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
            connection.register(name, pa.table(columns, names=["k", "v", "s"]))
        yield connection


def bag(rows: list[tuple[object, ...]]) -> list[str]:
    return sorted(repr(tuple(row)) for row in rows)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_merged_query_gives_the_same_rows(filled: cursor, duckdb: Any, data: st.DataObject) -> None:
    maker = Maker(data)
    plan = maker.plan(data.draw(st.integers(2, 4)))
    check_unique(plan)
    merged = lower(plan, maker.tables, dialect="postgres")
    filled.execute(merged)
    assert filled.description is not None
    assert [column.name for column in filled.description] == [a.name for a in plan.output]
    rows = filled.fetchall()
    filled.execute(naive(plan, maker.tables))
    assert bag(rows) == bag(filled.fetchall())
    found = duckdb.sql(lower(plan, maker.tables, dialect="duckdb"))
    assert found.columns == [a.name for a in plan.output]
    assert bag(rows) == bag(found.fetchall())


@pytest.mark.spark
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_spark_gives_the_same_rows(spark: SparkSession, filled: cursor, data: st.DataObject) -> None:
    for name, rows in ROWS.items():
        spark.createDataFrame(rows, "k int, v int, s string").coalesce(1).createOrReplaceTempView(name)
    maker = Maker(data)
    plan = maker.plan(data.draw(st.integers(1, 3)))
    frame = spark.sql(lower(plan, maker.tables, dialect="spark"))
    assert frame.columns == [a.name for a in plan.output]
    filled.execute(lower(plan, maker.tables, dialect="postgres"))
    assert bag([tuple(row) for row in frame.collect()]) == bag(filled.fetchall())
