"""What a run of the paper's Example 4 executes and stores."""

from __future__ import annotations

from airflow_lineage_provider.plan.check import check_unique
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.tracing.program import programs, with_reasons
from airflow_lineage_provider.tracing.strategies import SegmentCost, choose, stored_segments
from tests.plan.paper_plans import example_4

KEYS = SourceIdentity(
    kind="file_position", columns=(KeyColumn(name="lineage_file", type="bigint"), KeyColumn(name="lineage_position", type="bigint"))
)
IDENTITIES = dict.fromkeys(range(3), KEYS)


def test_function_materialization_stores_the_function_segment_and_the_result() -> None:
    plan = rewrite(example_4())
    assert stored_segments(choose(plan, "function_materialization")) == {0, 1}
    lower, root = programs(plan, IDENTITIES, {0, 1})
    assert (lower.segment.number, root.segment.number) == (1, 0)
    assert [a.name for a in root.stored] == ["judge", "count"]
    assert root.materialized.inputs == ()


def test_auto_stores_the_result_where_its_lineage_is_captured() -> None:
    plan = rewrite(example_4())
    cheap, dear = SegmentCost(rows=2, compute=0.1, store=1.0), SegmentCost(rows=2, compute=1.0, store=0.1)
    for costs in ({0: cheap, 1: cheap}, {0: cheap, 1: dear}, {0: dear, 1: cheap}):
        assert 0 not in stored_segments(choose(plan, "auto", costs=costs))
        captured = choose(plan, "auto", costs=costs, captured=True)
        # Its rows point at those of the function operator below it.
        assert stored_segments(captured) == {0, 1}
        assert captured[0].because == "it is the result, whose rows the index that is captured numbers"
    assert stored_segments(choose(plan, "rerun", captured=True)) == frozenset()


def test_the_function_segment_stores_arguments_value_and_lineage_keys_only() -> None:
    lower = programs(rewrite(example_4()), IDENTITIES, {0, 1})[0]
    keys = [f"lineage_{leaf}_{part}" for leaf in range(3) for part in ("file", "position")]
    assert [a.name for a in lower.stored] == ["income", "debt", "loan_amount", "judge", *keys]
    assert [(one.kind, one.number) for one in lower.materialized.inputs] == [("source", 0), ("source", 1), ("source", 2)]
    check_unique(lower.plan)


def test_eager_reasons_are_a_column_of_the_function_operator() -> None:
    plan = with_reasons(rewrite(example_4()), frozenset({0}))
    lower = programs(plan, IDENTITIES, {0, 1})[0]
    assert "judge_reason" in [a.name for a in lower.stored]
    untouched = with_reasons(rewrite(example_4()), frozenset({7}))
    assert untouched.segments[1].functions[0].reason is None
