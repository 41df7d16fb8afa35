"""Linked views of a run's source table through the API: their counts against pandas over the same files, and who is told what."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.web import linked_views
from tests.store.conftest import sql
from tests.web import recorded_runs
from tests.web.conftest import Flights
from tests.web.recorded_runs import BY

API = "/lineage/api/v1"
Client = Callable[..., Any]
OnlyDag = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def of_flights(setting: None, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tab reads their store."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", flights.store.url)
    yield
    linked_views._KEPT.clear()


def views(flights: Flights) -> list[dict[str, str]]:
    return [
        {"name": "carriers", "run": flights.runs["carriers"]},
        {"name": "place", "run": flights.runs["places"]},
        {"name": "late", "expression": "delay > 10"},
        {"name": "row", "expression": "seat[1:2]"},
    ]


def asked(client: Any, flights: Flights, what: str = "", run: str = "carriers", **body: Any) -> Any:
    place = f"{API}/runs/{flights.runs.get(run, run)}/crossfilter{what}"
    return client.post(place, json={"table": "flights", "views": views(flights), **body})


def made(client: Any, flights: Flights, **body: Any) -> dict[str, Any]:
    answer = asked(client, flights, **body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def table(flights: Flights) -> pd.DataFrame:
    """The table, with what each view says of a row, as pandas works it out."""
    found = pq.read_table(flights.folder).to_pandas()
    size = found.groupby("carrier", dropna=False).delay.transform("count")
    found["carriers"] = [f"{'NULL' if one is None else one}, {n}" for one, n in zip(found.carrier, size, strict=True)]
    found["place"] = found.lat.astype(str)
    found["late"] = (found.delay > 10).map({True: "True", False: "False"})
    found["row"] = found.seat.str[:2]
    return found


def counts_of(packed: bytes, shown: dict[str, Any]) -> tuple[int, dict[str, dict[str, int]]]:
    numbers, at, found = np.frombuffer(packed, "<u4").tolist(), 1, {}
    for view in shown["views"]:
        found[view["name"]] = dict(zip(view["labels"], numbers[at : at + len(view["labels"])], strict=True))
        at += len(view["labels"])
    assert at == len(numbers)
    return numbers[0], found


def test_counts_are_those_of_pandas(client: Client, flights: Flights) -> None:
    admin, plain, chance = client(), table(flights), random.Random(5)
    shown = made(admin, flights)
    names = [one["name"] for one in shown["views"]]
    assert (shown["rows"], shown["table"], names) == (210, "flights", ["carriers", "place", "late", "row"])
    for view in shown["views"]:
        assert dict(zip(view["labels"], view["totals"], strict=True)) == plain[view["name"]].value_counts().to_dict()
    for _ in range(25):
        brushes = [chance.sample(range(len(one["labels"])), 2) if chance.random() < 0.5 else None for one in shown["views"]]
        answer = asked(admin, flights, "/counts", made=shown["made"], brushes=brushes)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/octet-stream")
        selected, found = counts_of(answer.content, shown)
        held = {
            view["name"]: plain[view["name"]].isin([view["labels"][at] for at in own])
            for view, own in zip(shown["views"], brushes, strict=True)
            if own is not None
        }
        everywhere = pd.Series(True, index=plain.index)
        for one in held.values():
            everywhere &= one
        assert selected == everywhere.sum()
        for name in names:
            left = pd.Series(True, index=plain.index)
            for other, one in held.items():
                left &= one if other != name else True
            assert {label: n for label, n in found[name].items() if n} == plain[left][name].value_counts().to_dict()


def test_rows_under_the_brushes(client: Client, flights: Flights) -> None:
    admin, plain = client(), table(flights)
    shown = made(admin, flights)
    late = shown["views"][2]["labels"].index("True")
    brush = {"made": shown["made"], "brushes": [None, None, [late], None]}
    expected = plain[plain.late == "True"].seat.tolist()
    found: list[str] = []
    while len(found) < len(expected):
        page = asked(admin, flights, "/rows", offset=len(found), limit=20, **brush).json()
        assert (page["total"], page["offset"]) == (len(expected), len(found))
        names = [one["name"] for one in page["columns"]]
        assert names == ["carrier", "delay", "day", "lat", "lon", "seat"]
        found += [row[names.index("seat")] for row in page["rows"]]
    assert found == expected
    saved = asked(admin, flights, "/rows?format=arrow", limit=10_000, **brush)
    assert pa.ipc.open_stream(saved.content).read_all().column("seat").to_pylist() == expected
    lines = list(csv.reader(io.StringIO(asked(admin, flights, "/rows?format=csv", limit=2, **brush).text)))
    assert [line[-1] for line in lines] == ["seat", *expected[:2]]


def test_captured_lineage_is_looked_up(client: Client, flights: Flights) -> None:
    """The counts are those of lineage that is traced."""
    traced = made(client(), flights)
    linked_views._KEPT.clear()
    run = Lineage(store=flights.store).get_run(flights.runs["carriers"])
    run.capture()
    try:
        assert run.index is not None
        assert made(client(), flights) == traced
    finally:
        run.forget_captured()


def test_a_bar_of_a_run_is_explained_by_its_number(client: Client, flights: Flights) -> None:
    admin = client()
    (carriers, *_) = made(admin, flights)["views"]
    assert (carriers["run"], len(carriers["numbers"])) == (flights.runs["carriers"], len(carriers["labels"]))
    for label, total, number in zip(carriers["labels"], carriers["totals"], carriers["numbers"], strict=True):
        why = admin.post(f"{API}/runs/{carriers['run']}/explanation", json={"numbers": [number]}).json()["document"]
        assert ", ".join("NULL" if one is None else str(one) for one in why["target"]["rows"][0]) == label
        assert len(why["source"]["flights"]["rows"]) == total


def test_what_can_be_a_view_is_offered(client: Client, flights: Flights, only_dag: OnlyDag) -> None:
    path = f"{API}/runs/{flights.runs['carriers']}/crossfilter?table=flights"
    found = client().get(path).json()
    assert (found["rows"], found["columns"]) == (210, ["carrier", "delay", "day", "lat", "lon", "seat"])
    assert found["runs"][0]["id"] == flights.runs["carriers"]
    assert {one["pipeline"] for one in found["runs"]} == {f"flights.{name}" for name in BY}
    only_dag("ann", "flights_carriers")
    assert [one["id"] for one in client("viewer", "ann").get(path).json()["runs"]] == [flights.runs["carriers"]]


# --- who is told what ---------------------------------------------------------------------------------------------------


def test_another_dags_run_is_no_view(client: Client, flights: Flights, only_dag: OnlyDag) -> None:
    """Also where somebody who may see it has just made the views."""
    shown = made(client(), flights)
    only_dag("ann", "flights_carriers")
    ann = client("viewer", "ann")
    for what, body in (
        ("", {}),
        ("/counts", {"made": shown["made"], "brushes": [None] * 4}),
        ("/rows", {"made": shown["made"], "brushes": [None] * 4}),
    ):
        refused = asked(ann, flights, what, **body)
        assert (refused.status_code, refused.json()["error"]["name"]) == (404, "RunNotFound"), what
        assert "flights.places" not in refused.text
    own = made(ann, flights, views=views(flights)[:1])
    assert own["views"][0]["totals"] == shown["views"][0]["totals"]
    assert asked(ann, flights, run="places").status_code == 404


def test_rows_that_another_dags_run_wrote_are_withheld(
    client: Client, runs: dict[str, str], store: Store, only_dag: OnlyDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url)
    only_dag("ann", "loan_report")
    place, body = f"{API}/runs/{runs['reported']}/crossfilter", {"table": "judged", "views": [{"name": "judge", "expression": "judge"}]}
    refused = client("viewer", "ann").post(place, json=body)
    assert (refused.status_code, refused.json()["error"]["name"]) == (403, "NotPermitted")
    assert client("viewer", "ann").get(f"{place}?table=judged").status_code == 403
    gone = client().post(place, json=body)
    assert (gone.status_code, gone.json()["error"]["name"]) == (409, "SourceUnavailable")


SECRET = (
    "delay", "DELAY + 1", '"delay" > 3', "carrier || delay", "CASE WHEN delay > 3 THEN lat END", "seat", "rows.delay",
    "coalesce(NULL, delay)",
)  # fmt: skip
MORE = (
    "(SELECT max(delay) FROM rows)", "COLUMNS('delay')", "(FROM rows)", "EXISTS (FROM read_parquet('{path}') WHERE delay > 3)",
    "count(*)", "*", "(SELECT first(content) FROM read_text('/etc/passwd'))", "1) AS x FROM rows; SELECT (1", "lat, lon",
    "lat FROM rows --", "list_sum(range(lat + 30000000))", "repeat(carrier, 1000000000)", "lat IN (SELECT 1)", "getenv('HOME')",
)  # fmt: skip


@pytest.mark.parametrize("expression", [*SECRET, *MORE])
def test_no_view_tells_what_is_withheld(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch, expression: str) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "flights.seat")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "delay")
    written = expression.replace("{path}", str(flights.folder / "part-0.parquet"))
    refused = asked(client(), flights, views=[{"name": "x", "expression": written}])
    error = refused.json()["error"]
    assert (refused.status_code, error["name"]) == (422, "InvalidTarget" if expression in SECRET else "InvalidOption"), refused.text
    assert error["message"].startswith("view x: ")
    assert "root:" not in refused.text


def test_rows_and_bars_without_what_is_withheld(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made while nothing was withheld is not shown any more."""
    admin = client()
    before = made(admin, flights, views=views(flights)[:1])
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "flights.seat")
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "carrier")
    (carriers,) = made(admin, flights, views=views(flights)[:1])["views"]
    assert sorted(carriers["totals"]) == sorted(before["views"][0]["totals"])
    assert not any(one.startswith("C") for one in carriers["labels"])
    stale = asked(admin, flights, "/rows", views=views(flights)[:1], made=before["made"], brushes=[None])
    assert (stale.status_code, stale.json()["error"]["name"]) == (422, "InvalidOption")
    place = f"{API}/runs/{flights.runs['carriers']}/crossfilter?table=flights"
    assert admin.get(place).json()["columns"] == ["delay", "day", "lat", "lon"]
    lat = [{"name": "lat", "expression": "lat"}]
    shown = made(admin, flights, views=lat)
    page = asked(admin, flights, "/rows", views=lat, made=shown["made"], brushes=[None]).json()
    assert [one["name"] for one in page["columns"]] == ["carrier", "delay", "day", "lat", "lon"]
    assert {row[0] for row in page["rows"]} == {"•••"}
    monkeypatch.setenv("AIRFLOW_LINEAGE_HIDE", "flights.seat,flights")
    none = asked(admin, flights, views=views(flights)[:1])
    assert (none.status_code, none.json()["error"]["name"]) == (422, "InvalidTarget")


def test_people_are_told_nothing_of_each_others_brushes(client: Client, flights: Flights) -> None:
    """Nor are views kept for each of them: what is kept is found by the files and the views."""
    admin, viewer = client(), client("viewer", "bob")
    shown = made(admin, flights)
    assert made(viewer, flights) == shown
    (kept,) = linked_views._KEPT._kept.values()
    before = kept.crossfilter._last
    mine = {"made": shown["made"], "brushes": [[0], None, None, None]}
    first = asked(admin, flights, "/counts", **mine).content
    asked(viewer, flights, "/counts", made=shown["made"], brushes=[None, [1], [0], None])
    assert asked(admin, flights, "/counts", **mine).content == first
    assert kept.crossfilter._last is before
    assert len(linked_views._KEPT._kept) == 1


def test_what_is_kept_is_bounded(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = client()
    one = made(admin, flights, views=views(flights)[2:3])
    (kept,) = linked_views._KEPT._kept.values()
    assert kept.nbytes > 210 * 2
    monkeypatch.setattr(linked_views._KEPT, "most_bytes", 2 * kept.nbytes + 100)
    for at in range(5):
        made(admin, flights, views=[{"name": "late", "expression": f"delay > {at}"}])
    assert 1 <= len(linked_views._KEPT._kept) <= 2
    assert asked(admin, flights, "/counts", views=views(flights)[2:3], made=one["made"], brushes=[[0]]).status_code == 200
    monkeypatch.setattr(linked_views, "MOST_BYTES", 100)
    refused = asked(admin, flights, views=[{"name": "late", "expression": "delay > 99"}])
    assert refused.json()["error"]["name"] == "AnswerTooLarge"


def test_a_view_has_the_room_that_those_before_it_leave(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none is made after the one that there is no room for."""
    admin = client()
    made(admin, flights, views=views(flights)[3:])
    (kept,) = linked_views._KEPT._kept.values()
    monkeypatch.setattr(linked_views, "MOST_BYTES", 2 * kept.nbytes + 100)
    asked_of: list[str] = []
    real = linked_views._bars

    def bars(*given: Any) -> Any:
        asked_of.append(given[2])
        return real(*given)

    monkeypatch.setattr(linked_views, "_bars", bars)
    rows = [{"name": str(at), "expression": f"seat[1:2] || '{at}'"} for at in range(6)]
    error = asked(admin, flights, views=rows).json()["error"]
    assert error["name"] == "AnswerTooLarge"
    assert asked_of in (["0", "1"], ["0", "1", "2"])


def test_rows_have_the_time_of_their_own_question(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of that which made the views."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_SECONDS", "2")
    shown = made(client(), flights, views=views(flights)[2:3])
    time.sleep(2.1)
    body = {"views": views(flights)[2:3], "made": shown["made"], "brushes": [None]}
    assert asked(client(), flights, "/rows", **body).status_code == 200
    real = linked_views.by_view

    def by_view(*given: Any) -> Any:
        time.sleep(2.1)
        return real(*given)

    monkeypatch.setattr(linked_views, "by_view", by_view)
    late = asked(client(), flights, "/rows", **body)
    assert (late.status_code, late.json()["error"]["name"]) == (504, "QueryTooSlow")


def test_a_table_is_called_as_the_run_that_was_asked_calls_it(
    client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not as another run, whose DAG may be another's, that read the same files."""
    renamed = (recorded_runs.HERE / "places.json").read_text()
    for quote in ('\\"name\\":\\"{}\\"', '\\"name\\": \\"{}\\"'):
        renamed = renamed.replace(quote.format("flights"), quote.format("project_merger"))
    (tmp_path / "other.json").write_text(renamed)
    for one in recorded_runs.HERE.glob("places.*.parquet"):
        shutil.copy(one, tmp_path / one.name.replace("places", "other"))
    monkeypatch.setattr(recorded_runs, "HERE", tmp_path)
    place = (recorded_runs.FLIGHTS, str(flights.folder))
    other = recorded_runs.restore(flights.store, "other", place, id="0199ffff-72d5-7fff-af76-8835cfee595f")
    try:
        late = views(flights)[2:3]
        assert made(client(), flights, run=other, table="project_merger", views=late)["table"] == "project_merger"
        assert made(client(), flights, views=late)["table"] == "flights"
    finally:
        sql(flights.store.url, "DELETE FROM lineage.runs WHERE id = %s", [other])


def test_no_brush_and_no_expression_is_put_down(client: Client, flights: Flights, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "airflow_lineage_provider.audit"):
        shown = made(client(), flights, views=views(flights)[2:3])
        asked(client(), flights, "/counts", views=views(flights)[2:3], made=shown["made"], brushes=[[0]])
        asked(client(), flights, "/rows", views=views(flights)[2:3], made="other", brushes=[[0]])
    records = [json.loads(one.getMessage()) for one in caplog.records if one.name == "airflow_lineage_provider.audit"]
    assert [(one["action"], one["outcome"]) for one in records] == [
        ("crossfilter", "answered"), ("brushed_counts", "answered"), ("brushed_rows", "InvalidOption"),
    ]  # fmt: skip
    assert all(set(one) == {"event", "user", "action", "run_id", "outcome", "seconds"} for one in records)


def test_runs_that_are_views_are_put_down(client: Client, flights: Flights, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "airflow_lineage_provider.audit"):
        made(client(), flights)
    (record,) = [json.loads(one.getMessage()) for one in caplog.records if one.name == "airflow_lineage_provider.audit"]
    assert record["runs"] == [flights.runs["carriers"], flights.runs["places"]]


# --- what is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"table": "loans"}, "InvalidTarget"),
        ({"views": []}, "InvalidRequest"),
        ({"views": [{"name": "a"}]}, "InvalidRequest"),
        ({"views": [{"name": "a", "expression": "lat", "run": "01a"}]}, "InvalidRequest"),
        ({"views": [{"name": "a", "expression": "lat"}, {"name": "a", "expression": "lon"}]}, "InvalidRequest"),
        ({"views": [{"name": str(at), "expression": "lat"} for at in range(13)]}, "InvalidRequest"),
        ({"views": [{"name": "a", "expression": "colour"}]}, "InvalidOption"),
        ({"views": [{"name": "a", "run": "01a"}]}, "RunNotFound"),
    ],
)
def test_what_is_no_view(client: Client, flights: Flights, body: dict[str, Any], error: str) -> None:
    answer = asked(client(), flights, **body)
    assert (answer.status_code, answer.json()["error"]["name"]) == (404 if error == "RunNotFound" else 422, error), answer.text


@pytest.mark.parametrize(
    "brushes",
    [
        [],
        [None],
        [[0] * 100_001, None, None, None],
        [[0], None, None, [99]],
        [[0], None, None, [-1]],
        [["0"], None, None, None],
        [[True], None, None, None],
        7,
    ],
)
def test_what_is_no_brush(client: Client, flights: Flights, brushes: Any) -> None:
    shown = made(client(), flights)
    answer = asked(client(), flights, "/counts", made=shown["made"], brushes=brushes)
    assert (answer.status_code, answer.json()["error"]["name"] in ("InvalidOption", "InvalidRequest")) == (422, True), answer.text


def test_runs_that_are_no_views(client: Client, flights: Flights) -> None:
    twice = asked(client(), flights, views=[{"name": "a", "run": flights.runs["twice"]}])
    assert (twice.status_code, twice.json()["error"]["name"]) == (422, "InvalidOption")
    assert "stand behind several rows of run" in twice.json()["error"]["message"]
    rerun = asked(client(), flights, views=[{"name": "a", "run": flights.runs["rerun"]}, {"name": "lat", "expression": "lat"}])
    assert (rerun.status_code, rerun.json()["error"]["name"]) == (409, "SparkRequired")
    files = json.dumps([str(one) for one in sorted(flights.folder.resolve().iterdir())])
    line = f'lineage.crossfilter({files}, {{"a": lineage.get_run("{flights.runs["rerun"]}"), "lat": "lat"}})'
    ask = rerun.json()["error"]["ask"]
    assert ask["python"] == line
    assert ask["command"].endswith(f"part-2.parquet --run a={flights.runs['rerun']} --view lat=lat --serve")


def test_too_many_rows_are_left_to_python(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_CROSSFILTER_ROWS", "209")
    error = asked(client(), flights, views=views(flights)[2:3]).json()["error"]
    assert error["name"] == "AnswerTooLarge"
    assert "flights has 210 rows, more than the 209 of linked views here" in error["message"]
    assert error["ask"]["command"].startswith("airflow-lineage brush /")
    assert error["ask"]["command"].endswith("part-2.parquet --view 'late=delay > 10' --serve")
    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_CROSSFILTER_ROWS", "210")
    assert asked(client(), flights, views=views(flights)[2:3]).status_code == 200


def test_linked_views_can_be_switched_off(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of what was made before, and of a run alone."""
    shown = made(client(), flights)
    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_CROSSFILTER_ROWS", "0")
    brush = {"made": shown["made"], "brushes": [None] * 4}
    answers = [asked(client(), flights, what, **body) for what, body in (("", {}), ("/counts", brush), ("/rows", brush))]
    answers.append(client().get(f"{API}/runs/{flights.runs['carriers']}/crossfilter?table=flights"))
    for answer in answers:
        assert (answer.status_code, "switched off" in answer.json()["error"]["message"]) == (403, True), answer.text


def test_columns_that_spark_alone_reads_for_certain(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not offered, in no row, and no view has them; of one that is withheld this is not told."""
    monkeypatch.setattr(linked_views, "certain_columns", lambda *_: frozenset({"carrier", "lat", "delay"}))
    place = f"{API}/runs/{flights.runs['carriers']}/crossfilter?table=flights"
    assert client().get(place).json()["columns"] == ["carrier", "delay", "lat"]
    monkeypatch.setenv("AIRFLOW_LINEAGE_MASK", "seat")
    refused = {one: asked(client(), flights, views=[{"name": "x", "expression": one}]) for one in ("Day", "seat", "seat || day")}
    assert {one: answer.json()["error"]["name"] for one, answer in refused.items()} == {
        "Day": "SparkRequired", "seat": "InvalidTarget", "seat || day": "InvalidTarget",
    }  # fmt: skip
    late = views(flights)[2:3]
    page = asked(client(), flights, "/rows", views=late, made=made(client(), flights, views=late)["made"], brushes=[None]).json()
    assert [one["name"] for one in page["columns"]] == ["carrier", "delay", "lat"]


def test_a_table_of_no_files_is_left_to_spark(client: Client, runs: dict[str, str], store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE", store.url)
    body = {"table": "client", "views": [{"name": "debt", "expression": "debt"}]}
    answer = client().post(f"{API}/runs/{runs['judged']}/crossfilter", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["name"]) == (409, "SparkRequired")
    assert "the run read them from no files" in error["message"]
    line = f'lineage.crossfilter(lineage.get_run("{runs["judged"]}").backward("true", "client"), {{"debt": "debt"}})'
    assert error["ask"]["python"] == line
    assert client().get(f"{API}/runs/{runs['judged']}/crossfilter?table=client").status_code == 409


def test_what_takes_too_long_is_ended(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_WEB_SECONDS", "0.1")

    def of_run(*_: Any) -> str:
        time.sleep(0.2)
        return "1"

    monkeypatch.setattr(linked_views, "_of_run", of_run)
    answer = asked(client(), flights, views=[*views(flights)[:2], *views(flights)[2:]])
    assert (answer.status_code, answer.json()["error"]["name"]) == (504, "QueryTooSlow"), answer.text


def test_a_folder_that_may_not_be_looked_into(client: Client, flights: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.is_file

    def is_file(path: Path) -> bool:
        if path.is_relative_to(flights.folder):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "is_file", is_file)
    answer = asked(client(), flights, views=views(flights)[2:3])
    assert (answer.status_code, answer.json()["error"]["name"]) == (409, "SourceUnavailable"), answer.text


def test_files_that_changed_are_told(client: Client, flights: Flights, tmp_path: Path) -> None:
    shown = made(client(), flights)
    last, kept = flights.folder / "part-2.parquet", tmp_path / "kept.parquet"
    shutil.copy2(last, kept)
    try:
        os.utime(last)
        for what in ("", "/counts", "/rows"):
            body = {} if not what else {"made": shown["made"], "brushes": [None] * 4}
            answer = asked(client(), flights, what, **body)
            assert (answer.status_code, answer.json()["error"]["name"]) == (409, "SourceUnavailable")
            assert "part-2.parquet: not as the run read it" in answer.json()["error"]["message"]
        last.unlink()
        assert "part-2.parquet: gone" in asked(client(), flights).json()["error"]["message"]
    finally:
        shutil.copy2(kept, last)
    assert made(client(), flights) == shown
