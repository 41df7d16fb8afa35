"""Old runs are dropped by a task, as many as it says; what is no number of days is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import Asset, AssetAlias
from airflow.sdk.execution_time.context import OutletEventAccessors
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import InvalidOption, RunNotComplete
from airflow_lineage_provider.operators.outlet_events import tell_outlets
from airflow_lineage_provider.operators.retention import RetentionOperator
from airflow_lineage_provider.records.run import RecordedOutput
from airflow_lineage_provider.store import Store
from tests.airflow.submitting import execute


def retention(**arguments: Any) -> Any:
    return RetentionOperator(task_id="old", **arguments)


@pytest.mark.spark
@pytest.mark.parametrize("by_setting", [False, True])
def test_old_runs_are_dropped_and_counted(by_setting: bool, spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lineage(spark, store=store) as lineage:
        old, new = (lineage.run("SELECT 1 AS one", name=name, progress=False) for name in ("old", "new"))
    with store._engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE lineage.runs SET finished = finished - interval '91 days' WHERE id = '{old.id}'")
    if by_setting:
        monkeypatch.setenv("AIRFLOW_LINEAGE_RETENTION_DAYS", "90")
    found = execute(retention(store=store.url, **({} if by_setting else {"days": "90"})), {})
    assert (found["days"], found["dropped"]) == (90, 1)
    assert 0 < found["bytes"] <= store.size()
    assert [store.run(one.id).status for one in (old, new)] == ["dropped", "complete"]
    with pytest.raises(RunNotComplete):
        store.materializations(old.id)


@pytest.mark.parametrize("wrong", [0, -1, "soon", 36_501, True, 1.5])
def test_what_is_no_number_of_days_is_refused_when_the_dag_is_read(wrong: Any) -> None:
    with pytest.raises(InvalidOption, match=r"task 'old': days=.* is no number of days; it can be a whole number from 1 to 36,500"):
        retention(days=wrong)
    assert retention(days="{{ params.days }}").template_fields == ("days", "store_conn_id", "store")


def test_without_days_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidOption, match="does not say what is old; give days=… or set AIRFLOW_LINEAGE_RETENTION_DAYS"):
        execute(retention(store="postgresql://me@127.0.0.1:1/none"), {})
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", "0")
    with pytest.raises(AirflowSkipException):
        execute(retention(days=7), {})


def test_an_outlet_is_told_which_run_made_it() -> None:
    def run(name: str, output: RecordedOutput | None) -> Any:
        return SimpleNamespace(
            id=f"id of {name}", record=SimpleNamespace(output=output), summary=SimpleNamespace(pipeline=name, rows=len(name))
        )

    files, table, other = Asset("file:///data/judged/"), Asset("postgres://db:5432/bank/public/judged"), Asset("s3://bucket/other")
    runs = [
        run("first", RecordedOutput(kind="path", target="/data/judged")),
        run("last", RecordedOutput(kind="path", target="file:/data/judged")),
        run("database", RecordedOutput(kind="postgres", target="judged", database="jdbc:postgresql://db:5432/bank")),
        run("nothing", None),
    ]
    events = OutletEventAccessors()
    for asset in (files, table, other):
        events[asset].extra = {"own": 1}
    tell_outlets([files, table, other, AssetAlias("a")], runs, {"outlet_events": events})
    assert [events[asset].extra for asset in (files, table, other)] == [
        {"own": 1, "lineage_run_id": "id of last", "pipeline": "last", "rows": 4},
        {"own": 1, "lineage_run_id": "id of database", "pipeline": "database", "rows": 8},
        {"own": 1},
    ]


def test_an_alias_stands_for_the_places_that_no_other_outlet_names() -> None:
    def run(name: str, target: str) -> Any:
        output = RecordedOutput(kind="path", target=target)
        return SimpleNamespace(id=f"id of {name}", record=SimpleNamespace(output=output), summary=SimpleNamespace(pipeline=name, rows=7))

    named, alias, other = Asset("file:///data/named"), AssetAlias("judged"), AssetAlias("other")
    events = OutletEventAccessors()
    events[alias].add(Asset("file:///data/own"), extra={"own": 1})
    runs = [run("first", "/data/judged"), run("own", "/data/own"), run("named", "/data/named"), run("last", "/data/judged")]
    tell_outlets([named, alias, other], runs, {"outlet_events": events})
    told = {name: {"lineage_run_id": f"id of {name}", "pipeline": name, "rows": 7} for name in ("last", "own", "named")}
    assert events[named].extra == told["named"]
    assert {one.dest_asset_key.uri: one.extra for one in events[alias].asset_alias_events} == {
        "file:///data/judged": told["last"],
        "file:///data/own": {"own": 1} | told["own"],
    }
    assert {one.dest_asset_key.uri for one in events[other].asset_alias_events} == {"file:///data/judged", "file:///data/own"}
    assert len(events[alias].asset_alias_events) == 2


def test_a_place_that_can_be_no_asset_fails_no_task(caplog: pytest.LogCaptureFixture) -> None:
    output = RecordedOutput(kind="path", target=f"/data/{'x' * 2_000}")
    run: Any = SimpleNamespace(id="1", record=SimpleNamespace(output=output), summary=SimpleNamespace(pipeline="p", rows=1))
    events, alias = OutletEventAccessors(), AssetAlias("judged")
    tell_outlets([alias], [run], {"outlet_events": events})
    assert events[alias].asset_alias_events == []
    assert "no asset of an alias" in caplog.text
