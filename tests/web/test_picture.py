"""The picture of a DAG run: its pipelines' runs joined at the tables that pass between them, and who may see what of it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import RunNotFound
from airflow_lineage_provider.records.run import RecordedInput, RecordedOutput, RunHead, RunRecord
from airflow_lineage_provider.records.versions import FilesVersion, NoVersion
from airflow_lineage_provider.store import Store, embedded
from airflow_lineage_provider.typed_json import read
from tests.statements import noted
from tests.web.conftest import database
from tests.web.recorded_runs import HERE, restore

API = "/lineage/api/v1"
Client = Callable[..., Any]
DAG_RUN = "manual__2025-12-31T06:00:00+00:00"


def picture(client: Any, dag_id: str) -> Any:
    return client.get(f"{API}/picture", params={"dag_id": dag_id, "dag_run_id": DAG_RUN})


def parts(answer: Any) -> tuple[dict[str, dict[str, Any]], set[tuple[str, str]]]:
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["problems"] == []
    nodes = {one["id"]: one for one in found["nodes"]}
    assert len(nodes) == len(found["nodes"])
    edges = {(one["source"], one["target"]) for one in found["edges"]}
    assert {end for edge in edges for end in edge} <= set(nodes)
    return nodes, edges


def test_tasks_are_joined_at_the_table_that_passes_between_them(client: Client, runs: dict[str, str]) -> None:
    nodes, edges = parts(picture(client(), "loan_examination"))
    judged, again = runs["judged"], runs["again"]
    assert {one["label"] for one in nodes.values() if one["kind"] == "run" and one["is_own"]} == {"loans.examine", "loans.again"}
    written = nodes[f"{judged}/output"]
    assert (written["kind"], written["label"], written["stored"], written["rows"]) == ("table", "judged", True, 120)
    assert (f"{judged}/0", f"{judged}/output") in edges
    readers = {target for source, target in edges if source == f"{judged}/output"}
    assert readers
    assert {nodes[one]["parent"] for one in readers} == {again, None}
    sources = {one["label"] for one in nodes.values() if one["kind"] == "table"} - {"judged"}
    assert sources == {"client", "loan"}


def test_segments_are_drawn_inside(client: Client, runs: dict[str, str]) -> None:
    nodes, edges = parts(picture(client(), "loan_examination"))
    details = client().get(f"{API}/runs/{runs['judged']}").json()["segments"]
    drawn = {int(one["id"].rpartition("/")[2]): one for one in nodes.values() if one["parent"] == runs["judged"]}
    assert {number: (one["segment_kind"], one["stored"]) for number, one in drawn.items()} == {
        one["number"]: (one["kind"], one["stored"]) for one in details
    }
    assert drawn[0]["label"] == "result"
    assert drawn[0]["rows"] == 120
    assert all((f"{runs['judged']}/{number}", f"{runs['judged']}/0") in edges for number in drawn if number == 1)
    unstored = [one for one in nodes.values() if one["parent"] == runs["again"]]
    assert not any(one["stored"] for one in unstored)


def test_a_run_of_another_dag_stands_behind(client: Client, runs: dict[str, str]) -> None:
    nodes, edges = parts(picture(client(), "loan_report"))
    behind = nodes[runs["judged"]]
    assert (behind["is_own"], nodes[runs["reported"]]["is_own"]) == (False, True)
    assert (runs["judged"], f"{runs['judged']}/output") in edges
    assert not any(one["parent"] == runs["judged"] for one in nodes.values())


def test_a_run_of_another_dag_that_read_what_was_written(client: Client, runs: dict[str, str]) -> None:
    nodes, edges = parts(picture(client(), "loan_examination"))
    reader = nodes[runs["reported"]]
    assert (reader["kind"], reader["is_own"], reader["dag_id"]) == ("run", False, "loan_report")
    assert (f"{runs['judged']}/output", reader["id"]) in edges
    assert not any(one["parent"] == reader["id"] for one in nodes.values())


def test_readers_that_one_may_not_read_are_only_said_to_be_there(
    client: Client, runs: dict[str, str], only_dag: Callable[[str, str], None]
) -> None:
    only_dag("bob", "loan_examination")
    nodes, edges = parts(picture(client("viewer", "bob"), "loan_examination"))
    assert runs["reported"] not in nodes
    (told,) = [nodes[target] for source, target in edges if source == f"{runs['judged']}/output" and nodes[target]["withheld"]]
    assert (told["kind"], told["run_id"], told["dag_id"], told["rows"]) == ("run", None, None, None)


def test_of_many_later_readers_the_newest_are_looked_at(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_lineage_provider.deriving.across import dag_plan

    monkeypatch.setattr(dag_plan, "MOST_READERS", 0)
    found = picture(client(), "loan_examination").json()
    assert found["problems"] == ["who read what 1 further runs wrote is not looked at"]
    assert {one["label"] for one in found["nodes"] if one["kind"] == "run"} == {"loans.examine", "loans.again"}


def test_what_one_may_not_read_is_not_told(client: Client, runs: dict[str, str], only_dag: Callable[[str, str], None]) -> None:
    only_dag("ann", "loan_report")
    nodes, _ = parts(picture(client("viewer", "ann"), "loan_report"))
    assert runs["judged"] not in nodes
    table = nodes[f"{runs['judged']}/output"]
    assert (table["withheld"], table["rows"], table["run_id"]) == (True, None, None)
    assert "may not read" in table["detail"]
    nothing = picture(client("viewer", "ann"), "loan_examination").json()
    assert (nothing["nodes"], nothing["edges"], nothing["problems"]) == ([], [], [])
    assert picture(client(None), "loan_report").status_code == 401


def test_hidden_columns_are_in_no_operator(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "debt" in picture(client(), "loan_examination").text
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "debt")
    assert "debt" not in picture(client(), "loan_examination").text


def test_the_plan_of_a_dag_run_in_a_program(runs: dict[str, str], store: Store) -> None:
    lineage = Lineage(store=store)
    newest, named = lineage.dag_plan("loan_examination"), lineage.dag_plan("loan_examination", DAG_RUN)
    assert newest == named
    assert [(one.label, one.run_id) for one in newest.runs] == [("loans.examine", runs["judged"]), ("loans.again", runs["again"])]
    assert {one.label for one in newest.reads(runs["again"])} == {"judged"}
    assert runs["reported"] in newest.beyond(f"{runs['judged']}/0")
    told = io.StringIO()
    newest.show(Console(file=told, width=200))
    assert "writes    judged, read by loans.again, loans.report (run " in told.getvalue()
    with pytest.raises(RunNotFound, match="no task of DAG 'nobody' has recorded a run"):
        lineage.dag_plan("nobody")
    with pytest.raises(RunNotFound, match="no task of DAG 'loan_examination' run 'never'"):
        lineage.dag_plan("loan_examination", "never")


def test_a_picture_needs_its_dag_run(client: Client) -> None:
    answer = client().get(f"{API}/picture?dag_id=loan_report")
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, "InvalidRequest")


def test_of_a_task_instance_the_last_try_counts() -> None:
    from airflow_lineage_provider.deriving.across.dag_plan import last_tries

    def run(run_id: str, task: str, number: int | None, pipeline: str = "p") -> RunHead:
        context = {"task_id": task, "map_index": -1} | ({} if number is None else {"try_number": number})
        return RunHead(id=run_id, pipeline=pipeline, started=datetime.now(UTC), airflow=context)

    runs = [run("5", "b", 1), run("4", "a", 2, "q"), run("3", "a", 2), run("2", "a", 1), run("1", "c", None)]
    assert [one.id for one in last_tries(runs)] == ["1", "3", "4", "5"]
    assert [one.id for one in last_tries(reversed(runs))] == ["1", "3", "4", "5"]


def test_a_run_without_a_plan_is_joined_at_the_tables_that_it_read_and_wrote(
    client: Client, lineage_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it read in the version that another run wrote, what has a name alone, and who read what it wrote, without a plan as well."""
    with Store.open(database(lineage_home, "by_names")) as own:
        monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", own.url)
        judged, again = (restore(own, name) for name in ("judged", "again"))
        (read,) = own.run(again).inputs
        nobody = RecordedInput(leaf=1, name="bank.people", identity=read.identity, version=NoVersion())
        inputs = (replace(read, leaf=0, paths=("/data/judged",)), nobody)
        context = {"dag_id": "by_names", "run_id": DAG_RUN, "task_id": "sampled", "map_index": -1, "try_number": 1}
        output = RecordedOutput(kind="path", target="/data/sampled")
        first = RunRecord(pipeline="sampled", airflow=context, output=output, inputs=inputs)
        first = replace(first, id=own.begin_run(first))
        own.mark_incomplete(replace(first, error="lineage incomplete: it is a sample"), {"file:///data/sampled/a.parquet": "7:1000"})
        version = FilesVersion(count=1, bytes=7, files={"file:///data/sampled/a.parquet": (7, 1000)})
        later = RunRecord(pipeline="later", airflow=context | {"dag_id": "other"}, inputs=(replace(nobody, leaf=0, version=version),))
        later = replace(later, id=own.begin_run(later))
        own.mark_incomplete(replace(later, error="lineage incomplete: it is a sample, too"), {})

        nodes, edges = parts(picture(client(), "by_names"))
        (unknown,) = [one for one in nodes.values() if one["label"] == "bank.people"]
        assert {(f"{judged}/output", first.id), (unknown["id"], first.id), (first.id, f"{first.id}/output")} <= edges
        assert (f"{first.id}/output", later.id) in edges
        assert nodes[first.id]["status"] == "incomplete"
        assert nodes[f"{judged}/output"]["rows"] == 120
        details = client().get(f"{API}/runs/{first.id}").json()
        assert (details["reads"], details["output"]) == (["judged", "bank.people"], "/data/sampled")
        # The reader of its own DAG run is joined at what was written, too.
        _, beside = parts(picture(client(), "other"))
        assert (f"{first.id}/output", later.id) in beside


def _enter(store: Store, name: str, count: int) -> None:
    """A recorded run as that of a mapped task with so many instances, without what it stored."""
    document = json.loads((HERE / f"{name}.json").read_text())
    recorded = read(RunRecord, document["record"])
    for at in range(count):
        context = {"dag_id": "many", "run_id": f"of {count}", "task_id": name, "map_index": at, "try_number": 1}
        begun = store.begin_run(replace(recorded, id="", status="running", finished=None, airflow=context))
        store.publish_run(begun, output=recorded.output, places=document["places"], timings={}, row_counts=recorded.row_counts)


def test_a_picture_of_many_runs_asks_the_store_no_more_than_one_of_few(lineage_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs are read at once, and so is who has read what they wrote, fifty at a time."""
    from airflow_lineage_provider.deriving.across import dag_plan

    with Store.open(database(lineage_home, "pictures")) as store, Lineage(store=store.url) as lineage:
        for count in (2, 40):
            _enter(store, "judged", count)
        asked, plans = {}, {}
        for count in (2, 40, 2):
            with noted(embedded.ensure_running(lineage_home)) as asked[count]:
                plans[count] = lineage.dag_plan("many", f"of {count}")
        assert {count: len(one.runs) for count, one in plans.items()} == {2: 2, 40: 40}
        assert not any(one.problems for one in plans.values())
        assert len(asked[40].statements) == len(asked[2].statements), asked[40]
        assert len(plans[40].nodes) == 40 * 6  # of each the run, its two segments, what it wrote, and its own copies of two sources
        for known, told in ((1, 2), (0, 40)):
            monkeypatch.setattr(dag_plan, "_TOGETHER", 38)
            monkeypatch.setattr(dag_plan, "MOST_READERS", known)
            problems = lineage.dag_plan("many", "of 40").problems
            assert (f"who read what {told} further runs wrote is not looked at" in problems) == (known == 0)
