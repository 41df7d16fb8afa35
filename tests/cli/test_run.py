"""`run`: pipelines of files, modules and SQL texts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import Capture, CaptureTable
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import StoreUnavailable
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.words import Strategy, words

if TYPE_CHECKING:
    pass
from tests.cli.stand_in import FakeLineage, FakeRun, named


def test_run_a_function_of_a_file(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("cli_exam.py").write_text("def judged(spark, month):\n    return month\n")
    code = main([
        "--store", "postgresql://x", "run", "cli_exam.py:judged", "--param", "month=12", "--param", "id=0002",
        "--param", 'list=["a", 1]', "--param", "odd=NaN", "--output", "parquet:/tmp/x+overwrite", "--reasons", "eager",
        "--key", "client=id,kind", "--index-by", "judge,id", "--index-by", "id", "--master", "local[1]", "--conf", "a.b=c=d",
    ])  # fmt: skip
    out = capfd.readouterr()
    assert code == 0
    (run,) = named(calls, "run")
    assert run[1]("spark", 7) == 7
    assert run[2] == {
        "name": "judged", "params": {"month": 12, "id": "0002", "list": ["a", 1], "odd": "NaN"}, "output": "parquet:/tmp/x+overwrite",
        "strategy": "function_materialization", "reasons": "eager", "keys": {"client": ("id", "kind")}, "index": [("judge", "id"), ("id",)],
        "on_store_failure": "fail", "capture": "lazy",
    }  # fmt: skip
    assert named(calls, "spark") == [("spark", "local[1]", {"a.b": "c=d"})]
    assert ("open", "a session", "postgresql://x") in calls
    assert calls[-3:] == [("close", "run-1"), ("closed",), ("closed",)]
    assert "run-1" in out.out
    assert "Reject" in out.out
    assert "computing …" in out.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--capture", "eager"], "eager"),
        (["--capture-mode", "inject"], Capture(mode="inject")),
        (["--capture", "eager", "--capture-mode", "auto"], Capture(mode="auto")),
        (["--capture-direction", "backward", "--capture-tables", "a"], Capture(direction="backward", tables=("a",))),
        (["--capture-where", "a=x > 1", "--capture", "eager"], Capture(tables={"a": CaptureTable(where="x > 1")})),
    ],
)
def test_when_lineage_is_captured(calls: list[tuple[Any, ...]], options: list[str], expected: Any) -> None:
    Path("captured.sql").write_text("SELECT 1 AS x")
    assert main(["--store", "postgresql://x", "run", "captured.sql", *options]) == 0
    (run,) = named(calls, "run")
    assert run[2]["capture"] == expected


def test_it_is_not_captured_and_captured_so(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("captured.sql").write_text("SELECT 1 AS x")
    assert main(["--store", "postgresql://x", "run", "captured.sql", "--capture", "lazy", "--capture-mode", "auto"]) != 0
    assert "--capture lazy captures nothing" in capfd.readouterr().err
    assert not list(named(calls, "run"))


USED = SketchUse(
    leaf=0, table="orders", column="o_orderkey", state="used", because="sketch of run run-0", sketch="s", run_id="run-0", fragments=41,
    count=10_000, rows=6150, total=1_500_000, bytes=1_300, total_bytes=317_000,
)  # fmt: skip


def test_sketches_are_handed_on_and_shown(
    calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeRun, "sketches", (USED,))
    Path("best.sql").write_text("SELECT 1 AS x")
    on = ["--sketch-on", "orders=o_orderkey", "--sketch-on", "sales=store,day"]
    command = ["run", "best.sql", "--sketches", "eager", *on, "--verify-sketches", "--witness"]
    assert main(command) == 0
    (run,) = named(calls, "run")
    assert {name: run[2][name] for name in ("sketches", "sketch_on", "verify_sketches", "witness")} == {
        "sketches": "eager", "sketch_on": {"orders": "o_orderkey", "sales": "store,day"}, "verify_sketches": True, "witness": True,
    }  # fmt: skip
    assert re.search(r"used +6,150 of 1,500,000 +1.3 kB of 310 kB", capfd.readouterr().out)
    assert main([*command, "--json"]) == 0
    (told,) = json.loads(capfd.readouterr().out)["sketches"]
    assert [told[name] for name in ("state", "rows", "total", "bytes", "total_bytes")] == ["used", 6150, 1_500_000, 1_300, 317_000]
    with pytest.raises(SystemExit):
        main(["run", "best.sql", "--sketches", "always"])
    assert "invalid choice: 'always'" in capfd.readouterr().err


def test_rows_of_lineage_are_found_and_handed_on(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("further.sql").write_text("SELECT * FROM {loans}")
    command = ["run", "further.sql", "--source", "loans", "latest", "judge = 'Reject'"]
    assert main(command) == 0
    (run,) = named(calls, "run")
    assert {name: rows.table for name, rows in run[2]["sources"].items()} == {"loans": "loans"}
    assert named(calls, "backward") == [("backward", "latest", "judge = 'Reject'", "loans", {})]
    assert main([*command, "--source", "loans", "run-2", "true"]) == 2
    assert "--source gives loans more than once" in capfd.readouterr().err
    assert main(["run", "further.sql", "--source", "loans", "nobody", "true"]) == 2


def test_run_a_function_of_a_module_and_a_sql_file(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("cli_pack").mkdir()
    Path("cli_pack/exam.py").write_text("def judged(spark):\n    return 1\n")
    assert main(["run", "cli_pack.exam:judged", "--name", "mine"]) == 0
    Path("judged.sql").write_text("SELECT 1 AS x;\n")
    assert main(["run", "judged.sql"]) == 0
    runs = named(calls, "run")
    assert runs[0][2]["name"] == "mine"
    assert (runs[1][1], runs[1][2]["name"]) == ("SELECT 1 AS x", "judged")
    capfd.readouterr()


@pytest.mark.parametrize("strategy", words(Strategy))
def test_the_strategy_is_passed_on(strategy: Strategy, calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql", "--strategy", strategy]) == 0
    assert named(calls, "run")[0][2]["strategy"] == strategy
    capfd.readouterr()


def test_what_is_appended_is_passed_on(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql", "--output", "/tmp/x+append", "--append-key", "january"]) == 0
    assert named(calls, "run")[0][2]["append_key"] == "january"
    capfd.readouterr()


def test_a_result_that_is_only_where_it_was_written_is_not_computed_again(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeLineage, "changes", {"rows": None, "strategy": "rerun"})
    monkeypatch.setattr(FakeRun, "result_table", None)
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql", "--strategy", "rerun", "--output", "/data/judged"]) == 0
    assert "the result is in /data/judged" in capfd.readouterr().out
    assert main(["run", "judged.sql", "--strategy", "rerun", "--output", "/data/judged", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["result"] is None


def test_a_store_that_is_down_is_found_out_before_spark_starts(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Any, *_: Any, **__: Any) -> None:
        raise StoreUnavailable("the results store does not answer")

    monkeypatch.setattr(FakeLineage, "__init__", refuse)
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql"]) == 1
    assert not named(calls, "spark")
    assert "error: the results store does not answer" in capfd.readouterr().err


def test_what_a_pipeline_prints_does_not_get_into_the_answer(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def noisy(pipeline: Any) -> None:
        print("printed")
        os.write(1, b"written\n")
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)

    monkeypatch.setattr(FakeLineage, "on_run", staticmethod(noisy))
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql", "--json", "--rows", "1"]) == 0
    out = capfd.readouterr()
    document = json.loads(out.out)
    assert document["run"]["id"] == "run-1"
    assert document["result"] == {"columns": [{"name": "judge", "type": "string"}], "rows": [["Accept"]]}
    assert all(text in out.err for text in ("printed", "written", "from a child"))


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nothing", "does not name a pipeline: write MODULE:FUNCTION, FILE.py:FUNCTION or FILE.sql"),
        ("missing.py:judged", "there is no file 'missing.py'"),
        ("missing.sql", "'missing.sql' cannot be read"),
        ("empty.sql", "is empty"),
        ("no_such_module_at_all:judged", "importing 'no_such_module_at_all' failed with ModuleNotFoundError"),
        ("cli_broken.py:judged", "importing 'cli_broken.py' failed with ZeroDivisionError"),
        ("cli_fine.py:other", "'other' of the pipeline 'cli_fine.py:other' does not exist; cli_fine offers judged"),
        ("cli_fine.py:NUMBER", "is not a function"),
        ("json.py:loads", "rename the file"),
    ],
)
def test_a_pipeline_that_is_not_there(
    reference: str, message: str, calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]
) -> None:
    Path("empty.sql").write_text(" ;\n")
    Path("cli_broken.py").write_text("1 / 0\n")
    Path("cli_fine.py").write_text("NUMBER = 1\ndef judged(spark): pass\n")
    Path("json.py").write_text("def loads(spark): pass\n")
    assert main(["run", reference]) == 2
    out = capfd.readouterr()
    assert out.out == ""
    assert out.err.startswith("error: ")
    assert message in out.err
    assert not calls


def test_a_parameter_given_twice(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql", "--param", "a=1", "--param", "a=2"]) == 2
    assert "--param gives a more than once" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required"),
        (["run", "x.sql", "--param", "novalue"], "'novalue' is not NAME=VALUE"),
        (["run", "x.sql", "--key", "t=a,,b"], "not a list of columns"),
        (["explain", "latest", "true", "--rows", "-1"], "not a whole number from 0 up"),
        (["run", "x.sql", "--reasons", "never"], "invalid choice"),
        (["run", "x.sql", "--strategy", "everything"], "invalid choice"),
        (["run", "x.sql", "--on-store-failure", "shrug"], "invalid choice"),
        (["explain", "latest", "true", "--difference", "all"], "invalid choice"),
        (["store", "burn"], "invalid choice"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capfd.readouterr().err
