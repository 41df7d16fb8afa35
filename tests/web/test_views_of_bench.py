"""What the benchmarks hold the tab's views against is what the tab says of such runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from starlette.testclient import TestClient

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.bench.experiments.web import made_runs
from tests.bench.web_views import TASKS, views
from tests.web.conftest import database


@pytest.mark.spark
def test_every_view_is_right(
    spark: SparkSession,
    lineage_home: Path,
    tmp_path: Path,
    application: Any,
    token: Callable[[str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Store.open(database(lineage_home, "bench_views")) as store:
        monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url)
        known = made_runs(spark, Lineage(spark, store=store), tmp_path, 2 * TASKS + 11, 50_100)
        client = TestClient(application, base_url="http://localhost", headers={"Authorization": f"Bearer {token('admin', 'admin')}"})
        wrong = {}
        for name, view in views(known, store).items():
            path = view.path if view.path.startswith("/") else f"/lineage/api/v1/{view.path}"
            answer = client.get(path) if view.body is None else client.post(path, json=dict(view.body))
            wrong[name] = view.problem(answer.status_code, answer.json())
    assert {name: problem for name, problem in wrong.items() if problem} == {}
