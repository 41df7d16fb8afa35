"""Plans of DAG runs: what stands before and after what, and what people are shown."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from airflow_lineage_provider.answers.dag_plan import DagPlan, PlanNode
from airflow_lineage_provider.errors import InvalidOption

NODES = [
    PlanNode(id="late", kind="run", label="report", run_id="late", task_id="report", dag_id="loans", status="complete", rows=2),
    PlanNode(id="early", kind="run", label="examine", run_id="early", task_id="examine", dag_id="loans", status="complete", rows=120),
    PlanNode(
        id="early/0", kind="segment", parent="early", label="result", segment_kind="non_d", stored=True, rows=120, detail="σ debt > 0"
    ),
    PlanNode(id="early/1", kind="segment", parent="early", label="segment 1", segment_kind="window", detail="ω rank()"),
    PlanNode(id="late/0", kind="segment", parent="late", label="result", segment_kind="non_d", detail="γ judge"),
    PlanNode(id="early/output", kind="table", label="judged", run_id="early"),
    PlanNode(id="loan", kind="table", label="loan", detail="files"),
    PlanNode(id="hidden/output", kind="table", label="rates", detail="written by a run that you may not read", withheld=True, is_own=False),
    PlanNode(id="next", kind="run", label="quarterly", run_id="next", dag_id="quarter", is_own=False),
    PlanNode(id="early/readers", kind="run", label="other runs", is_own=False, withheld=True),
]
EDGES = (
    ("loan", "early/1"), ("hidden/output", "early/1"), ("early/1", "early/0"), ("early/0", "early/output"), ("early/output", "late/0"),
    ("early/output", "next"), ("early/output", "early/readers"),
)  # fmt: skip
PLAN = DagPlan(
    dag_id="loans", dag_run_id="manual__1", nodes={one.id: one for one in NODES}, edges=EDGES, problems=("one record is not read",)
)


def ids(nodes: tuple[PlanNode, ...]) -> list[str]:
    return [one.id for one in nodes]


def test_each_stands_after_what_it_reads() -> None:
    order = [one.id for one in PLAN.in_order()]
    assert sorted(order) == sorted(PLAN.nodes)
    assert all(order.index(source) < order.index(target) for source, target in EDGES)
    assert ids(PLAN.runs) == ["early", "late"]
    assert ids(PLAN.segments("early")) == ["early/1", "early/0"]


def test_what_is_before_and_after() -> None:
    assert ids(PLAN.reads("early")) == ["loan", "hidden/output"]
    assert ids(PLAN.reads("early/0")) == ["early/1"]
    assert ids(PLAN.read_by("early")) == ["early/output"]
    assert ids(PLAN.read_by("early/output")) == ["late/0", "next", "early/readers"]
    assert PLAN.behind("late") == {"early/output", "early/0", "early/1", "loan", "hidden/output"}
    assert PLAN.beyond("loan") == {"early/1", "early/0", "early/output", "late/0", "next", "early/readers"}
    assert PLAN.behind("loan") == frozenset()
    with pytest.raises(InvalidOption, match="the plan of loans has no node 'nothing'"):
        PLAN.reads("nothing")


def test_a_circle_is_shown_all_the_same() -> None:
    plan = DagPlan(
        dag_id="d", dag_run_id="r", nodes={one.id: one for one in NODES[1:4]}, edges=(("early/0", "early/1"), ("early/1", "early/0"))
    )
    assert len(list(plan.in_order())) == 3
    assert plan.behind("early/0") == {"early/0", "early/1"}


def test_what_people_are_shown() -> None:
    out = io.StringIO()
    PLAN.show(Console(file=out, width=110))
    assert out.getvalue().splitlines() == [
        "2 runs of DAG loans, DAG run manual__1",
        "",
        "examine  task examine, run early, complete, 120 rows",
        "  reads     loan",
        "  reads     rates, written by a run that you may not read",
        "  segment 1 window, not stored: ω rank()",
        "  result    Non-D, stored, 120 rows: σ debt > 0",
        "  writes    judged, read by report, quarterly (run next of DAG quarter), other runs",
        "",
        "report  task report, run late, complete, 2 rows",
        "  reads     judged, written by examine",
        "  result    Non-D, not stored: γ judge",
        "one record is not read",
    ]


def test_as_json() -> None:
    document = json.loads(json.dumps(PLAN.to_dict()))
    assert (document["document"], document["version"], document["dag_run_id"]) == ("airflow_lineage.dag_plan", 1, "manual__1")
    assert {one["id"] for one in document["nodes"]} == set(PLAN.nodes)
    assert document["edges"][0] == ["loan", "early/1"]
