"""The arguments of ``airflow-lineage``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from airflow_lineage_provider import __version__

DESCRIPTION = "Run PySpark pipelines with lineage, and ask which source rows made a result row and why each model decided as it did."

EPILOG = """\
examples:
  airflow-lineage run examination.py:pipeline --param month=2025-12 --output parquet:/tmp/judged
  airflow-lineage run judged.sql --import udfs.credit --key client=client_id
  airflow-lineage list
  airflow-lineage show latest
  airflow-lineage explain latest "judge = 'Reject'" --html why.html
  airflow-lineage explain 01JG3Q '[{"judge": "Reject"}]' --verify --json
  airflow-lineage explain latest --at 0,3
  airflow-lineage explain-columns latest --column judge
  airflow-lineage why-not latest "client_id = 7" --table loans
"""

# As `tracing.strategies`, `options` and `explanation.Difference` have them: importing those would slow ``--help`` down.
STRATEGIES = ("function_materialization", "rerun", "full_materialization", "auto")
ON_STORE_FAILURE = ("fail", "keep_result")
DIFFERENCES = ("control", "data", "rows")

OLD_NAMES = {"list": "runs", "explain-columns": "columns", "show-derivation": "derivation"}
"""Verbs that had another name in the release before: it works for one release more."""

TARGET_HELP = "a SQL predicate over the result's columns, or a JSON array of rows"


def parser() -> argparse.ArgumentParser:
    """The parser of all verbs. Each sets ``verb``, the function that carries it out."""
    shared = _shared()
    top = argparse.ArgumentParser(
        prog="airflow-lineage",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_shared(top=True)],
    )
    top.add_argument("--version", action="version", version=f"airflow-lineage {__version__}")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", required=True)

    def verb(name: str, help: str, fill: Callable[[argparse.ArgumentParser], None]) -> None:
        made = verbs.add_parser(name, help=help, description=help, parents=[shared])
        made.set_defaults(verb=_late(name), renamed="")
        fill(made)
        if name in OLD_NAMES:
            # Without a help of its own it is in no list.
            old = verbs.add_parser(OLD_NAMES[name], description=f"the old name of {name}: {help}", parents=[shared])
            old.set_defaults(verb=_late(name), renamed=f"{OLD_NAMES[name]} is called {name} now")
            fill(old)

    verb("run", "run a pipeline and record its lineage", _run)
    verb("list", "list recorded runs, newest first", _list)
    verb("show", "show a run: what it stored of each segment, how large that is, and why", _show)
    verb("explain", "say which source rows made rows of a run's result, and why", _explain)
    verb("explain-columns", "say which source columns each column of a run's result is computed from, and which influence it", _columns_of)
    verb("why-not", "say what became of source rows: in the result's lineage, or which operator dropped them, and why", _why_not)
    verb("show-derivation", "show a stored derivation again", _derivation)
    verb("drop", "drop what is stored of runs", _drop)
    verb("store", "look after the results store", _store)
    return top


def _late(name: str) -> Callable[..., int]:
    """The verb's function, imported when it is called: help and wrong arguments cost nothing."""

    def call(*arguments: Any) -> int:
        function = "list_runs" if name == "list" else name.replace("-", "_")  # Python has a list of its own
        return int(getattr(import_module("airflow_lineage_provider.cli.verbs"), function)(*arguments))

    return call


def _shared(*, top: bool = False) -> argparse.ArgumentParser:
    """Options that may stand before or after the verb."""
    made = argparse.ArgumentParser(add_help=False)

    def default(value: Any) -> Any:
        return value if top else argparse.SUPPRESS

    made.add_argument("--store", dest="store_url", metavar="URL", default=default(None),
                      help="the results store's PostgreSQL URL (default: AIRFLOW_LINEAGE_STORE, else the embedded server)")  # fmt: skip
    made.add_argument("--quiet", "-q", action="store_true", default=default(False), help="no progress on standard error")
    made.add_argument("--traceback", action="store_true", default=default(False), help="show where an error came from, and Spark's own log")
    return made


def _run(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "pipeline", metavar="PIPELINE", help="MODULE:FUNCTION or FILE.py:FUNCTION, called with the session and the parameters; or FILE.sql"
    )
    made.add_argument(
        "--param", type=_pair(_json_or_text), action="append", default=[], metavar="NAME=VALUE", help="a parameter: JSON, or else text"
    )
    made.add_argument(
        "--clear-param", action="append", default=[], metavar="NAME",
        help="a parameter that is recorded as it is; of others than dates and truth values the record has a digest",
    )  # fmt: skip
    made.add_argument("--name", help="the pipeline's name (default: the function's or the file's)")
    made.add_argument(
        "--output",
        metavar="PLACE",
        help="where the result is written: PATH, parquet:PATH, csv:PATH or table:NAME, +overwrite or +append at the end",
    )
    made.add_argument(
        "--append-key", metavar="KEY",
        help="with +append: what is appended; another run that appends as this key to the same place replaces these rows",
    )  # fmt: skip
    made.add_argument(
        "--strategy", default=STRATEGIES[0], choices=STRATEGIES,
        help="what is stored: segments with UDFs and the result; nothing; all segments; what is worth it (default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--reasons", default="lazy", choices=("lazy", "eager"), help="explain when asked, or every row at once (default: %(default)s)"
    )
    made.add_argument(
        "--on-store-failure", default="fail", choices=ON_STORE_FAILURE,
        help="what to do about a store that is missing, slow, or dies in the middle: fail, or write the result without lineage "
        "(default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--key",
        type=_pair(_columns),
        action="append",
        default=[],
        metavar="TABLE=COLUMN[,COLUMN]",
        help="the primary key of a source table",
    )
    _spark(made)
    _secret(made)
    made.add_argument("--rows", type=_natural, default=10, metavar="N", help="rows of the result to show (default: %(default)s)")
    _json(made)


def _list(made: argparse.ArgumentParser) -> None:
    made.add_argument("--pipeline", metavar="NAME", help="of this pipeline only")
    made.add_argument("--limit", type=_natural, default=20, metavar="N", help="at most so many (default: %(default)s)")
    _json(made)


def _explain(made: argparse.ArgumentParser) -> None:
    made.add_argument("run", metavar="RUN", help="the run's id, an unambiguous beginning of it, or latest")
    made.add_argument("target", metavar="TARGET", nargs="?", help=TARGET_HELP)
    made.add_argument("--at", metavar="N[,N]", help="in place of a target: rows by their positions in the result, counted from 0")
    made.add_argument("--pipeline", metavar="NAME", help="with latest: of this pipeline")
    _max_rows(made, "the most rows that the target may match; more are an error")
    made.add_argument(
        "--verify", action="store_true", help="run the pipeline over the source rows found and check that it gives the target again"
    )
    made.add_argument(
        "--difference", default="control", choices=DIFFERENCES,
        help="the right side of EXCEPT, NOT IN and NOT EXISTS: one entry for the whole table, left out, or all its rows "
        "(default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--no-across", dest="across", action="store_false", help="end at the tables that this run read, also where other runs wrote them"
    )
    made.add_argument("--no-save", dest="save", action="store_false", help="do not keep the answer, nor anything else, in the store")
    _spark(made)
    _secret(made)
    _shown(made)


def _show(made: argparse.ArgumentParser) -> None:
    made.add_argument("run", metavar="RUN", help="the run's id, an unambiguous beginning of it, or latest")
    made.add_argument("--pipeline", metavar="NAME", help="with latest: of this pipeline")
    _json(made)


def _why_not(made: argparse.ArgumentParser) -> None:
    made.add_argument("run", metavar="RUN", help="the run's id, an unambiguous beginning of it, or latest")
    made.add_argument("rows", metavar="ROWS", nargs="?", help="a SQL predicate over the columns of a source table, or a JSON array of rows")
    made.add_argument("--at", metavar="N[,N]", help="in place of ROWS: rows by their positions in the table, counted from 0")
    made.add_argument("--table", metavar="NAME", help="the source table (default: the one that has all the columns)")
    made.add_argument("--pipeline", metavar="NAME", help="with latest: of this pipeline")
    _max_rows(made, "the most source rows that the question may match; more are an error")
    _spark(made)
    _discretion(made)
    _secret(made)
    made.add_argument("--rows", dest="show_rows", type=_natural, default=20, metavar="N", help="source rows to show (default: %(default)s)")
    _json(made)


def _columns_of(made: argparse.ArgumentParser) -> None:
    made.add_argument("run", metavar="RUN", help="the run's id, an unambiguous beginning of it, or latest")
    made.add_argument("--pipeline", metavar="NAME", help="with latest: of this pipeline")
    made.add_argument("--column", metavar="NAME", help="of this column of the result only")
    _json(made)


def _derivation(made: argparse.ArgumentParser) -> None:
    made.add_argument("id", metavar="DERIVATION", help="the derivation's id")
    _shown(made)


def _drop(made: argparse.ArgumentParser) -> None:
    made.add_argument("runs", metavar="RUN", nargs="+", help="a run's whole id")
    made.add_argument("--yes", "-y", action="store_true", help="do not ask")


def _store(made: argparse.ArgumentParser) -> None:
    made.add_argument("action", choices=("status", "upgrade", "grant", "stop"),
                      help="status: is it there, which version, how large (an embedded server is started); "
                      "upgrade: bring its schema to this release; grant: print the SQL text that makes its roles, and with --apply run it; "
                      "stop: stop the embedded server")  # fmt: skip
    made.add_argument("--apply", action="store_true", help="with grant: run it, as a superuser or as an owner who may create roles")


def _secret(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--secret-param", dest="secret_params", action="append", default=[], metavar="NAME[=VARIABLE]",
        help="a parameter that is never stored, from an environment variable, or typed; a derivation needs it again",
    )  # fmt: skip


def _spark(made: argparse.ArgumentParser) -> None:
    made.add_argument("--master", metavar="URL", help="Spark's master, where Spark is needed (default: local[*])")
    made.add_argument("--conf", type=_pair(str), action="append", default=[], metavar="NAME=VALUE", help="a Spark setting")
    made.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="import a module or FILE.py first: one that declares UDFs",
    )


def _max_rows(made: argparse.ArgumentParser, help: str) -> None:
    made.add_argument("--max-rows", type=_natural, metavar="N", help=help)
    made.add_argument("--limit", dest="max_rows", type=_natural, help=argparse.SUPPRESS)  # its name in the release before


def _shown(made: argparse.ArgumentParser) -> None:
    _discretion(made)
    made.add_argument("--html", metavar="FILE", help="write the explanation as a page, too")
    made.add_argument("--rows", type=_natural, default=20, metavar="N", help="rows of each table to show (default: %(default)s)")
    _json(made)


def _discretion(made: argparse.ArgumentParser) -> None:
    for option, what in (("hide", "columns to leave out"), ("mask", "columns to show without their values")):
        told = f"{what}: NAME or TABLE.NAME, with * and ? (may be repeated)"
        made.add_argument(f"--{option}", action="append", default=[], metavar="PATTERN", help=told)


def _json(made: argparse.ArgumentParser) -> None:
    made.add_argument("--json", action="store_true", help="the answer as JSON")


def _pair(read: Callable[[str], Any]) -> Callable[[str], tuple[str, Any]]:
    def pair(text: str) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
        return name, read(value)

    return pair


def _json_or_text(text: str) -> Any:
    try:
        # NaN is no JSON, and "NaN" may well be somebody's text.
        return json.loads(text, parse_constant=lambda constant: _refuse(constant))
    except ValueError:
        return text


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _columns(text: str) -> tuple[str, ...]:
    columns = tuple(each.strip() for each in text.split(","))
    if not all(columns):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of columns: COLUMN[,COLUMN]")
    return columns


def _natural(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return value
