"""`batches` and `explain-batches`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_lineage_provider.cli import main
from airflow_lineage_provider.streams import BATCH_LIMIT
from tests.cli.stand_in import named


def test_batches_are_listed_with_their_runs(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["batches", "judge_live", "--query", "q-1", "--limit", "2"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["query", "batch", "run", "pipeline"]
    assert [line.split()[:3] for line in lines if "q-1" in line] == [["q-1", "7", "run-1"], ["q-1", "8", "run-1"]]
    assert main(["batches", "judge_live", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert [(one["query"], one["batch"], one["run"]["id"]) for one in document["batches"]] == [("q-1", 7, "run-1"), ("q-1", 8, "run-1")]
    assert named(calls, "batches") == [("batches", "judge_live", "q-1", 2), ("batches", "judge_live", None, 20)]


def test_batches_are_explained_and_those_that_nobody_can_look_into_are_told(
    calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--query", "q-1", "--max-batches", "5", "--max-rows", "9", "--difference", "data", "--no-across", "--no-save"]
    assert main(["explain-batches", "judge_live", "judge = 'Reject'", *options]) == 0
    out = capfd.readouterr().out
    assert out.index("batch 7 of query q-1") < out.index("Joa") < out.index("batch 8 of query q-1") < out.rindex("Joa")
    assert out.rstrip().endswith("Not looked into, so that rows of theirs are not here: 3 failed (2 to 4)")
    assert main(["explain-batches", "judge_live", '[{"judge": "Reject"}]', "--json", "--mask", "name"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert [(one["query"], one["batch"]) for one in document["batches"]] == [("q-1", 7), ("q-1", 8)]
    assert document["batches"][0]["explanation"]["document"] == "airflow_lineage.explanation"
    assert "Joa" not in json.dumps(document)
    spans = [{"query": "q-1", "first": 2, "last": 4}]
    assert document["not_asked"] == {"failed": {"count": 3, "is_more": False, "spans": spans}}
    given = {
        "query": "q-1",
        "max_batches": 5,
        "max_rows": 9,
        "difference": "data",
        "subqueries": "partners",
        "across": False,
        "save": False,
    }
    usual = {"query": None, "max_batches": BATCH_LIMIT, "max_rows": None, "difference": "control", "across": True, "save": True}
    assert named(calls, "explain_batches") == [
        ("explain_batches", "judge_live", "judge = 'Reject'", given),
        ("explain_batches", "judge_live", [{"judge": "Reject"}], given | usual),
    ]
