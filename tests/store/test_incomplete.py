"""Runs whose result stands without its lineage: said in the store, or kept until it is there again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import RunNotComplete, StoreUnavailable
from airflow_lineage_provider.records.run import RecordedOutput
from airflow_lineage_provider.store import Column, RunRecord, Store, pending
from airflow_lineage_provider.store.ids import new_id
from airflow_lineage_provider.store.run_store import RunStore
from tests.store.conftest import sql

OUTPUT = RecordedOutput(kind="path", target="/data/x")
AWAY = "postgresql://someone:secret@127.0.0.1:1/db?connect_timeout=2"


def told(run_id: str) -> RunRecord:
    return RunRecord(
        id=run_id, pipeline="p", error="lineage incomplete: the store was away", started=datetime.now(UTC), finished=datetime.now(UTC),
        output=OUTPUT, row_counts={"result": 3},
    )  # fmt: skip


def test_a_run_that_was_going_on(store: Store, begin: Callable[[], str]) -> None:
    run_id = begin()
    made = store.create_materialization(run_id, "result", "result", [Column("row", "bigint", "row", False)])
    made.loader().load(0, 0, iter([pa.record_batch({"row": pa.array([1], pa.int64())})]))
    store.mark_incomplete(told(run_id), {"file:/data/x/part-0": "1:2"})
    record = store.run(run_id)
    assert (record.status, record.error, record.output) == ("incomplete", "lineage incomplete: the store was away", OUTPUT)
    assert sql(store.url, f"SELECT to_regclass('lineage_data.\"{made.table_name}\"')") == [(None,)]
    (written,) = store.written(["file:/data/x/part-0"])
    assert (written.run_id, written.status) == (run_id, "incomplete")
    with pytest.raises(RunNotComplete, match="is incomplete: lineage incomplete"):
        store.materializations(run_id)
    store.mark_incomplete(told(run_id), {})  # once more says nothing new
    store.drop_run(run_id)
    store.mark_incomplete(told(run_id), {})
    assert store.run(run_id).status == "dropped"


def test_a_run_that_the_store_never_heard_of_and_one_that_is_complete_after_all(store: Store, begin: Callable[[], str]) -> None:
    unknown = new_id()
    store.mark_incomplete(told(unknown), {})
    assert store.run(unknown).status == "incomplete"
    run_id = begin()
    store.publish_run(run_id)
    store.mark_incomplete(told(run_id), {})
    assert store.run(run_id).status == "complete"


def test_a_store_that_is_away_is_told_when_it_is_opened_again(own_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HOME", str(tmp_path))
    run_id = new_id()

    def away() -> Store:
        raise StoreUnavailable("the results store does not answer")

    RunStore(away, pending.place_of(own_url), keeps_result=True, lost="away").incomplete(told(run_id), {"place": "1"})
    (file,) = (tmp_path / "incomplete").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    pending.deliver(pending.place_of(AWAY), lambda *_: pytest.fail("another store was told"))
    (tmp_path / "incomplete" / "broken.json").write_text("{")
    with Store.open(own_url) as opened:
        record = opened.run(run_id)
        assert (record.status, record.row_counts) == ("incomplete", {"result": 3})
        assert record.finished is not None
        assert [one.run_id for one in opened.written(["place"])] == [run_id]
    assert [one.name for one in (tmp_path / "incomplete").iterdir()] == ["broken.json"]


def test_by_choice_a_failure_is_noted_and_nothing_more_is_asked() -> None:
    asked = []

    def away() -> Store:
        asked.append(1)
        raise StoreUnavailable("the results store does not answer")

    with pytest.raises(StoreUnavailable):
        RunStore(away, "place").begin(RunRecord(pipeline="p"))
    kept = RunStore(away, "place", keeps_result=True)
    run_id = kept.begin(RunRecord(pipeline="p"))
    assert run_id
    assert kept.lost == "the results store does not answer"
    assert kept.create_materialization(run_id, "result", "result", []) is None
    assert kept.ask("reading", lambda _: 1, 2) == 2
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("postgresql://a:b@h/d", "postgres://c@h:5432/d?connect_timeout=3", True),
        ("postgresql://a:b@h/d", "postgresql://a:b@h/e", False),
        ("postgresql://a:b@/d?host=%2Fs&port=1", "postgresql://a:c@/d?host=%2Fs&port=2", True),
        (None, "postgresql://a:b@h/d", False),
    ],
)
def test_which_store_it_is(one: str | None, other: str, same: bool) -> None:
    assert (pending.place_of(one) == pending.place_of(other)) is same
    assert "b" not in pending.place_of("postgresql://a:b@h/d").partition("/")[0]
