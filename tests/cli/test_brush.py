"""`brush`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.store import Store
from tests.web.recorded_runs import restore_flights


@pytest.fixture
def flights(tmp_path: Path) -> str:
    table = pa.table({"carrier": ["AA", "AA", "UA", None], "delay": [65, 4, 71, 12]})
    pq.write_table(table, tmp_path / "flights.parquet")
    return str(tmp_path / "flights.parquet")


VIEWS = ["--view", "carrier=carrier", "--view", "delay=delay // 10"]


def test_brushes_in_the_terminal_and_as_json(flights: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["brush", flights, *VIEWS, "--brush", "delay=[6, 7]", "--brush", "carrier=ZZ", "--brush", "carrier=AA"]) == 0
    out = capfd.readouterr().out
    assert "1 of 4 rows of flights.parquet" in out
    assert "in no bar of carrier: ZZ" in out
    assert "delay: delay // 10 (4 bars, brushed)" in out
    assert main(["brush", flights, *VIEWS, "--brush", "delay=[6, 7]", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["document"], document["version"], document["rows"], document["selected"]) == ("airflow_lineage.crossfilter", 1, 4, 2)
    carrier, delay = document["views"]
    assert carrier["bars"]["rows"] == [["AA", 1, 2], ["UA", 1, 1], [None, 0, 1]]
    assert [row[1] for row in delay["bars"]["rows"]] == [1, 1, 1, 1]


def test_a_page(flights: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "flights.html"
    assert main(["brush", flights, *VIEWS, "--html", str(page)]) == 0
    assert f"page written to {page}" in capfd.readouterr().err
    assert "delay // 10" in page.read_text(encoding="utf-8")
    assert main(["brush", flights, *VIEWS, "--html", str(page), "--max-rows", "3"]) == 2
    assert "has 4 rows, more than the 3 that a page may have" in capfd.readouterr().err
    assert main(["brush", flights, *VIEWS, "--html", str(tmp_path / "no" / "where.html")]) == 1
    assert "the page cannot be written" in capfd.readouterr().err


@pytest.fixture(scope="module")
def of_flights(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """Recorded runs over files that are here, in the store."""
    folder = tmp_path_factory.mktemp("brush") / "recorded"
    runs = restore_flights(store, folder)
    yield str(folder), runs
    for run in runs.values():
        Lineage(store=store).drop(run)


def test_runs_as_views(of_flights: tuple[str, dict[str, str]], store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    folder, runs = of_flights
    views = ["--run", f"by={runs['carriers']}", "--view", "late=delay > 10"]
    assert main(["brush", folder, *views, "--store", store.url, "--brush", "late=true", "--json"]) == 0
    late, by = json.loads(capfd.readouterr().out)["views"]
    table = pq.read_table(folder).to_pandas()
    counted = table[table.delay > 10].carrier.value_counts(dropna=False).to_dict()
    size = table.carrier.value_counts(dropna=False).to_dict()
    assert {f"{'NULL' if one is None else one}, {size[one]}": n for one, n in counted.items()} == {
        row[0]: row[1] for row in by["bars"]["rows"] if row[1]
    }
    assert [row[1] for row in late["bars"]["rows"]] == [(table.delay <= 10).sum(), (table.delay > 10).sum()]
    (by_name,) = {one for run in Lineage(store=store).get_run(runs["carriers"]).plan.sources.values() for one in [run.source.relation.name]}
    assert main(["brush", by_name, *views, "--store", store.url, "--brush", "late=true", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["views"][1] == by
    assert main(["brush", folder, "--run", "by=01zz", "--store", store.url]) == 2
    assert "01zz" in capfd.readouterr().err


def test_a_bar_of_a_run_is_explained_in_the_browser(of_flights: tuple[str, dict[str, str]], store: Store) -> None:
    folder, runs = of_flights
    command = [sys.executable, "-m", "airflow_lineage_provider.cli", "brush", folder, "--run", f"by={runs['carriers']}", "--serve"]
    with subprocess.Popen([*command, "--store", store.url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with urllib.request.urlopen(f"{url}explain/0/0", timeout=30) as page:
                text = page.read().decode()
            assert runs["carriers"] in text
            assert "flights.carriers" in text
        finally:
            process.kill()


@pytest.mark.processes
def test_served_until_it_is_ended(flights: str) -> None:
    command = [sys.executable, "-m", "airflow_lineage_provider.cli", "brush", flights, *VIEWS, "--serve"]
    # (What is started in the background of a shell is deaf to Ctrl-C, and so is what it starts.)
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=heard) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with urllib.request.urlopen(url, timeout=10) as page:
                assert b"delay // 10" in page.read()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_what_is_wrong_is_said(flights: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["brush", flights, "--view", "x=colour"]) == 2
    assert "view x: " in capfd.readouterr().err
    assert main(["brush", flights, "--view", "x=delay", "--view", "x=carrier"]) == 2
    assert "two views have one name" in capfd.readouterr().err
    assert main(["brush", flights]) == 2
    assert "give at least one view: --view NAME=EXPRESSION, or --run NAME=RUN" in capfd.readouterr().err
    assert main(["brush", flights, *VIEWS, "--brush", "day=1"]) == 2
    assert "the views are carrier, delay" in capfd.readouterr().err
    assert main(["brush", flights, *VIEWS, "--serve", "--json"]) == 2
    assert "brush in the browser" in capfd.readouterr().err
    assert main(["brush", flights, *VIEWS, "--serve", "70000"]) == 1
    assert "port 70000 of 127.0.0.1 cannot be listened on" in capfd.readouterr().err
    assert main(["brush", flights + ".gone", *VIEWS]) == 1
    assert "no Parquet file" in capfd.readouterr().err
