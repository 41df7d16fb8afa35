"""What a task's later try drops of what its earlier ones have stored: on recorded runs, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import InvalidSetting, StoreError
from airflow_lineage_provider.operators.replaced_runs import drop_replaced, replaces
from airflow_lineage_provider.records.run import RecordedOutput, RunRecord
from airflow_lineage_provider.records.versions import FilesVersion, UnknownVersion, WrittenRows
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.typed_json import read
from tests.web.conftest import database
from tests.web.recorded_runs import HERE

TASK = {"dag_id": "loans", "run_id": "monday", "task_id": "judge", "map_index": -1}


def files(*names: str, complete: bool = True) -> FilesVersion:
    return FilesVersion(count=len(names), bytes=1, complete=complete, files={f"file:///x/{name}": (1, 1) for name in names})


def written(version: Any, target: str = "/x", mode: str = "overwrite") -> RecordedOutput:
    return RecordedOutput(kind="path", target=target, mode=mode, version=version)


def rows(place: str = "p", *instead_of: str, mode: str = "append") -> RecordedOutput:
    return RecordedOutput(kind="jdbc", target="t", mode=mode, version=WrittenRows(place=place, version="v", instead_of=instead_of))


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (None, None, True),
        (None, written(files("a")), False),
        (written(files("b")), None, False),
        (written(files("b")), written(files("a")), True),
        (written(files("b")), written(files("a"), target="/y"), False),
        (written(files("b", complete=False)), written(files("a")), False),  # others' files are there, too: the earlier ones among them?
        (written(files("a", "b"), mode="append"), written(files("a")), False),
        (written(UnknownVersion(cause="?")), written(files("a")), False),
        (written(files("b")), written(None), False),
        (rows("p", "old"), rows("p"), True),
        (rows("p"), rows("p"), False),  # appended beside it
        (rows("p", mode="overwrite"), rows("p"), True),
        (rows("q", mode="overwrite"), rows("p"), False),
    ],
)
def test_what_replaces_what(new: RecordedOutput | None, old: RecordedOutput | None, expected: bool) -> None:
    runs = RunRecord(pipeline="a", id="new", output=new), RunRecord(pipeline="a", id="old", output=old)
    assert replaces(*runs) is expected
    assert not replaces(replace(runs[0], pipeline="b"), runs[1])


@pytest.fixture(scope="module")
def store(lineage_home: Path) -> Iterator[Store]:
    with Store.open(database(lineage_home, "replaced")) as opened:
        yield opened


def enter(store: Store, number: int, name: str = "judged", **context: Any) -> RunRecord:
    """A recorded run as one of a try; it writes files of its own into one folder."""
    document = json.loads((HERE / f"{name}.json").read_text())
    place = f"file:///x/part-00000-0000{number:04}-0000-4000-8000-000000000000.parquet"
    output = written(FilesVersion(count=1, bytes=1, files={place: (1, 1)}))
    record = replace(read(RunRecord, document["record"]), id="", airflow={**TASK, "try_number": number, **context}, output=output)
    run_id = store.begin_run(replace(record, status="running", finished=None))
    store.publish_run(run_id, output=output, places={place: "1 1"}, timings={}, row_counts=record.row_counts)
    return store.run(run_id)


def statuses(store: Store, *runs: RunRecord) -> list[str]:
    return [store.run(one.id).status for one in runs]


def test_earlier_tries_are_dropped_and_nothing_else(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [enter(store, 1, **other) for other in ({"run_id": "sunday"}, {"task_id": "report"}, {"map_index": 3})]
    first, second, third = (enter(store, number) for number in (1, 2, 3))
    told = list[str]()
    with Lineage(store=store) as lineage:
        monkeypatch.setenv("AIRFLOW_LINEAGE_REPLACED_RUNS", "keep")
        assert drop_replaced(lineage, [third], {**TASK, "try_number": 3}, told.append) == []
        monkeypatch.setenv("AIRFLOW_LINEAGE_REPLACED_RUNS", "never")
        with pytest.raises(InvalidSetting, match="REPLACED_RUNS is 'never'; it can be drop or keep"):
            drop_replaced(lineage, [third], {**TASK, "try_number": 3}, told.append)
        monkeypatch.delenv("AIRFLOW_LINEAGE_REPLACED_RUNS")
        assert drop_replaced(lineage, [replace(third, status="incomplete")], {**TASK, "try_number": 3}, told.append) == []
        assert drop_replaced(lineage, [first], {**TASK, "try_number": 1}, told.append) == []
        assert told == []
        assert drop_replaced(lineage, [third], {**TASK, "try_number": 3}, told.append) == [second.id, first.id]
    assert told == [f"dropped what earlier tries of this task have stored, which this one has replaced: {second.id}, {first.id}"]
    assert statuses(store, first, second, third, *others) == ["dropped", "dropped", *["complete"] * 4]


def test_what_lineage_hangs_on_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another run has read, and what somebody has derived from."""
    task = {**TASK, "task_id": "read"}
    first, derived = enter(store, 1, task_id="read"), enter(store, 2, task_id="read")
    assert first.output is not None
    assert isinstance(first.output.version, FilesVersion)
    (place,) = dict(first.output.version.files or {})
    (source, *_) = first.inputs
    reader = replace(first, id="", airflow=None, inputs=(replace(source, version=files(place.rpartition("/")[2])),))
    store.publish_run(store.begin_run(replace(reader, status="running")), output=None, places={}, timings={}, row_counts={})
    monkeypatch.setattr(store, "derivations", lambda run_id: [run_id] if run_id == derived.id else [])
    last, told = enter(store, 3, task_id="read"), list[str]()
    with Lineage(store=store) as lineage:
        assert drop_replaced(lineage, [last], {**task, "try_number": 3}, told.append) == []
    assert statuses(store, first, derived, last) == ["complete"] * 3


def test_a_store_that_is_away_takes_nothing_from_the_task(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise StoreError("it is away")

    last, told = enter(store, 2), list[str]()
    with Lineage(store=store) as lineage:
        monkeypatch.setattr(type(lineage.store), "list_runs", away)
        assert drop_replaced(lineage, [last], {**TASK, "try_number": 2}, told.append) == []
    assert told == ["what earlier tries have stored is left there: it is away"]
