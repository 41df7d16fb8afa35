"""The segments of the CDA workload's queries are the ones worked out by hand (`segments.json`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.spark.capturing.capture import capture
from tests.tpch.segments import symbols, told, tree
from tests.tpch.workloads import HERE, QUERIES, Workload, sql

pytestmark = pytest.mark.spark

GOLDEN: dict[str, Any] = json.loads((HERE / "segments.json").read_text(encoding="utf-8"))
TOLD = {"q03": "text_sentiment; 3 non-D: σ(α-σ-⋈(customer, orders, φ-σ(lineitem)))"}
CDA = [query for workload, query in QUERIES if workload == "cda"]


def test_every_query_has_golden_segments() -> None:
    assert set(GOLDEN) - {"about"} == set(CDA)


@pytest.mark.parametrize(("workload", "query"), [("cda", query) for query in CDA], indirect=["workload"])
def test_segments(workload: Workload, query: str, spark: SparkSession) -> None:
    plan = rewrite(capture(spark.sql(sql(workload.name, query))).pipeline)
    assert _sorted(tree(plan, plan.root)) == _sorted(GOLDEN[query])
    for segment in plan.segments:
        assert (segment.kind == "d") == (symbols(segment) == "−")
    assert told(plan) == TOLD.get(query, told(plan))
    assert ("1 D" in told(plan)) == (query in ("q16", "q21"))


def _sorted(tree: Any) -> Any:
    """Inputs in an order of their own."""
    return tree if isinstance(tree, str) else [tree[0], sorted(map(_sorted, tree[1]), key=repr)]
