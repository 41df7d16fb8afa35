"""What a failed run's error says of values is for nobody where columns are withheld, whatever the driver's settings were."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.render.withheld import error_shown
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.typed_json import read
from tests.web.conftest import database
from tests.web.recorded_runs import HERE

API = "/lineage/api/v1"
ERROR = "UdfFailed: UDF 'credit_exam' failed on income=31.75: ValueError: Ann Smith has no debt (the row was made from loan: client_id=7)"


@pytest.fixture(scope="module")
def failed(lineage_home: Path) -> Iterator[tuple[Store, str]]:
    record = read(RunRecord, json.loads((HERE / "judged.json").read_text())["record"])
    with Store.open(database(lineage_home, "failed")) as store:
        store.begin_run(replace(record, status="running", finished=None))
        store.fail_run(record.id, ERROR)
        yield store, record.id


@pytest.mark.parametrize("setting", ["AIRFLOW_LINEAGE_HIDE", "AIRFLOW_LINEAGE_MASK"])
@pytest.mark.parametrize("pattern", ["income", "client.name"])
def test_the_error_of_a_failed_run(
    client: Callable[..., Any], failed: tuple[Store, str], monkeypatch: pytest.MonkeyPatch, setting: str, pattern: str
) -> None:
    store, run_id = failed
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url)
    viewer = client("viewer")

    def answers() -> list[str]:
        asked = [f"runs/{run_id}", "runs", "found?search=credit", "derivations", f"runs/{run_id}/derivations", f"runs/{run_id}/columns"]
        posted = {"rows": {}, "explanation": {"where": "true"}, "forward": {"table": "loan", "where": "true"}}
        posted["why-not"] = posted["forward"]
        got = [viewer.get(f"{API}/{one}").text for one in asked]
        return got + [viewer.post(f"{API}/runs/{run_id}/{one}", json=body).text for one, body in posted.items()]

    assert sum("31.75" in one for one in answers()) > 4
    monkeypatch.setenv(setting, pattern)
    for one in answers():
        assert all(value not in one for value in ("31.75", "Ann Smith", "client_id=7"))
    assert viewer.get(f"{API}/runs/{run_id}").json()["run"]["error"].startswith("UdfFailed: the rest is not shown here")


def test_what_has_no_values_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "income")
    assert error_shown("the driver ended before the run was complete") == "the driver ended before the run was complete"
    assert error_shown("lineage incomplete: the store said 7").startswith("lineage incomplete: the rest is not shown here")
    assert error_shown("") == ""
