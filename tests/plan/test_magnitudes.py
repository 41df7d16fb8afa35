"""Bounds of rows and of whole numbers, against the rows themselves: of every operator of random plans, in DuckDB."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.magnitudes import Magnitudes, SourceMagnitudes, _joined, above
from airflow_lineage_provider.plan.walk import children, operators
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind
from tests.in_turn import few
from tests.oracle import query as q
from tests.sketches.drawn import Drawer, tables
from tests.sketches.planned import NoPlan, apart, planned

EXAMPLES = int(os.environ.get("CHANGES_EXAMPLES", few(20)))
SEED = int(os.environ.get("FUZZ_SEED", "0"))


def of_source(source: o.Source, data: q.Data) -> Magnitudes:
    columns = {}
    for at, (name, attribute) in enumerate(zip(source.columns, source.output, strict=True)):
        if attribute.type in ("int", "bigint"):
            columns[name] = max((abs(row[at]) for row in data.rows if row[at] is not None), default=0)
    return SourceMagnitudes(len(data.rows), columns).of(source)


def told(node: o.Plan, given: dict[int, q.Data]) -> Magnitudes:
    if isinstance(node, o.Source):
        return of_source(node, given[node.leaf])
    return above(node, [told(child, given) for child in children(node)])


class Evaluated:
    """The rows of any operator of a plan."""

    def __init__(self, plan: o.Plan, given: dict[int, q.Data], connection: duckdb.DuckDBPyConnection) -> None:
        self._connection, self._tables = connection, dict[Key, LeafTable]()
        for node in operators(plan):
            if isinstance(node, o.Source):
                name, kinds = f"leaf_{node.leaf}", [to_arrow(a.type) for a in node.output]
                arrays = [pa.array([row[at] for row in given[node.leaf].rows], kind) for at, kind in enumerate(kinds)]
                connection.register(name, pa.table(arrays, names=list(node.columns)))
                by_id = {a.id: ColumnRef(text=column) for a, column in zip(node.output, node.columns, strict=True)}
                self._tables["source", node.leaf] = LeafTable(name=(name,), by_id=by_id)

    def rows(self, node: o.Plan) -> list[tuple[Any, ...]] | None:
        """None where it does not mean the same in DuckDB."""
        try:
            text = lower(node, bind(node, self._tables), dialect="duckdb")
        except PortabilityProblem:
            return None
        return self._connection.execute(text).fetchall()


def test_no_operator_gives_more_rows_or_larger_numbers_than_is_told() -> None:
    bounded = columns = checked = 0
    for seed in range(SEED * 1_000_000, SEED * 1_000_000 + EXAMPLES):
        random = Random(seed)
        node, data = apart(Drawer(random).query(random.choice((1, 2, 3, 4))), tables(random, ("t0", "t1"), 0))
        given = {int(name.split("@")[1]): one for name, one in data.items()}
        try:
            plan = unique_names(planned(node, data))
        except (NoPlan, UnsupportedOperator):
            continue
        with duckdb.connect() as connection:
            evaluated = Evaluated(plan, given, connection)
            some = [(one, found) for one in operators(plan) if (found := evaluated.rows(one)) is not None]
        for one, found in some:
            known = told(one, given)
            assert len(found) <= known.rows, f"seed {seed}: {one}"
            for at, attribute in enumerate(one.output):
                if attribute.id in known.columns:
                    assert all(abs(row[at]) <= known.columns[attribute.id] for row in found if row[at] is not None), f"seed {seed}: {one}"
                    columns += 1
            bounded += known.rows < 1e9
            checked += 1
    assert bounded >= 0.8 * checked > EXAMPLES
    assert columns > checked  # of most operators something is known


@pytest.mark.parametrize(
    ("kind", "most"),
    [("inner", 6), ("cross", 6), ("left", 8), ("right", 9), ("full", 11), ("left_semi", 2), ("left_anti", 2), ("existence", 2)],
)
def test_rows_of_a_join_without_partners(kind: o.JoinKind, most: int) -> None:
    """Either all have partners, or none: no sum of both is told that is too small."""
    assert _joined(kind, 2, 3) == most
    assert _joined(kind, 0, 3) == (3 if kind in ("right", "full") else 0)
