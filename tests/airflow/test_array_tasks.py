"""Arrays of Python tasks, in Airflow itself: named by dag, task and run, asked across tasks, and kept by tasks that succeed."""

from __future__ import annotations

from collections.abc import Callable

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.airflow.conftest import DagResult


def test_questions_go_across_the_tasks_of_a_dag_run(run_dag: Callable[..., DagResult], store: Store) -> None:
    done = run_dag("array_tasks")
    assert done.state == "success", done.states
    log = Lineage(store=store).arrays
    prefix = f"task:array_tasks/load/{done.run_id}/"
    photo = done.result("load")
    assert photo == f"{prefix}photo"
    for row in (0, 1):
        score = done.result("judge", row)
        assert score == f"task:array_tasks/judge[{row}]/{done.run_id}/score"
        assert log.prov_query([score, f"{prefix}half", photo], ()).boxes.tolist() == [[[2 * row, 2 * row + 2], [0, 6]]]
    assert done.tries["fails_once", -1] == 2
    (kept,) = log.kept(f"task:array_tasks/fails_once/{done.run_id}/")
    assert kept.shape == (2,)
    assert log.drop(f"task:array_tasks/load/{done.run_id}/") == 3
