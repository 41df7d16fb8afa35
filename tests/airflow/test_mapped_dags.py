"""A DAG run with mapped tasks and a branch, and one of another DAG that an asset joins to it: one plan, which derivations walk."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.dag_plan import DagPlan

if TYPE_CHECKING:
    from tests.airflow.conftest import DagResult

pytestmark = pytest.mark.spark

LARGE = {number: number * number for number in range(9) if number * number > 10}
"""The numbers whose squares the branch chooses, by hand."""


@pytest.fixture(scope="module")
def parts(run_dag: Callable[..., DagResult], tmp_path_factory: pytest.TempPathFactory) -> DagResult:
    return run_dag("mapped_and_branched", folder=str(tmp_path_factory.mktemp("parts")))


@pytest.fixture(scope="module")
def later(parts: DagResult, run_dag: Callable[..., DagResult]) -> DagResult:
    return run_dag("reported")


@pytest.fixture(scope="module")
def lineage(later: DagResult, spark: SparkSession) -> Iterator[Lineage]:
    with Lineage(spark) as lineage:
        yield lineage


@pytest.fixture(scope="module")
def plan(parts: DagResult, lineage: Lineage) -> DagPlan:
    return lineage.dag_plan("mapped_and_branched", parts.run_id)


def run_of(result: DagResult, task_id: str, map_index: int = -1) -> str:
    return str(result.result(task_id, map_index)["lineage_run_id"])


def test_the_branch_that_is_not_taken_has_no_run(parts: DagResult, later: DagResult, plan: DagPlan) -> None:
    assert (parts.state, later.state, parts.states["small", -1]) == ("success", "success", "skipped")
    assert {(one.task_id, one.map_index) for one in plan.runs} == {("part", 0), ("part", 1), ("part", 2), ("large", None), ("report", None)}
    assert plan.problems == ()


def test_mapped_task_instances_are_joined_in_one_tree(parts: DagResult, plan: DagPlan) -> None:
    mapped, large, report = [run_of(parts, "part", at) for at in range(3)], run_of(parts, "large"), run_of(parts, "report")
    assert [one.id for one in plan.runs][3:] == [large, report]
    assert {one.id for one in plan.reads(large)} == {f"{one}/output" for one in mapped}
    assert [one.id for one in plan.reads(report)] == [f"{large}/output"]
    assert {f"{one}/0" for one in [*mapped, large]} <= plan.behind(report)
    assert {f"{report}/0", f"{report}/output"} <= plan.beyond(f"{mapped[0]}/0")
    assert plan.mapped("part") == tuple(plan.nodes[one] for one in mapped)
    assert plan.mapped("large") == ()


def test_the_dag_that_waits_for_the_asset_stands_beyond_it(parts: DagResult, later: DagResult, lineage: Lineage, plan: DagPlan) -> None:
    report, mean = run_of(parts, "report"), run_of(later, "mean")
    (reader,) = plan.read_by(f"{report}/output")
    assert (reader.id, reader.dag_id, reader.is_own) == (mean, "reported", False)
    of_later = lineage.dag_plan("reported", later.run_id)
    assert [one.id for one in of_later.reads(mean)] == [f"{report}/output"]
    assert not of_later.nodes[report].is_own


def test_people_are_shown_which_task_instance_it_is(plan: DagPlan) -> None:
    told = io.StringIO()
    plan.show(Console(file=told, width=200))
    for at in range(3):
        assert f"part  task part [{at}], run " in told.getvalue()
    assert "large  task large, run " in told.getvalue()


def test_the_alias_stands_for_what_was_written(parts: DagResult, lineage: Lineage) -> None:
    event = newest_event("report_of_parts")
    target = lineage.get_run(run_of(parts, "report")).record.output
    assert target is not None
    assert event.asset.uri == f"file://{target.target}"
    assert event.extra == {"lineage_run_id": run_of(parts, "report"), "pipeline": "report", "rows": 1}


def test_a_derivation_walks_from_the_last_dag_to_the_first_task(later: DagResult, lineage: Lineage) -> None:
    run = lineage.get_run(run_of(later, "mean"))
    assert run.result_table().to_pylist() == [{"mean": sum(LARGE.values()) / len(LARGE)}]
    answer = run.explain("mean > 0", progress=False)
    found = [row["id"] for one in answer.sources.values() for row in one.rows.to_pylist()]
    assert sorted(found) == sorted(LARGE)
    assert answer.guarantee.level == "exact"


def test_and_back_from_a_mapped_task_to_the_last_dag(parts: DagResult, later: DagResult, lineage: Lineage) -> None:
    part = lineage.get_run(run_of(parts, "part", 1))
    assert (3 in LARGE, 4 in LARGE) == (False, True)
    for number, expected in ((3, set()), (4, {run_of(parts, "large"), run_of(parts, "report"), run_of(later, "mean")})):
        reached = part.forward(f"id = {number}", across=True)
        assert {one.run.id for one in reached if one.count} == {part.id} | expected


def newest_event(alias: str) -> Any:
    """The newest event of the assets of an alias, with its asset."""
    from airflow.models.asset import AssetAliasModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        model = session.scalars(select(AssetAliasModel).where(AssetAliasModel.name == alias)).one()
        event = max(model.asset_events, key=lambda one: one.id)
        assert event.asset is not None
        session.expunge_all()
        return event
