"""What becomes of a plan's rows when rows of a source are others, against the plan over the sources as they are then: in DuckDB."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower
from airflow_lineage_provider.tracing.annotate import Context, inline
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind
from airflow_lineage_provider.tracing.changes import changes
from airflow_lineage_provider.tracing.reserved import revised_table
from tests.in_turn import few
from tests.oracle import query as q
from tests.plan.shorthand import Shorthand
from tests.sketches.drawn import Drawer, tables
from tests.sketches.planned import NoPlan, apart, planned

EXAMPLES = int(os.environ.get("CHANGES_EXAMPLES", few(12, 2)))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
BLOCKS = 5


@dataclass
class Revised:
    """The rows of a leaf: as they were, those that are gone, those that are there instead."""

    columns: tuple[str, ...]
    before: list[tuple[Any, ...]]
    gone: list[tuple[Any, ...]]
    instead: list[tuple[Any, ...]]

    @property
    def after(self) -> list[tuple[Any, ...]]:
        return [*(Counter(self.before) - Counter(self.gone)).elements(), *self.instead]


def whole(plan: o.Plan) -> o.Plan:
    """A plan as a run records it, in one piece."""
    names = tuple(f"c{at}" for at in range(len(plan.output)))
    segmented = rewrite(Pipeline(plan=plan, names=names))
    one = inline(segmented.root.plan, Context(plan=segmented, materialized=frozenset(), sources={}))
    return o.Project(child=one, columns=segmented.output)


def rows(plan: o.Plan, data: dict[int, Revised], after: bool = False) -> Counter[str]:
    """The rows of a plan over the leaves as they were; with ``after`` as they are then."""
    types = {node.leaf: [to_arrow(a.type) for a in node.output] for node in operators(plan) if isinstance(node, o.Source)}
    with duckdb.connect() as connection:
        bound: dict[Key, LeafTable] = {}
        for node in operators(plan):
            key: Key
            if isinstance(node, o.Source):
                one = data[node.leaf]
                key, given = ("source", node.leaf), one.after if after else one.before
                columns = list(node.columns)
            elif isinstance(node, o.SegmentOutput):
                key = ("segment", node.segment)
                leaf, part = next((n, p) for n in data for p in ("gone", "instead", "revised") if revised_table(n, p) == node.segment)
                one = data[leaf]
                given = {"gone": one.gone, "instead": one.instead, "revised": one.after}[part]
                columns = list(one.columns)
            else:
                continue
            kinds = types.get(getattr(node, "leaf", -1)) or [to_arrow(a.type) for a in node.output]
            name = f"{key[0]}_{abs(int(key[1]))}"
            arrays = [pa.array([row[at] for row in given], kind) for at, kind in enumerate(kinds)]
            connection.register(name, pa.table(arrays, names=columns))
            by_id = {a.id: ColumnRef(text=column) for a, column in zip(node.output, columns, strict=True)}
            known = bound[key].by_id if key in bound else {}
            bound[key] = LeafTable(name=(name,), by_id={**known, **by_id})
        text = lower(plan, bind(plan, bound), dialect="duckdb")
        return Counter(map(repr, connection.execute(text).fetchall()))


def agree(plan: o.Plan, data: dict[int, Revised], leaves: set[int]) -> tuple[int, int]:
    """See that the bags are right; how many rows were computed for it, and how many the plan has before and after."""
    found = changes(plan, leaves)
    before, after = rows(plan, data), rows(plan, data, after=True)
    if found is None:
        assert before == after
        return 0, before.total() + after.total()
    for one in (found.gone, found.instead):
        check(one)
        assert one.output == plan.output
    gone, instead = rows(found.gone, data), rows(found.instead, data)
    assert not gone - before, f"{gone - before} were not there"
    left = Counter(before)
    left.subtract(gone)
    left.update(instead)
    assert +left == after, f"{left - after} and not {after - left}"
    return gone.total() + instead.total(), before.total() + after.total()


def drawn(random: Random, data: q.Data) -> Revised:
    """Some rows of a table are gone, and some others are there."""
    before = list(data.rows)
    gone = [row for row in before if random.random() < 0.3]
    pool = [value for row in before for value in row[1:] if isinstance(value, int) and not isinstance(value, bool)] or [0]

    def other(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            random.choice([*pool, None])
            if isinstance(value, int) and not isinstance(value, bool) and at and random.random() < 0.5
            else value
            for at, value in enumerate(row)
        )

    instead = [other(random.choice(before)) for _ in range(random.choice((0, 1, 2)))] if before else []
    return Revised(tuple(name for name, _ in data.columns), before, gone, instead)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_plans(block: int) -> None:
    checked = less = 0
    for seed in range(SEED * 1_000_000 + block * EXAMPLES // BLOCKS, SEED * 1_000_000 + (block + 1) * EXAMPLES // BLOCKS):
        random = Random(seed)
        node, given = apart(Drawer(random).query(random.choice((1, 2, 2, 3, 3, 4))), tables(random, ("t0", "t1"), 0))
        try:
            plan = whole(planned(node, given))
        except (NoPlan, UnsupportedOperator):
            continue
        if any(isinstance(one, o.Limit) for one in operators(plan)) and random.random() < 0.7:
            continue
        if any(isinstance(one, q.TopK) and one.by is not None for one in q.nodes(node)):
            continue  # of rows that are tied any may be in the result
        data = {int(name.split("@")[1]): drawn(random, one) for name, one in given.items()}
        leaves = {random.choice(sorted(data))} if random.random() < 0.6 else set(data)
        data |= {leaf: replace(one, gone=[], instead=[]) for leaf, one in data.items() if leaf not in leaves}
        try:
            computed, all_rows = agree(plan, data, leaves)
        except PortabilityProblem:
            continue
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}: {wrong}\n{node}\n{data}") from wrong
        checked += 1
        less += computed < all_rows
    assert checked >= EXAMPLES // BLOCKS // 4
    assert less >= checked // 15  # (the tables are small, and mostly every group has a row that changes)


SALES = Revised(("shop", "item", "n"), [(1, 7, 10), (1, 8, 5), (2, 7, 1), (3, 9, 14)], [(1, 7, 10)], [(2, 7, 10)])
SHOPS = Revised(("id", "town"), [(1, 11), (2, 22), (3, 33)], [], [])


def of_sales() -> dict[str, o.Plan]:
    s = Shorthand()
    sales, shops = s.table("sales", "shop, item, n"), s.table("shops", "id, town")
    joined = s.join(sales, shops, "shop = id")
    return {
        "rows": s.where(s.project(sales, "shop, n"), "n > 2"),
        "join": joined,
        "groups": s.group(joined, "town", "town, sum(n) AS total"),
        "having": s.where(s.group(sales, "shop", "shop, sum(n) AS total"), "total > 9"),
        "groups of groups": s.group(s.group(sales, "shop, item", "shop, item, sum(n) AS total"), "item", "item, max(total) AS most"),
        "one group": s.group(sales, "", "sum(n) AS total"),
    }


@pytest.mark.parametrize("name", of_sales())
def test_in_a_pipeline(name: str) -> None:
    computed, all_rows = agree(whole(of_sales()[name]), {0: SALES, 1: SHOPS}, {0})
    assert computed < all_rows or name == "one group"


def test_only_the_groups_that_the_rows_touch() -> None:
    found = changes(whole(of_sales()["having"]), {0})
    assert found is not None
    assert rows(found.gone, {0: SALES}) == Counter(["(1, 15)"])
    assert rows(found.instead, {0: SALES}) == Counter(["(2, 11)"])


def test_a_table_that_is_not_read_changes_nothing() -> None:
    assert changes(whole(of_sales()["rows"]), {5}) is None
