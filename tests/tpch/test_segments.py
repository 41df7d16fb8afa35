"""The segments of the CDA workload's queries are the ones worked out by hand (`segments.json`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.spark.capturing.capture import capture
from tests.tpch.workloads import HERE, QUERIES, Workload, sql

pytestmark = pytest.mark.spark

GOLDEN: dict[str, Any] = json.loads((HERE / "segments.json").read_text(encoding="utf-8"))
CDA = [query for workload, query in QUERIES if workload == "cda"]


def test_every_query_has_golden_segments() -> None:
    assert set(GOLDEN) - {"about"} == set(CDA)


@pytest.mark.parametrize(("workload", "query"), [("cda", query) for query in CDA], indirect=["workload"])
def test_segments(workload: Workload, query: str, spark: SparkSession) -> None:
    plan = rewrite(capture(spark.sql(sql(workload.name, query))).pipeline)
    assert _sorted(_tree(plan, plan.root)) == _sorted(GOLDEN[query])
    for segment in plan.segments:
        assert (segment.kind == "d") == (_symbols(segment) == "−")


def _tree(plan: SegmentedPlan, segment: Segment) -> list[Any]:
    below = [one.relation.name if isinstance(one, o.Source) else _tree(plan, plan.segments[one.segment]) for one in segment.inputs]
    return [_symbols(segment), below]


def _symbols(segment: Segment) -> str:
    """The segment's operators in the order of the pattern, as in the golden file."""
    found = [_symbol(node) for node in operators(segment.plan)]
    return "-".join([one for one in found if one in "φα"] + [one for one in "∪πσ⋈−" if one in found])


def _symbol(node: o.Plan) -> str:
    match node:
        case o.FunctionOperator():
            return "φ"
        case o.Aggregate():
            return "α"
        case o.Union():
            return "∪"
        case o.Project():
            return "π"
        case o.Filter() | o.Sort() | o.Limit():
            return "σ"
        case o.Join():
            return "−" if node.is_difference else "⋈"
        case o.Source() | o.SegmentOutput():
            return "leaf"
    raise AssertionError(f"no symbol for {type(node).__name__}")


def _sorted(tree: Any) -> Any:
    """Inputs in an order of their own."""
    return tree if isinstance(tree, str) else [tree[0], sorted(map(_sorted, tree[1]), key=repr)]
