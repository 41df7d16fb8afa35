"""TPC-H's queries, as they were captured: which columns are safe, and how long it takes to say so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.sketches.columns import SafeColumn, leaves, safe_columns
from tests.in_turn import sampled
from tests.sketches.recorded import recorded

pytest.importorskip("z3")

GOLDEN = Path(__file__).parent / "tpch_safe.json"
KEYS = {
    "customer": ("c_custkey",), "orders": ("o_orderkey",), "lineitem": ("l_orderkey", "l_linenumber"), "nation": ("n_nationkey",),
    "part": ("p_partkey",), "partsupp": ("ps_partkey", "ps_suppkey"), "region": ("r_regionkey",), "supplier": ("s_suppkey",),
}  # fmt: skip


@pytest.fixture(scope="module")
def plans() -> Mapping[str, Pipeline]:
    return recorded()


def judged(pipeline: Pipeline, *, with_keys: bool = False) -> tuple[SafeColumn, ...]:
    keys = {one.leaf: KEYS[one.relation.name] for one in leaves(pipeline.plan)} if with_keys else {}
    return safe_columns(pipeline, keys=keys, clock=perf_counter)


def as_golden(pipeline: Pipeline) -> dict[str, Any]:
    """By leaf: the safe columns, and those that the tables' primary keys make safe as well."""
    plain = judged(pipeline)
    keyed = plain if all(one.safe for one in plain) else judged(pipeline, with_keys=True)
    found: dict[str, Any] = {}
    for one, other in zip(plain, keyed, strict=True):
        assert other.safe or not one.safe
        leaf = found.setdefault(f"{one.leaf} {one.table}", {"safe": [], "with keys": [], "not": {}})
        if one.safe or other.safe:
            leaf["safe" if one.safe else "with keys"].append(one.column)
        else:
            leaf["not"].setdefault(f"{one.rule}: {one.operator}", []).append(one.column)
    return {leaf: {kind: some for kind, some in of.items() if some} for leaf, of in found.items()}


def test_the_safe_columns_of_every_query(plans: Mapping[str, Pipeline]) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert set(golden) == set(plans)
    for name in sampled(plans, 6):
        assert as_golden(plans[name]) == golden[name], name


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("q03", {("orders", "o_orderkey"), ("lineitem", "l_orderkey")}),
        ("q10", {("customer", "c_custkey"), ("orders", "o_custkey")}),
        ("q15", {("lineitem", "l_suppkey"), ("supplier", "s_suppkey")}),
        ("q18", {("customer", "c_custkey"), ("orders", "o_orderkey"), ("lineitem", "l_orderkey")}),
    ],
)
def test_the_keys_that_matter_are_safe(query: str, keys: set[tuple[str, str]], plans: Mapping[str, Pipeline]) -> None:
    only = [(leaf.leaf, column) for leaf in leaves(plans[query].plan) for table, column in keys if leaf.relation.name == table]
    found = safe_columns(plans[query], only=only)
    assert {(one.table, one.column) for one in found} == keys
    assert all(one.safe for one in found)


if __name__ == "__main__":
    every = {name: as_golden(pipeline) for name, pipeline in recorded().items()}
    GOLDEN.write_text(json.dumps(every, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    took = sorted(one.ms for pipeline in recorded().values() for one in judged(pipeline))
    print(f"{len(took)} columns: median {took[len(took) // 2]:.1f} ms, largest {took[-1]:.0f} ms")
