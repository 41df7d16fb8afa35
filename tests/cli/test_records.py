"""`runs`, `show`, `drop` and `stop`."""

from __future__ import annotations

import io
import json
import re
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_lineage_provider.answers.captured import CapturedIndex
from airflow_lineage_provider.cli import main
from tests.cli.stand_in import FakeLineage, FakeRun, named


def test_runs(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--pipeline", "examination", "--limit", "3"]) == 0
    assert named(calls, "runs") == [("runs", "examination", 3)]
    assert "examination" in capfd.readouterr().out
    assert main(["list", "--json", "--store", "postgresql://after-the-verb"]) == 0
    assert json.loads(capfd.readouterr().out)["runs"][0]["seconds"] == 1.5
    assert named(calls, "open")[-1] == ("open", None, "postgresql://after-the-verb")


def test_runs_show_their_strategy(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capfd.readouterr().out
    assert "strategy" in out
    assert re.search(r"examination +FM +complete", out)


def test_show(calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "run-1"]) == 0
    out = capfd.readouterr().out
    assert "Stored, 16 kB" in out
    assert re.search(r"0 +φ credit_exam\(income\) → judge +Non-D +2 +16 kB +it is the result", out)
    assert re.search(r"1 +▷ \(id = id_2\) +D, difference +not recorded", out)
    assert main(["show", "latest", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["document"], document["version"], document["run"]["strategy"]) == (
        "airflow_lineage.run",
        1,
        "function_materialization",
    )
    assert document["stored"][0]["bytes"] == 16384
    assert document["not_stored"] == [{"segment": 1, "kind": "d", "operator": "▷ (id = id_2)", "because": ""}]
    assert document["not_captured"] == ""
    lacking = CapturedIndex(captured=datetime.now(UTC), seconds=0.0, engine="", maps=(), problem="there are too many pairs")
    monkeypatch.setattr(FakeRun, "index", lacking)
    assert main(["show", "run-1"]) == 0
    assert re.search(r"No lineage was captured; it is traced when it is asked for\.\s+there are too many pairs", capfd.readouterr().out)
    monkeypatch.setattr(FakeLineage, "changes", {"status": "failed", "error": "UdfFailed: fragile"})
    assert main(["show", "run-1"]) == 0
    out = capfd.readouterr().out
    assert "UdfFailed: fragile" in out
    assert "Stored" not in out
    assert main(["show", "nothing"]) == 2
    capfd.readouterr()


class Terminal:
    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.answer


def test_drop_asks(calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("\n"))
    assert main(["drop", "run-1", "run-2"]) == 1
    assert not named(calls, "drop")
    assert "these 2 runs? [y/N]" in capfd.readouterr().err
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert main(["drop", "run-1", "run-2", "run-1"]) == 0
    assert named(calls, "drop") == [("drop", "run-1"), ("drop", "run-2")]
    assert capfd.readouterr().out == "dropped run-1\ndropped run-2\n"


def test_drop_does_not_guess_an_answer(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["drop", "run-1"]) == 2
    assert "pass --yes" in capfd.readouterr().err
    assert main(["drop", "run-1", "none", "--yes"]) == 2
    assert not named(calls, "drop")
    assert main(["drop", "run-1", "--yes"]) == 0
    assert named(calls, "drop") == [("drop", "run-1")]


@pytest.mark.parametrize("run", ["", "latest", "run-", "None"])
def test_drop_takes_a_whole_id_alone(calls: list[tuple[Any, ...]], run: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["drop", "run-1", run, "--yes"]) == 2
    assert not named(calls, "drop")


def test_an_empty_store_is_not_the_embedded_server(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("airflow_lineage_provider.store.embedded.stop", lambda: pytest.fail("stopped"))
    monkeypatch.setattr("airflow_lineage_provider.store.embedded.ensure_running", lambda: pytest.fail("started"))
    assert main(["store", "stop", "--store", ""]) == 2
    assert main(["list", "--store", " "]) == 1
    assert "URL of the results store is empty" in capfd.readouterr().err


def test_stop_stops_only_the_embedded_server(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("airflow_lineage_provider.store.embedded.stop", lambda: pytest.fail("stopped"))
    assert main(["store", "stop", "--store", "postgresql://x"]) == 2
    assert "only the embedded server" in capfd.readouterr().err


def test_the_roles_are_printed_as_sql(capfd: pytest.CaptureFixture[str]) -> None:
    from airflow_lineage_provider.store import roles_script

    assert main(["store", "grant"]) == 0
    assert capfd.readouterr().out == roles_script()
