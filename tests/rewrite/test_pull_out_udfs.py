"""Calls of UDFs as function operators: where their arguments are computed, and how many segments that makes."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.rewrite.drop_pruning_projections import drop_pruning_projections
from airflow_lineage_provider.rewrite.pull_out_udfs import pull_out_udfs
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.rewrite.unique_names import unique_names
from tests.plan.shorthand import Shorthand


def segments(columns: str) -> list[str]:
    made = Shorthand()
    plan = drop_pruning_projections(unique_names(pull_out_udfs(made.project(made.table("T", "a, b"), columns))))
    check(plan)
    return [plan_text(one.plan) for one in segment(plan, plan.output, tuple(one.name for one in plan.output)).segments]


@pytest.mark.parametrize("calls", [1, 2, 16])
def test_calls_beside_each_other_are_one_segment(calls: int) -> None:
    (one,) = segments(", ".join(f"f(a + {number}) AS x{number}" for number in range(calls)))
    assert one.count("φ") == calls
    assert one.count("π a, b, ") == 1


def test_calls_within_calls() -> None:
    """What takes another call's value comes above it: its arguments end the segment below."""
    above, below = segments("f(g(a + 1) + 1) AS x, h(b + 1) AS y, g(b) AS z")
    assert above.split("\n")[0].split() == ["φ", "f(f_argument_1)", "→", "x"]
    assert "(g + 1) AS f_argument_1" in above
    functions = [line.strip() for line in below.split("\n") if "φ" in line]
    assert sorted(functions) == ["φ g(b) → z", "φ g(g_argument_1) → g", "φ h(h_argument_1) → y"]
    assert below.count("π") == 1


def test_one_call_written_twice_is_one() -> None:
    assert "\n".join(segments("f(a + 1) AS x, f(a + 1) + 1 AS y, f(a) AS z")).count("φ") == 2
