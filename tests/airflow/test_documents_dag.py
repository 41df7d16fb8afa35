"""The DAG of the documents is one that Airflow reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.readme.snippets import snippets

ROOT = Path(__file__).parents[2]


def test_the_dag_of_the_documents(airflow_home: Path, tmp_path: Path) -> None:
    from airflow.dag_processing.dagbag import DagBag

    (text,) = [one.text for one in snippets(ROOT / "docs" / "how-to" / "airflow.md") if one.kind == "python"]
    (tmp_path / "of_the_documents.py").write_text(text)
    bag = DagBag(tmp_path)
    assert bag.import_errors == {}
    (dag,) = bag.dags.values()
    assert {task.task_id: set(task.downstream_task_ids) for task in dag.tasks} == {"examine": {"derive"}, "derive": set()}


@pytest.mark.parametrize("name", ["postgres", "spark"])
def test_the_extra_brings_the_connections_that_the_tasks_take(airflow_home: Path, name: str) -> None:
    from airflow.providers_manager import ProvidersManager

    assert name in ProvidersManager().hooks
