"""The console command, over a small stand-in for the facade, and once over a real store."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import pyarrow as pa
import pytest

from airflow_lineage_provider import __version__
from airflow_lineage_provider.cli import arguments, main
from airflow_lineage_provider.errors import EmptyTarget, LineageError, RunFailed, RunNotFound, SparkRequired, StoreUnavailable
from airflow_lineage_provider.explanation import EXACT, Difference, Explanation, RunSummary
from airflow_lineage_provider.storage import SegmentNotStored, StoredTable
from airflow_lineage_provider.tracing.strategies import STRATEGIES

if TYPE_CHECKING:
    from airflow_lineage_provider.store import Store

SUMMARY = RunSummary(
    id="run-1", pipeline="examination", status="complete", started="2025-12-31T06:00:00+00:00", seconds=1.5,
    strategy="function_materialization", reasons="lazy", rows=2, error="",
)  # fmt: skip


def explanation() -> Explanation:
    client = pa.table({"id": ["0002"], "name": ["Joa"]})
    return Explanation(
        id="derivation-1", run=SUMMARY, asked="judge = 'Reject'", target=pa.table({"judge": ["Reject"]}), result_rows=2,
        source={"client": client}, reasons={}, links={}, guarantees={"client": EXACT},
    )  # fmt: skip


class FakeRun:
    def __init__(self, lineage: FakeLineage, run_id: str) -> None:
        self.lineage = lineage
        self.id = run_id
        self.summary = RunSummary(**{**vars(SUMMARY), "id": run_id, **FakeLineage.changes})

    stored: ClassVar[tuple[StoredTable, ...]] = (
        StoredTable(
            segment=0,
            kind="non_d",
            name="result",
            operator="φ credit_exam(income) → judge",
            rows=2,
            bytes=16384,
            because="it is the result",
        ),
    )
    not_stored: ClassVar[tuple[SegmentNotStored, ...]] = (SegmentNotStored(segment=1, kind="d", operator="▷ (id = id_2)", because=""),)

    def result_table(self, limit: int | None = None) -> pa.Table:
        return pa.table({"judge": ["Accept", "Reject"]}).slice(0, limit)

    def explain(
        self,
        target: Any,
        *,
        limit: int | None = None,
        verify: bool = False,
        difference: str = "control",
        across: bool = True,
        save: bool = True,
        progress: Any = None,
    ) -> Explanation:
        FakeLineage.calls.append(("explain", self.id, target, limit, verify, self.lineage.spark))
        FakeLineage.calls.append(("difference", difference))
        progress("tracing")
        FakeLineage.on_explain(self.lineage.spark)
        return explanation()

    def close(self) -> None:
        FakeLineage.calls.append(("close", self.id))


class FakeLineage:
    """The facade's calls, recorded."""

    calls: ClassVar[list[tuple[Any, ...]]] = []
    changes: ClassVar[dict[str, Any]] = {}
    on_explain: ClassVar[Any]
    on_run: ClassVar[Any]

    def __init__(self, spark: Any = None, *, store: str | None = None) -> None:
        self.spark = spark
        self.calls.append(("open", spark, store))

    def __enter__(self) -> FakeLineage:
        return self

    def __exit__(self, *_: object) -> None:
        self.calls.append(("closed",))

    def run(self, pipeline: Any, *, progress: Any, **options: Any) -> FakeRun:
        progress("computing")
        self.calls.append(("run", pipeline, options))
        type(self).on_run(pipeline)
        return FakeRun(self, "run-1")

    def runs(self, pipeline: str | None = None, limit: int = 50) -> list[RunSummary]:
        self.calls.append(("runs", pipeline, limit))
        return [SUMMARY][:limit]

    def get(self, run_id: str = "latest", pipeline: str | None = None) -> FakeRun:
        if run_id.startswith("no"):
            raise RunNotFound(f"there is no run {run_id!r}")
        return FakeRun(self, run_id)

    def derivation(self, derivation_id: str) -> Explanation:
        self.calls.append(("derivation", derivation_id))
        return explanation()

    def drop(self, run_id: str) -> None:
        self.calls.append(("drop", run_id))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[tuple[Any, ...]]]:
    """The command over the stand-in, in an empty folder; the calls of the facade are recorded."""

    @contextmanager
    def session(master: str | None, conf: Any, out: Any) -> Iterator[str]:
        FakeLineage.calls.append(("spark", master, dict(conf)))
        yield "a session"

    FakeLineage.calls.clear()
    monkeypatch.setattr(FakeLineage, "on_explain", staticmethod(lambda spark: None), raising=False)
    monkeypatch.setattr(FakeLineage, "on_run", staticmethod(lambda pipeline: None), raising=False)
    monkeypatch.setattr("airflow_lineage_provider.pipeline.Lineage", FakeLineage)
    monkeypatch.setattr("airflow_lineage_provider.cli.verbs.spark_session", session)
    monkeypatch.setattr("airflow_lineage_provider.cli.verbs.register_udfs", lambda spark: None)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    before = set(sys.modules)
    yield FakeLineage.calls
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def named(calls: list[tuple[Any, ...]], name: str) -> list[tuple[Any, ...]]:
    return [call for call in calls if call[0] == name]


# --- run ----------------------------------------------------------------------------------------------------------------


def test_run_a_function_of_a_file(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("cli_exam.py").write_text("def judged(spark, month):\n    return month\n")
    code = main([
        "--store", "postgresql://x", "run", "cli_exam.py:judged", "--param", "month=12", "--param", "id=0002",
        "--param", 'list=["a", 1]', "--param", "odd=NaN", "--output", "parquet:/tmp/x+overwrite", "--reasons", "eager",
        "--key", "client=id,kind", "--master", "local[1]", "--conf", "a.b=c=d",
    ])  # fmt: skip
    out = capfd.readouterr()
    assert code == 0
    (run,) = named(calls, "run")
    assert run[1]("spark", 7) == 7
    assert run[2] == {
        "name": "judged", "params": {"month": 12, "id": "0002", "list": ["a", 1], "odd": "NaN"}, "output": "parquet:/tmp/x+overwrite",
        "strategy": "function_materialization", "reasons": "eager", "keys": {"client": ("id", "kind")},
    }  # fmt: skip
    assert named(calls, "spark") == [("spark", "local[1]", {"a.b": "c=d"})]
    assert ("open", "a session", "postgresql://x") in calls
    assert calls[-3:] == [("close", "run-1"), ("closed",), ("closed",)]
    assert "run-1" in out.out
    assert "Reject" in out.out
    assert "computing …" in out.err


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


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_strategy_is_passed_on(strategy: str, calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    Path("judged.sql").write_text("SELECT 1")
    assert main(["run", "judged.sql", "--strategy", strategy]) == 0
    assert named(calls, "run")[0][2]["strategy"] == strategy
    capfd.readouterr()


def test_the_words_are_those_of_the_facade() -> None:
    assert arguments.STRATEGIES == STRATEGIES
    assert get_args(Difference) == arguments.DIFFERENCES


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
        ("nothing", "names no pipeline: write MODULE:FUNCTION, FILE.py:FUNCTION or FILE.sql"),
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
        (["explain", "latest", "true", "--difference", "all"], "invalid choice"),
        (["store", "burn"], "invalid choice"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capfd.readouterr().err


# --- explain ------------------------------------------------------------------------------------------------------------


def test_explain_without_spark(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "latest", "judge = 'Reject'", "--limit", "5", "--verify"]) == 0
    assert named(calls, "explain") == [("explain", "latest", "judge = 'Reject'", 5, True, None)]
    assert not named(calls, "spark")
    out = capfd.readouterr()
    assert "1 of 2 result rows asked about: judge = 'Reject'." in out.out
    assert "tracing …" in out.err
    assert "tracing" not in out.out


def test_explain_starts_spark_when_it_must_and_says_so(
    calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def need(spark: Any) -> None:
        if spark is None:
            raise SparkRequired("client is Parquet")

    monkeypatch.setattr(FakeLineage, "on_explain", staticmethod(need))
    assert main(["explain", "latest", "true", "--json", "--master", "local[3]"]) == 0
    assert [call[-1] for call in named(calls, "explain")] == [None, "a session"]
    assert named(calls, "spark") == [("spark", "local[3]", {})]
    out = capfd.readouterr()
    assert json.loads(out.out)["id"] == "derivation-1"
    assert "this answer needs Spark (client is Parquet)" in out.err


def test_differences(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "latest", "true"]) == 0
    assert main(["explain", "latest", "true", "--difference", "rows"]) == 0
    assert named(calls, "difference") == [("difference", "control"), ("difference", "rows")]
    capfd.readouterr()


def test_a_target_of_rows(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "explain", "run-1", '[{"judge": "Reject"}]']) == 0
    assert main(["-q", "explain", "run-1", '{"judge": "Reject"}']) == 0
    assert [call[2] for call in named(calls, "explain")] == [[{"judge": "Reject"}]] * 2
    assert capfd.readouterr().err == ""
    for wrong in ("[1]", "[{]"):
        assert main(["explain", "run-1", wrong]) == 2
    assert "not a list of rows" in capfd.readouterr().err


def test_the_page_is_written_and_said(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["derivation", "derivation-1", "--html", "why.html", "--json"]) == 0
    assert "Joa" in Path("why.html").read_text()
    out = capfd.readouterr()
    assert json.loads(out.out)["source"]["client"]["rows"] == [["0002", "Joa"]]
    assert "page written to why.html" in out.err
    assert main(["derivation", "derivation-1", "--html", "no/such/folder/why.html"]) == 1
    assert "the page cannot be written to 'no/such/folder/why.html'" in capfd.readouterr().err


def test_runs(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--pipeline", "examination", "--limit", "3"]) == 0
    assert named(calls, "runs") == [("runs", "examination", 3)]
    assert "examination" in capfd.readouterr().out
    assert main(["runs", "--json", "--store", "postgresql://after-the-verb"]) == 0
    assert json.loads(capfd.readouterr().out)["runs"][0]["seconds"] == 1.5
    assert named(calls, "open")[-1] == ("open", None, "postgresql://after-the-verb")


def test_runs_show_their_strategy(calls: list[tuple[Any, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
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
    monkeypatch.setattr(FakeLineage, "changes", {"status": "failed", "error": "UdfFailed: fragile"})
    assert main(["show", "run-1"]) == 0
    out = capfd.readouterr().out
    assert "UdfFailed: fragile" in out
    assert "Stored" not in out
    assert main(["show", "nothing"]) == 2
    capfd.readouterr()


# --- drop, store --------------------------------------------------------------------------------------------------------


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


def test_stop_stops_only_the_embedded_server(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("airflow_lineage_provider.store.embedded.stop", lambda: pytest.fail("stopped"))
    assert main(["store", "stop", "--store", "postgresql://x"]) == 2
    assert "only the embedded server" in capfd.readouterr().err


def test_over_a_real_store(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--pipeline", "no such pipeline", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"runs": []}
    assert main(["store", "status"]) == 0
    out = capfd.readouterr()
    assert "PostgreSQL" in out.out
    assert ":***@" in out.out
    assert main(["store", "upgrade"]) == 0
    assert main(["explain", "nothing-like-it", "true"]) == 2
    assert "error: there is no run 'nothing-like-it'" in capfd.readouterr().err


# --- errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (EmptyTarget("no row matches"), 2, "error: no row matches"),
        (RunNotFound("no such run"), 2, "error: no such run"),
        (RunFailed("the pipeline failed"), 1, "error: the pipeline failed"),
        (LineageError(""), 1, "error: LineageError"),
        (ValueError("first\nsecond"), 1, "error: ValueError: first (--traceback shows where)"),
        (LineageError("\x1b[31mred"), 1, "error: \\x1b[31mred"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_are_one_line(
    error: BaseException,
    code: int,
    line: str,
    calls: list[tuple[Any, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail(spark: Any) -> None:
        raise error

    monkeypatch.setattr(FakeLineage, "on_explain", staticmethod(fail))
    assert main(["-q", "explain", "latest", "true"]) == code
    out = capfd.readouterr()
    assert (out.out, out.err) == ("", f"{line}\n")


def test_traceback_on_demand(calls: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(spark: Any) -> None:
        raise RunFailed("the pipeline failed")

    monkeypatch.setattr(FakeLineage, "on_explain", staticmethod(fail))
    with pytest.raises(RunFailed):
        main(["explain", "latest", "true", "--traceback"])


# --- the process --------------------------------------------------------------------------------------------------------


def test_help_is_light() -> None:
    code = """
        import sys
        from airflow_lineage_provider.cli import main
        try:
            main(["--help"])
        except SystemExit:
            heavy = {"pyspark", "pandas", "pyarrow", "numpy", "sqlalchemy", "rich", "jinja2"} & set(sys.modules)
            sys.exit(f"imported: {heavy}" if heavy else 0)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(verb in done.stdout for verb in ("run", "runs", "show", "explain", "derivation", "drop", "store"))


def test_a_reader_that_leaves_early_is_no_error() -> None:
    code = """
        import sys
        import airflow_lineage_provider.cli.verbs as verbs
        from airflow_lineage_provider.cli import main
        def runs(options, out):
            for number in range(20_000):
                out.answer(f"line {number}")
            return 0
        verbs.runs = runs
        sys.exit(main(["runs"]))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"line 0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 141


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capfd.readouterr().out == f"airflow-lineage {__version__}\n"


def test_explaining_within_one_run() -> None:
    from airflow_lineage_provider.cli.arguments import parser

    asked = ["explain", "latest", "true"]
    assert [parser().parse_args([*asked, *more]).across for more in ([], ["--no-across"])] == [True, False]
