"""`explain`: targets, differences, and when it needs Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.cli import main

if TYPE_CHECKING:
    pass
from tests.cli.stand_in import FakeLineage, named


def test_explain_without_spark(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "latest", "judge = 'Reject'", "--max-rows", "5", "--verify"]) == 0
    assert named(calls, "explain") == [("explain", "latest", "judge = 'Reject'", 5, True, None)]
    assert not named(calls, "spark")
    out = capfd.readouterr()
    assert "1 of 2 result rows asked about: judge = 'Reject'." in out.out
    assert "tracing …" in out.err
    assert "tracing" not in out.out


def test_explain_tells_cells_when_they_are_asked_for(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    for asked in ([], ["--cells"]):
        assert main(["explain", "latest", "true", "--json", *asked]) == 0
        assert json.loads(capfd.readouterr().out).get("cells") == ({} if asked else None)


def test_explain_starts_spark_when_it_must_and_says_so(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The question is asked once, and goes on with the session."""
    monkeypatch.setattr(FakeLineage, "on_explain", staticmethod(lambda _: "client is Parquet"))
    assert main(["explain", "latest", "true", "--json", "--master", "local[3]"]) == 0
    assert [call[-1] for call in named(calls, "explain")] == [None]
    assert named(calls, "goes on with") == [("goes on with", "a session")]
    assert named(calls, "spark") == [("spark", "local[3]", {})]
    out = capfd.readouterr()
    assert json.loads(out.out)["id"] == "derivation-1"
    assert "this answer needs Spark (client is Parquet)" in out.err


def test_differences(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "latest", "true"]) == 0
    assert main(["explain", "latest", "true", "--difference", "rows"]) == 0
    assert named(calls, "difference") == [("difference", "control"), ("difference", "rows")]
    capfd.readouterr()


def test_rows_that_are_new_since_a_run(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "latest", "--since", "run-0"]) == 0
    assert main(["explain", "latest", "true", "--since", "run-0"]) == 0
    assert named(calls, "since") == [("since", "run-0")] * 2
    assert [call[2] for call in named(calls, "explain")] == [None, "true"]
    assert main(["explain", "latest"]) == 2
    assert "in exactly one way" in capfd.readouterr().err


def test_a_target_of_rows(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "explain", "run-1", '[{"judge": "Reject"}]']) == 0
    assert main(["-q", "explain", "run-1", '{"judge": "Reject"}']) == 0
    assert [call[2] for call in named(calls, "explain")] == [[{"judge": "Reject"}]] * 2
    assert capfd.readouterr().err == ""
    for wrong in ("[1]", "[{]"):
        assert main(["explain", "run-1", wrong]) == 2
    assert "not a list of rows" in capfd.readouterr().err


def test_letters_in_place_of_the_answer(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "latest", "true", "--letters", "--udf", "credit_exam", "--json"]) == 2
    assert "udf='credit_exam' decided nothing in this answer" in capfd.readouterr().err
    for wrong, told in (
        (["--udf", "credit_exam"], "with --letters"),
        (["--letters", "--cells"], "give one of them"),
        (["--letters", "--stream", "why"], "--letters is of one as a whole"),
    ):
        assert main(["explain", "latest", "true", *wrong]) == 2
        assert told in capfd.readouterr().err
    assert not Path("why").exists()


def test_a_stream_is_written_into_a_folder(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "latest", "true", "--max-rows", "5", "--stream", "why", "--hide", "name"]) == 0
    options = {"at": None, "max_rows": 5, "difference": "control", "subqueries": "partners", "across": True}
    assert named(calls, "explain_stream") == [("explain_stream", "latest", "true", options)]
    assert not named(calls, "explain")
    out = capfd.readouterr()
    assert "source.client: 2 rows" in out.out
    assert "written to why" in out.out
    contents = json.loads(Path("why/tables.json").read_text())
    assert contents["asked"] == "judge = 'Reject'"
    rows = pa.ipc.open_stream(Path("why", contents["tables"]["source.client"]["file"]).read_bytes()).read_all()
    assert rows.to_pylist() == [{"id": "0002"}] * 2
    assert main(["explain", "latest", "true", "--stream", "why"]) == 2
    assert "folder why is not empty" in capfd.readouterr().err
    assert main(["explain", "latest", "true", "--stream", "other", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["rows"]["target"] == 2
    for other in (["--verify"], ["--html", "why.html"], ["--since", "run-0"], ["--cells"]):
        assert main(["explain", "latest", "true", "--stream", "third", *other]) == 2
        assert f"--stream gives an answer in parts, and {other[0]} is of one as a whole" in capfd.readouterr().err


def test_the_page_is_written_and_said(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["show-derivation", "derivation-1", "--html", "why.html", "--json"]) == 0
    assert "Joa" in Path("why.html").read_text()
    out = capfd.readouterr()
    assert json.loads(out.out)["source"]["client"]["rows"] == [["0002", "Joa"]]
    assert "page written to why.html" in out.err
    assert main(["show-derivation", "derivation-1", "--html", "no/such/folder/why.html"]) == 1
    assert "the page cannot be written to 'no/such/folder/why.html'" in capfd.readouterr().err


def test_columns_are_kept_back(calls: list[tuple[Any, ...]], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "why.html"
    asked = ["explain", "latest", "judge = 'Reject'", "--html", str(page)]
    for options, told in (([], True), (["--hide", "client.*name", "--mask", "id"], False)):
        for form in ([], ["--json"]):
            assert main([*asked, *options, *form]) == 0
            text = capfd.readouterr().out + page.read_text(encoding="utf-8")
            assert ("Joa" in text, "0002" in text) == (told, told)
    assert main(["explain", "latest", "true", "--hide", "*"]) == 0
