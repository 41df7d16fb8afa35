"""The command as a whole: over a real store, in processes of its own, its errors and its help."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from airflow_lineage_provider import __version__
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.cli.arguments import OLD_NAMES, parser
from airflow_lineage_provider.cli.verb_help import VERBS
from airflow_lineage_provider.errors import EmptyTarget, LineageError, RunFailed, RunNotFound

if TYPE_CHECKING:
    from airflow_lineage_provider.store import Store
from tests.cli.stand_in import FakeLineage
from tests.new_process import NewPython


def test_over_a_real_store(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--pipeline", "no such pipeline", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"runs": []}
    assert main(["store", "status"]) == 0
    out = capfd.readouterr()
    assert "PostgreSQL" in out.out
    assert ":***@" in out.out
    assert main(["store", "upgrade"]) == 0
    assert main(["explain", "nothing-like-it", "true"]) == 2
    assert "error: there is no run 'nothing-like-it'" in capfd.readouterr().err


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


def test_help_is_light(new_python: NewPython) -> None:
    code = """
        import sys
        from airflow_lineage_provider.cli import main
        try:
            main(["--help"])
        except SystemExit:
            heavy = {"pyspark", "pandas", "pyarrow", "numpy", "sqlalchemy", "rich", "jinja2"} & set(sys.modules)
            sys.exit(f"imported: {heavy}" if heavy else 0)
    """
    said = new_python(code)
    assert all(verb in said for verb in ("run", "list", "show", "explain", "show-derivation", "drop", "store"))


def test_a_reader_that_leaves_early_is_no_error() -> None:
    code = """
        import sys
        import airflow_lineage_provider.cli.verbs as verbs
        from airflow_lineage_provider.cli import main
        def list_runs(options, out):
            for number in range(20_000):
                out.answer(f"line {number}")
            return 0
        verbs.list_runs = list_runs
        sys.exit(main(["list"]))
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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["runs"], "runs is called list now"),
        (["derivation", "derivation-1"], "derivation is called show-derivation now"),
        (["columns", "no such run"], "columns is called explain-columns now"),
    ],
)
def test_old_verbs_work_and_say_their_new_names(old: list[str], new: str, calls: list[Any], capfd: pytest.CaptureFixture[str]) -> None:
    main(old)
    assert f"{new}; the old name will be gone in the next release" in capfd.readouterr().err
    assert calls
    with pytest.raises(SystemExit):
        main(["--help"])
    assert f"    {old[0]} " not in capfd.readouterr().out


def test_the_shell_completes_verbs_and_options() -> None:
    """As bash calls the command for completions, which come on file descriptor 8."""
    asked = {"_ARGCOMPLETE": "1", "COMP_TYPE": "9", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": "/dev/stdout"}
    for line, wanted in (("airflow-lineage expl", ["explain", "explain-columns"]), ("airflow-lineage explain --max", ["--max-rows"])):
        environment = os.environ | asked | {"COMP_LINE": line, "COMP_POINT": str(len(line))}
        command = [sys.executable, "-m", "airflow_lineage_provider.cli"]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False).stdout.split()
        assert [one for one in found if one in wanted] == wanted, found
        assert "--limit" not in found


@pytest.mark.parametrize("example", [example for told in VERBS.values() for example in told.examples])
def test_the_examples_of_the_help_can_be_given(example: str) -> None:
    words = shlex.split(example.partition(" > ")[0])
    assert words[0] == "airflow-lineage"
    options = parser().parse_args(words[1:])
    assert callable(options.verb)


def verbs() -> dict[str, argparse.ArgumentParser]:
    (found,) = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: made for name, made in found.choices.items() if name not in OLD_NAMES.values()}


def test_every_verb_shows_its_examples() -> None:
    assert set(verbs()) == set(VERBS)
    for name, told in VERBS.items():
        assert all(example.startswith(f"airflow-lineage {name}") and example in verbs()[name].format_help() for example in told.examples)


def test_an_option_says_the_same_of_every_verb_that_has_it() -> None:
    """But for what the verb itself is about: --rows of which table, the most rows of which argument, a --limit of what, --across where."""
    told: dict[str, set[tuple[Any, ...]]] = {}
    for made in verbs().values():
        for action in made._actions:
            for option in action.option_strings if action.help != argparse.SUPPRESS else []:
                told.setdefault(option, set()).add((action.metavar, type(action), action.help))
    assert {option for option, ways in told.items() if len(ways) > 1} == {
        "--rows",
        "--max-rows",
        "--at",
        "--pipeline",
        "--table",
        "--limit",
        "--across",
    }
    assert all(len({(metavar, kind) for metavar, kind, _ in ways}) == 1 for ways in told.values())


def test_what_asks_about_one_run_names_it_in_one_way() -> None:
    asking = [made for made in verbs().values() if any(action.dest == "run" for action in made._actions)]
    assert {made.prog.split()[-1] for made in asking} == {
        "show",
        "explain",
        "why-not",
        "explain-columns",
        "backward",
        "forward",
        "linked",
        "impact",
        "capture",
        "index",
    }
    assert all({"--pipeline", "--json"} <= {option for action in made._actions for option in action.option_strings} for made in asking)
