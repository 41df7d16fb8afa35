"""`backward` and `forward`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_lineage_provider.cli import main
from tests.cli.stand_in import named


def test_backward_shows_every_table_or_one(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["backward", "run-1", "judge = 'Reject'", "--max-rows", "7"]) == 0
    out = capfd.readouterr().out
    assert named(calls, "backward") == [("backward", "run-1", "judge = 'Reject'", None, {"at": None, "max_rows": 7})]
    assert "1 row of client" in out
    assert "1 row of loans" in out
    assert "This is exact." in out
    assert "answered by lazy: duckdb" in out
    assert main(["backward", "run-1", "--at", "0,3", "--table", "loans", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert named(calls, "backward")[-1] == ("backward", "run-1", None, "loans", {"at": "0,3", "max_rows": None})
    assert main(["backward", "run-1", "true", "--of", "segment_1", "--table", "loans"]) == 0
    assert named(calls, "backward")[-1][-1] == {"at": None, "max_rows": None, "of": "segment_1"}
    assert main(["backward", "run-1", "true", "--by-leaf"]) == 0
    assert named(calls, "backward")[-1][-1] == {"at": None, "max_rows": None, "by_leaf": True}
    assert main(["backward", "run-1", "true", "--across"]) == 0
    assert named(calls, "backward")[-1][-1] == {"at": None, "max_rows": None, "across": True}
    assert main(["forward", "run-1", "true", "--table", "loans", "--to", "segment_1"]) == 0
    assert named(calls, "forward")[-1][-1]["to"] == "segment_1"
    assert (document["document"], document["version"], document["remarks"]) == ("airflow_lineage.lineage_rows", 1, [])
    (answer,) = document["answers"]
    assert (answer["table"], answer["rows"]["rows"], answer["links"], answer["run"]["id"]) == (
        "loans",
        [["0002", "Joa"]],
        [[0, 0]],
        "run-1",
    )


def test_forward_across_runs(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["forward", "run-1", "name = 'Joa'", "--table", "client", "--across"]) == 0
    assert named(calls, "forward") == [("forward", "run-1", "name = 'Joa'", "client", True, {"at": None, "max_rows": None})]
    out = capfd.readouterr().out
    assert "1 row of the result of examination, run run-1" in out
    assert "1 row of the result of letters, run run-2" in out
    assert "run run-3 of quarterly, which may have read rows of it, is withheld" in out
    assert main(["forward", "run-1", '[{"id": "0002"}]', "--json", "--across"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert named(calls, "forward")[-1][2] == [{"id": "0002"}]
    assert [one["run"]["pipeline"] for one in document["answers"]] == ["examination", "letters"]
    assert [one["level"] for one in document["remarks"]] == ["unavailable"]
    assert document["answers"][1]["numbers"] == [7]


def test_columns_are_withheld(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["forward", "run-1", "name = 'Joa'", "--hide", "id", "--mask", "name", "--json"]) == 0
    (answer,) = json.loads(capfd.readouterr().out)["answers"]
    assert [one["name"] for one in answer["rows"]["columns"]] == ["name"]
    assert "Joa" not in json.dumps(answer)


def test_linked(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["linked", "run-1", "judge = 'Reject'", "--with", "run-2", "--no-lazy"]) == 0
    assert named(calls, "linked") == [("linked", "run-1", "judge = 'Reject'", "run-2", None, {"at": None, "max_rows": None, "lazy": False})]
    assert "1 row of the result of" in capfd.readouterr().out
    assert main(["linked", "run-1", "--at", "0", "--with", "run-2", "--table", "loans", "--json"]) == 0
    assert named(calls, "linked")[-1] == ("linked", "run-1", None, "run-2", "loans", {"at": "0", "max_rows": None})
    assert json.loads(capfd.readouterr().out)["answers"][0]["table"] == "result"
    assert main(["linked", "run-1", "--at", "0", "--with", "no-run"]) == 2
    assert "there is no run 'no-run'" in capfd.readouterr().err


@pytest.mark.parametrize("verb", [["backward"], ["forward"], ["linked", "--with", "run-2"]])
@pytest.mark.parametrize("rows", [[], ["x = 1", "--at", "0"]])
def test_rows_are_named_in_one_way(
    calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str], verb: list[str], rows: list[str]
) -> None:
    assert main([*verb, "run-1", *rows]) == 2
    assert "name the rows in exactly one way" in capfd.readouterr().err
    assert not named(calls, verb[0])


def test_impact(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["impact", "run-1", "name = 'Joa'", "--table", "client", "--set", "income=30.5", "--set", "name=Bo", "--json"]) == 0
    revised = {"income": 30.5, "name": "Bo"}
    assert named(calls, "impact") == [("impact", "run-1", "name = 'Joa'", "client", revised, {"at": None, "max_rows": None})]
    assert json.loads(capfd.readouterr().out)["revised"] == repr(revised)
    assert main(["impact", "run-1", "name = 'Joa'", "--remove"]) == 0
    assert named(calls, "impact")[-1][4] == []
    assert "would be there instead" in capfd.readouterr().out


@pytest.mark.parametrize("said", [[], ["--remove", "--set", "income=1"]])
def test_impact_says_what_the_rows_would_be(calls: list[tuple[Any, ...]], said: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["impact", "run-1", "name = 'Joa'", *said]) != 0
    assert "say what the rows would be in exactly one way" in capfd.readouterr().err
    assert named(calls, "impact") == []
