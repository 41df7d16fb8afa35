"""Rows followed forwards to the numbers of stored rows: for every recorded plan, every stored segment and every place that is read."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.errors import LineageError, TracingError, UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.tracing.forward.columns import pruned, readings, stored_keys
from airflow_lineage_provider.tracing.forward.plans import forward
from airflow_lineage_provider.tracing.forward.tags import Tags
from airflow_lineage_provider.tracing.program import programs
from airflow_lineage_provider.tracing.reserved import row_number
from airflow_lineage_provider.tracing.strategies import choose, stored_segments
from tests.golden.test_stories import PIPELINES
from tests.in_turn import in_turn

KEY = SourceIdentity(kind="row_digest", columns=(KeyColumn(name="lineage_digest", type="bigint"),))


@pytest.mark.parametrize(("name", "strategy"), in_turn(PIPELINES, ["function_materialization", "full_materialization"]))
def test_the_number_of_a_stored_row_is_read_beside_its_tags(name: str, strategy: str) -> None:
    try:
        plan = rewrite(PIPELINES[name])
        leaves = {node.leaf: KEY for one in plan.segments for node in operators(one.plan) if isinstance(node, o.Source)}
        made = programs(plan, leaves, stored_segments(choose(plan, strategy)) | {0}, whole=strategy == "full_materialization")
    except LineageError:
        return  # refused by name, which the stories tell
    stored = {one.segment.number: one.materialized for one in made}
    for leaf in leaves:
        for number, materialized in stored.items():
            try:
                followed = forward(plan, leaves, stored.keys(), Tags({leaf}))
                found = readings(followed, stored, number)
            except (UnsupportedOperator, TracingError):
                continue
            assert found[number].row == row_number(number)
            assert found[number].joined
            # A row is found by its key; what aggregates all rows gives one row alone.
            assert stored_keys(followed.segments[number], materialized) or followed.segments[number].segment.aggregations
            for at, one in followed.segments.items():
                check(pruned(one.body.plan, found[at].computed))
