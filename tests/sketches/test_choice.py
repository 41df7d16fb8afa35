"""Which column of a source is sketched, of those that are safe."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_lineage_provider.sketches.choice import KnownColumns, chosen, keys_in, values_in
from airflow_lineage_provider.sketches.columns import SafeColumn, canonical, safe_columns
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from tests.plan.shorthand import Shorthand
from tests.sketches.recorded import recorded

pytest.importorskip("z3")


def column(name: str, rule: str = "selection") -> SafeColumn:
    return SafeColumn(leaf=0, table="t", column=name, type="int", safe=True, rule=rule)


A, B, C = column("a"), column("b"), column("c")
GROUPED = column("g", "group")


def best(*judged: SafeColumn, known: KnownColumns | None = None) -> str:
    found = chosen(judged, {}, known or KnownColumns())[0]
    assert not isinstance(found, str)
    return found.safe.column


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (KnownColumns(), "g"),  # whole groups
        (KnownColumns(clustering={(0, "c"): 0.1, (0, "g"): 1.0}), "c"),
        (KnownColumns(clustering={(0, "c"): 0.1, (0, "b"): 0.0}), "b"),  # a partition's
        (KnownColumns(keys={(0, "b"): 0}), "g"),
    ],
)
def test_what_skips_goes_before_what_groups(known: KnownColumns, expected: str) -> None:
    assert best(A, B, C, GROUPED, known=known) == expected


def test_keys_go_before_others_and_few_values_after_them() -> None:
    assert best(A, B, C) == "a"
    assert best(A, B, C, known=KnownColumns(keys={(0, "c"): 1})) == "c"
    assert best(A, B, C, known=KnownColumns(keys={(0, "b"): 1, (0, "c"): 0})) == "c"
    assert best(A, B, C, known=KnownColumns(values={(0, "a"): 2, (0, "b"): 1_000_000})) == "b"
    assert best(A, B, C, known=KnownColumns(keys={(0, "a"): 0}, values={(0, "a"): 2})) == "a"


def test_what_is_safe_for_all_goes_before() -> None:
    assert best(replace(GROUPED, needs_fewer=5), A) == "a"
    assert best(replace(GROUPED, aligned=("month",)), A, known=KnownColumns(clustering={(0, "g"): 0.01})) == "a"
    assert best(replace(GROUPED, safe=False, because="it is not"), A) == "a"


def test_how_many_values_there_can_be() -> None:
    bounds = {(0, "a"): ColumnBounds("3", "7"), (0, "b"): ColumnBounds("3"), (0, "s"): ColumnBounds("a", "z")}
    types = {(0, "a"): "int", (0, "b"): "int", (0, "s"): "string"}
    assert values_in(bounds, types) == {(0, "a"): 5}


def test_what_a_plan_joins_and_groups_by() -> None:
    short = Shorthand()
    joined = short.join(short.table("T", "a, b, x"), short.table("S", "c, y"), "b = c AND x < y")
    assert keys_in(canonical(short.group(joined, by="a", give="a, count(y) AS n"))) == {(0, "a"): 1, (0, "b"): 0, (1, "c"): 0}


@pytest.mark.long
def test_orders_are_sketched_by_their_key() -> None:
    """TPC-H Q3, whose files nothing is known of: all columns of orders that the keys determine are safe alike."""
    pipeline = recorded()["q03"]
    found = chosen(safe_columns(pipeline), {}, KnownColumns(keys=keys_in(canonical(pipeline.plan))), countable={0, 1, 2})
    named = {one.safe.table: one.safe.column for one in found.values() if not isinstance(one, str)}
    assert named["orders"] == "o_orderkey"
    assert named["lineitem"] == "l_orderkey"
