"""The DAGs of the documents are such as Airflow reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.airflow.conftest import dag_bag
from tests.readme.snippets import snippets

ROOT = Path(__file__).parents[2]


def test_the_dags_of_the_documents(airflow_home: Path, tmp_path: Path) -> None:
    # Each goes on from those before it.
    texts = [one.text for one in snippets(ROOT / "docs" / "how-to" / "airflow.md") if one.kind == "python"]
    (tmp_path / "of_the_documents.py").write_text("\n\n".join(texts))
    bag = dag_bag(tmp_path)
    assert bag.import_errors == {}
    found = {name: {task.task_id: set(task.downstream_task_ids) for task in dag.tasks} for name, dag in bag.dags.items()}
    assert found == {
        "examination": {"examine": {"derive"}, "derive": set()},
        "judging": {"judge": set()},
        "nightly": {"explain_new_rejections": set()},
        "judging_in_sql": {"judge": set()},
        "judging_by_submitting": {"script": {"function"}, "function": set()},
    }


@pytest.mark.parametrize("name", ["postgres", "spark"])
def test_the_extra_brings_the_connections_that_the_tasks_take(airflow_home: Path, name: str) -> None:
    from airflow.providers_manager import ProvidersManager

    assert name in ProvidersManager().hooks
