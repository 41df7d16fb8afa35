"""TPC-H over sketches of every column that is safe, in fragments of three sizes: DuckDB gives the rows that it gives over whole tables.

What stands behind a result says the workload's oracle; what a query is says its text. ``make test`` checks some queries, and
of a column one size; ``make fuzz-sketches`` all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from pyarrow import parquet

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import transform_expression
from airflow_lineage_provider.plan.walk import map_expressions, transform_up
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.sketches import cuts
from airflow_lineage_provider.sketches.columns import SafeColumn, canonical, leaves
from airflow_lineage_provider.sketches.ties import cut_together, limit_to_count, rows_in_place
from airflow_lineage_provider.sql import LeafKey, lower
from airflow_lineage_provider.sql.constant_values import constant_value
from airflow_lineage_provider.tracing.binding import LeafTable, bind
from tests.in_turn import EVERY, sampled
from tests.sketches.against import with_steps
from tests.sketches.recorded import recorded
from tests.sketches.test_tpch import judged
from tests.tpch.data import KEYS, write_tpch
from tests.tpch.workloads import Workload, sql

pytest.importorskip("z3")
pytestmark = pytest.mark.long

FRAGMENTS = (1, 8, 1_000)
ALL_BEHIND = "q13"
"""It counts every customer, so no sketch leaves anything out."""
NAMES = sorted(recorded())
Bag = Counter[tuple[Any, ...]]


def in_duckdb(plan: o.Plan) -> str:
    """The text of a plan for DuckDB, in which each access to a table has a name of its own; Spark's functions by their names there."""
    named = unique_names(transform_up(plan, lambda node: map_expressions(node, lambda part: transform_expression(part, _constant))))
    tables: dict[LeafKey, LeafTable] = {("source", one.leaf): LeafTable(name=(f"leaf_{one.leaf}",)) for one in leaves(named)}
    return sqlglot.transpile(lower(named, bind(named, tables), dialect="spark"), read="spark", write="duckdb")[0]


def _constant(part: e.Expression) -> e.Expression:
    return (constant_value(part) if isinstance(part, e.Call | e.Cast) else None) or part


def rounded(value: object) -> object:
    return float(f"{value:.9g}") if isinstance(value, float) else value


@dataclass
class Asked:
    """A query over the tables, of each access to which a part may be read."""

    name: str
    workload: Workload
    tables: Mapping[str, pa.Table]

    @cached_property
    def plan(self) -> o.Plan:
        return canonical(recorded()[self.name].plan)

    @cached_property
    def text(self) -> str:
        return in_duckdb(self.plan)

    def rows(self, parts: Mapping[int, pa.Table], text: str | None = None) -> Bag:
        """What the query gives (or another ``text``) where of some leaves parts are read."""
        with duckdb.connect() as connection:
            for one in leaves(self.plan):
                connection.register(f"leaf_{one.leaf}", parts.get(one.leaf, self.tables[one.relation.name]))
            found = connection.execute(text or self.text).fetchall()
        return Counter(tuple(map(rounded, row)) for row in found)

    def as_written(self) -> Bag:
        with duckdb.connect() as connection:
            for name, table in self.tables.items():
                connection.register(name, table)
            return Counter(tuple(map(rounded, row)) for row in connection.execute(sql("tpch", self.name)).fetchall())

    @cached_property
    def behind(self) -> frozenset[Any]:
        """The tables and keys of the source rows behind the result."""
        return frozenset().union(*(row.lineage for row in self.workload.expected(self.name)))

    def part(self, safe: SafeColumn, fragments: int) -> pa.Table:
        """The rows in the fragments of a column that hold a row behind the result."""
        table = self.tables[safe.table]
        values = table.column(safe.column).to_pylist()
        partition = with_steps(cuts.of_values(values, safe.type, fragments, every=True), safe.aligned)
        keys = zip(*(table.column(key).to_pylist() for key in KEYS[safe.table]), strict=True)
        needed = {partition.fragment_of(value) for value, key in zip(values, keys, strict=True) if (safe.table, key) in self.behind}
        return table.filter(pa.array([partition.fragment_of(value) in needed for value in values]))

    def may_be_others(self, leaf: int, parts: Mapping[int, pa.Table]) -> bool:
        """Whether rows tie at the limit over the parts, so that no such sketch would be kept."""
        limit = limit_to_count(self.plan, leaf)
        if limit is None or limit.count is None:
            return True
        ((found,),) = self.rows(parts, in_duckdb(rows_in_place(limit)))
        return bool(found > limit.count)


def as_strings(table: pa.Table) -> pa.Table:
    """Rows are taken out of strings, and not of views of them."""
    kinds = [field.with_type(pa.string()) if field.type == pa.string_view() else field for field in table.schema]
    return table.cast(pa.schema(kinds))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workload, Mapping[str, pa.Table]]:
    files = write_tpch(tmp_path_factory.mktemp("tpch"))
    return Workload("tpch", files), {name: as_strings(parquet.read_table(file)) for name, file in files.items()}


@pytest.mark.parametrize("name", sampled(NAMES, 11))
def test_a_query_over_sketches_of_every_safe_column(name: str, tables: tuple[Workload, Mapping[str, pa.Table]]) -> None:
    asked = Asked(name, *tables)
    plain = asked.rows({})
    assert plain == asked.as_written()
    safe = [one for one in judged(recorded()[name], with_keys=True) if one.safe and not one.why_not_of(plain.total())]
    told = Counter[str]()
    for at, one in enumerate(safe):
        for fragments in FRAGMENTS if EVERY else [FRAGMENTS[at % len(FRAGMENTS)]]:
            part = asked.part(one, fragments)
            told["columns"] += 1
            if part.num_rows == asked.tables[one.table].num_rows or (one.ties and asked.may_be_others(one.leaf, {one.leaf: part})):
                continue
            told["checks"] += 1
            assert asked.rows({one.leaf: part}) == plain, (one, fragments)
    print(name, dict(told))
    assert (told["checks"] > 0) == (name != ALL_BEHIND)


@pytest.mark.parametrize("name", sampled(NAMES, 11))
def test_a_query_over_sketches_of_all_its_sources(name: str, tables: tuple[Workload, Mapping[str, pa.Table]]) -> None:
    """Of one run, as what stands behind the result is here; so it does not matter which of them a limit cuts together."""
    asked, random = Asked(name, *tables), Random(name)
    plain = asked.rows({})
    safe: dict[int, list[SafeColumn]] = {}
    for one in judged(recorded()[name], with_keys=True):
        if one.safe and not one.why_not_of(plain.total()):
            safe.setdefault(one.leaf, []).append(one)
    assert {leaf for leaves_of_one in cut_together(asked.plan) for leaf in leaves_of_one} >= safe.keys()
    for _ in range(8 if EVERY else 3):
        chosen = {leaf: random.choice(some) for leaf, some in safe.items()}
        parts = {leaf: asked.part(one, random.choice(FRAGMENTS)) for leaf, one in chosen.items()}
        if not any(one.ties and asked.may_be_others(leaf, parts) for leaf, one in chosen.items()):
            assert asked.rows(parts) == plain, chosen
