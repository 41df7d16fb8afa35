"""The arguments of ``airflow-lineage``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from airflow_lineage_provider import __version__
from airflow_lineage_provider.cli import captured_tables
from airflow_lineage_provider.cli.argument_types import columns, json_or_text, natural, pair
from airflow_lineage_provider.cli.batch_arguments import batches, explain_batches
from airflow_lineage_provider.cli.shared_arguments import (
    TARGET_LIMIT,
    difference,
    html,
    json,
    keys,
    max_rows,
    no_across,
    no_save,
    one_run,
    secrets,
    shown,
    spark,
    subqueries,
    the_pipeline,
    yes,
)
from airflow_lineage_provider.cli.verb_help import DESCRIPTION, VERBS, epilog
from airflow_lineage_provider.cli.verb_parser import VerbParser
from airflow_lineage_provider.words import (
    CaptureDirection,
    CaptureMode,
    CaptureWhen,
    OnStoreFailure,
    ProfileMethod,
    ProfileNulls,
    Reasons,
    SketchesWhen,
    Strategy,
    words,
)

OLD_NAMES = {"list": "runs", "explain-columns": "columns", "show-derivation": "derivation"}
"""Verbs that had another name in the release before: it works for one release more."""


def parser() -> argparse.ArgumentParser:
    """The parser of all verbs. Each sets ``verb``, the function that carries it out."""
    plain = argparse.RawDescriptionHelpFormatter
    first = tuple(one.examples[0] for one in VERBS.values())
    top = argparse.ArgumentParser(prog="airflow-lineage", description=DESCRIPTION, epilog=epilog(first), formatter_class=plain)
    top.add_argument("--version", action="version", version=f"airflow-lineage {__version__}", help="show the version, and end")
    _common(top, top=True)
    verbs = top.add_subparsers(
        title="verbs", metavar="VERB", required=True, parser_class=VerbParser, description="airflow-lineage VERB --help tells more of each."
    )
    for name, told in VERBS.items():
        made = verbs.add_parser(name, help=told.does, description=told.does, epilog=epilog(told.examples), formatter_class=plain)
        made.set_defaults(verb=_late(name), renamed="")
        _ARGUMENTS[name](made)
        _common(made)
        if name in OLD_NAMES:
            # Without a help of its own it is in no list.
            old = verbs.add_parser(OLD_NAMES[name], description=f"the old name of {name}: {told.does}")
            old.set_defaults(verb=_late(name), renamed=f"{OLD_NAMES[name]} is called {name} now")
            _ARGUMENTS[name](old)
            _common(old)
    return top


def _late(name: str) -> Callable[..., int]:
    """The verb's function, imported when it is called: help and wrong arguments cost nothing."""

    def call(*arguments: Any) -> int:
        function = "list_runs" if name == "list" else name.replace("-", "_")  # Python has a list of its own
        return int(getattr(import_module("airflow_lineage_provider.cli.verbs"), function)(*arguments))

    return call


def _common(made: argparse.ArgumentParser, *, top: bool = False) -> None:
    """Options that may stand before or after the verb."""
    group = made.add_argument_group("options of every verb")

    def default(value: Any) -> Any:
        return value if top else argparse.SUPPRESS

    group.add_argument("--store", dest="store_url", metavar="URL", default=default(None),
                       help="URL of the results store's PostgreSQL (default: AIRFLOW_LINEAGE_STORE, else the embedded server)")  # fmt: skip
    group.add_argument("--quiet", "-q", action="store_true", default=default(False), help="show no progress on standard error")
    group.add_argument("--traceback", action="store_true", default=default(False), help="show where an error came from, and Spark's log")


def _run(made: argparse.ArgumentParser) -> None:
    the_pipeline(made)
    made.add_argument(
        "--clear-param", action="append", default=[], metavar="NAME",
        help="record this parameter's value as it is; of values other than dates and true or false only a digest is recorded "
        "(may be repeated)",
    )  # fmt: skip
    secrets(made)
    made.add_argument("--name", metavar="NAME", help="the pipeline's name (default: the function's or the file's)")
    made.add_argument(
        "--output", metavar="PLACE",
        help="where to write the result: PATH, parquet:PATH (csv:, json:, orc:), table:NAME or postgresql://…#TABLE; "
        "end it with +overwrite or +append where something may be there, and with +cluster_by:COLUMN,… for files of ranges of columns",
    )  # fmt: skip
    made.add_argument(
        "--append-key", metavar="KEY",
        help="with +append: a name for what is appended; a later run with the same key and place replaces these rows",
    )  # fmt: skip
    keys(made)
    made.add_argument(
        "--index-by", dest="index", type=columns, action="append", default=[], metavar="COLUMN[,COLUMN]",
        help="columns of the result by which its rows are going to be asked for, together (may be repeated)",
    )  # fmt: skip
    made.add_argument(
        "--strategy", default=words(Strategy)[0], choices=words(Strategy),
        help="what to store: segments with UDFs and the result; nothing; every segment; what takes longer to make than to store "
        "(default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--reasons", default=words(Reasons)[0], choices=words(Reasons),
        help="compute reasons when somebody asks, or of every row during the run (default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--capture", choices=words(CaptureWhen),
        help="trace the lineage of the result's rows when somebody asks, or capture it at the end of the run (default: lazy)",
    )  # fmt: skip
    made.add_argument(
        "--capture-mode", choices=words(CaptureMode),
        help="capture the lineage, and find what is behind groups after they are made, while they are made, or as is likely to cost less",
    )  # fmt: skip
    made.add_argument(
        "--capture-direction", choices=words(CaptureDirection),
        help="capture the lineage for questions that go this way (default: both)",
    )  # fmt: skip
    captured_tables.add_to(made, "capture-")
    made.add_argument("--capture-witnesses", action="store_true", help="capture as well which source rows together made each row")
    made.add_argument(
        "--source", nargs=3, action="append", default=[], metavar=("NAME", "RUN", "ROWS"),
        help="let the pipeline read, as {NAME} of its text or as this argument of its function, the rows of the source table NAME that "
        "stand behind rows of a recorded run's result, which a predicate tells (may be repeated)",
    )  # fmt: skip
    made.add_argument(
        "--sketches", default=words(SketchesWhen)[0], choices=words(SketchesWhen),
        help="read sources through provenance sketches that fit, and capture some; run without (default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--sketch-on", type=pair(str), action="append", default=[], metavar="TABLE=COLUMN,…",
        help="the column of a source table that its sketch is to be of, or several together (may be repeated)",
    )  # fmt: skip
    made.add_argument("--verify-sketches", action="store_true", help="compare a result through sketches with the plain one")
    made.add_argument("--witness", action="store_true", help="sketch one row in place of a group with a min or a max alone")
    made.add_argument(
        "--on-store-failure", default=words(OnStoreFailure)[0], choices=words(OnStoreFailure),
        help="if the store is missing, slow, or dies during the run: fail, or make the result without lineage (default: %(default)s)",
    )  # fmt: skip
    spark(made)
    shown(made, "rows of the result", 10)


def _safe(made: argparse.ArgumentParser) -> None:
    the_pipeline(made)
    secrets(made)
    keys(made)
    spark(made)
    json(made)


def _sketches(made: argparse.ArgumentParser) -> None:
    made.add_argument("pipeline", metavar="NAME", nargs="?", help="only sketches of this pipeline's runs")
    made.add_argument("--show", metavar="ID", help="show this sketch, by its whole id: which values are in it, and who has read through it")
    made.add_argument("--drop", metavar="ID", action="append", default=[], help="forget this sketch, by its whole id (may be repeated)")
    made.add_argument(
        "--check", action="store_true", help="look whether the sources of each are still the same, as far as that needs no Spark"
    )
    made.add_argument("--limit", type=natural, default=50, metavar="N", help="list at most N sketches (default: %(default)s)")
    json(made)


def _profile(made: argparse.ArgumentParser) -> None:
    made.add_argument("table", metavar="TABLE", help="a Parquet or CSV file, a folder of Parquet files, or a run: its id, or latest")
    made.add_argument("fds", metavar="FD", nargs="+", help="a functional dependency: 'zip -> city', 'zip, street -> city'")
    made.add_argument("--pipeline", metavar="NAME", help="the pipeline that the run is of; with latest, its newest complete run")
    made.add_argument(
        "--nulls", default=words(ProfileNulls)[0], choices=words(ProfileNulls),
        help="a row with a NULL takes no part, or NULL is a value like others (default: %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--method", default=words(ProfileMethod)[0], choices=words(ProfileMethod),
        help="find violations by counting, by groups' rows, or by what is likely to be quicker (default: %(default)s)",
    )  # fmt: skip
    max_rows(made, "TABLE may have at most N rows; more are an error (default: 10000000)")
    spark(made)
    html(shown(made, "violating values of each dependency", 10))


def _list(made: argparse.ArgumentParser) -> None:
    made.add_argument("--pipeline", metavar="NAME", help="only runs of this pipeline")
    made.add_argument("--limit", type=natural, default=20, metavar="N", help="list at most N runs (default: %(default)s)")
    json(made)


def _explain(made: argparse.ArgumentParser) -> None:
    one_run(made)
    made.add_argument("target", metavar="TARGET", nargs="?", help="a SQL predicate over the result's columns, or a JSON array of rows")
    made.add_argument("--at", metavar="N[,N]", help="in place of TARGET: positions of rows in the result, counted from 0")
    made.add_argument(
        "--since",
        metavar="RUN",
        help="of the rows of TARGET, or of all, those that this earlier run's result has not: new and changed",
    )
    max_rows(made, f"TARGET may match at most N rows; more are an error (default: {TARGET_LIMIT})")
    made.add_argument("--verify", action="store_true", help="run the pipeline over the source rows found, and check that it gives the same")
    difference(made)
    subqueries(made)
    no_across(made)
    no_save(made)
    made.add_argument("--cells", action="store_true", help="show the cells of source rows (pixels, characters) that reasons are about")
    made.add_argument("--letters", action="store_true", help="in place of the answer show the letters of reasons about its decisions")
    _udf_of_letters(made)
    made.add_argument(
        "--stream", metavar="FOLDER",
        help="in place of showing the answer write it into a new folder, some rows at a time, however many there are: a file of Arrow's "
        "for each table; nothing is kept in the store",
    )  # fmt: skip
    secrets(made)
    spark(made)
    html(shown(made, "rows of each table", 20))


def _show(made: argparse.ArgumentParser) -> None:
    one_run(made)
    json(made)


def _dag_plan(made: argparse.ArgumentParser) -> None:
    made.add_argument("dag_id", metavar="DAG", help="the DAG's id")
    made.add_argument("dag_run_id", metavar="DAG_RUN", nargs="?", help="the DAG run's id (default: the newest that has recorded a run)")
    json(made)


def _capture(made: argparse.ArgumentParser) -> None:
    one_run(made)
    made.add_argument(
        "--direction", default=words(CaptureDirection)[0], choices=words(CaptureDirection),
        help="which way it may be asked later: from the result to the sources, from the sources to the result (default: %(default)s)",
    )  # fmt: skip
    captured_tables.add_to(made)
    subqueries(made)
    difference(made)
    made.add_argument("--witnesses", action="store_true", help="keep as well which source rows together made each row (Run.witnesses)")
    made.add_argument("--forget", action="store_true", help="drop what was captured; the lineage is traced again when it is asked for")
    secrets(made)
    spark(made)
    json(made)


def _why_not(made: argparse.ArgumentParser) -> None:
    html(_source_rows(made))
    _save(made)


def _save(made: argparse.ArgumentParser) -> None:
    made.add_argument("--save", action="store_true", help="keep the answer in the store; show-derivation shows it again")


def _source_rows(made: argparse.ArgumentParser, most: str = "100") -> argparse._ArgumentGroup:
    one_run(made)
    made.add_argument("rows", metavar="ROWS", nargs="?", help="a SQL predicate over a source table's columns, or a JSON array of rows")
    made.add_argument("--at", metavar="N[,N]", help="in place of ROWS: positions of rows in the source table, counted from 0")
    made.add_argument("--table", metavar="NAME", help="the source table (default: the one that has all the columns)")
    max_rows(made, f"ROWS may match at most N rows; more are an error (default: {most})")
    secrets(made)
    spark(made)
    return shown(made, "source rows", 20, dest="show_rows")


def _backward(made: argparse.ArgumentParser) -> None:
    one_run(made)
    made.add_argument("rows", metavar="TARGET", nargs="?", help="a SQL predicate over the result's columns, or a JSON array of rows")
    made.add_argument("--at", metavar="N[,N]", help="in place of TARGET: positions of rows in the result, counted from 0")
    made.add_argument("--table", metavar="NAME", help="the source table, or stored segment, whose rows are wanted (default: every source)")
    made.add_argument("--by-leaf", action="store_true", help="tell the places apart at which the run has read a table")
    made.add_argument("--across", action="store_true", help="go on through the runs that wrote what this run read, as explain does")
    made.add_argument("--of", metavar="SEGMENT", help="TARGET says rows of this stored segment (segment_1, say), and not of the result")
    subqueries(made)
    difference(made)
    _rows_of_runs(made)


def _linked(made: argparse.ArgumentParser) -> None:
    one_run(made)
    made.add_argument("rows", metavar="TARGET", nargs="?", help="a SQL predicate over the result's columns, or a JSON array of rows")
    made.add_argument("--at", metavar="N[,N]", help="in place of TARGET: positions of rows in the result, counted from 0")
    made.add_argument("--with", dest="other", metavar="RUN", required=True, help="the other run, whose rows are wanted: its id")
    made.add_argument("--table", metavar="NAME", help="the source table that links them (default: the one that both read in one version)")
    _rows_of_runs(made)


def _rows_of_runs(made: argparse.ArgumentParser) -> None:
    max_rows(made, f"TARGET may match at most N rows; more are an error (default: {TARGET_LIMIT})")
    _no_lazy(made)
    secrets(made)
    spark(made)
    shown(made, "rows of each table", 20, dest="show_rows")


def _forward(made: argparse.ArgumentParser) -> None:
    html(_source_rows(made, TARGET_LIMIT))
    _save(made)
    made.add_argument("--to", metavar="SEGMENT", help="the rows of this stored segment (segment_1, say) are wanted, and not the result's")
    made.add_argument(
        "--across", action="store_true", help="follow them on, into the results of all later recorded runs that read what this run wrote"
    )
    subqueries(made)
    difference(made)
    _no_lazy(made)


def _impact(made: argparse.ArgumentParser) -> None:
    _source_rows(made, TARGET_LIMIT)
    made.add_argument("--set", type=pair(json_or_text), action="append", default=[], metavar="COLUMN=VALUE",
                      help="what each of the rows would have there: VALUE is JSON, else text (may be repeated)")  # fmt: skip
    made.add_argument("--remove", action="store_true", help="in place of --set: the rows would not be there")


def _no_lazy(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--no-lazy", dest="lazy", action="store_false", help="answer from captured lineage alone; what it does not say is an error"
    )


def _brush(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="Parquet files, or folders of them: the rows of one table; with --run also the name of one that the run has read",
    )
    made.add_argument("--view", type=pair(str), action="append", default=[], metavar="NAME=EXPRESSION",
                      help="a view, by an expression of DuckDB's SQL over a row; may be given several times")  # fmt: skip
    made.add_argument("--run", dest="runs", type=pair(str), action="append", default=[], metavar="NAME=RUN",
                      help="a view whose bars are the rows of the result of a recorded run that read these files, by its id")  # fmt: skip
    made.add_argument("--brush", type=pair(json_or_text), action="append", default=[], metavar="NAME=VALUE",
                      help="a value of a view's bars, or a JSON array of them; may be given several times")  # fmt: skip
    max_rows(made, "a page (--html) may have at most N rows; more are an error (default: 1000000)")
    made.add_argument("--bars", type=natural, default=20, metavar="N", help="show at most N bars of each view (default: %(default)s)")
    made.add_argument("--serve", type=natural, nargs="?", const=0, metavar="PORT",
                      help="serve them to a browser on this machine until Ctrl-C, from tables of any size (default: any port)")  # fmt: skip
    spark(made)
    json(made)
    html(made)


def _columns_of(made: argparse.ArgumentParser) -> None:
    one_run(made)
    made.add_argument("--column", metavar="NAME", help="only this column of the result")
    made.add_argument(
        "--across", action="store_true", help="go on into the runs that wrote what this run read, to the tables that no recorded run wrote"
    )
    json(made)


def _derivation(made: argparse.ArgumentParser) -> None:
    made.add_argument("id", metavar="DERIVATION", help="the answer's id, which explain tells, and why-not and forward with --save")
    html(shown(made, "rows of each table", 20))


def _udf_of_letters(made: argparse.ArgumentParser) -> None:
    made.add_argument("--udf", metavar="NAME", help="of letters: whose decisions are meant, where the answer has those of several")


def _letters(made: argparse.ArgumentParser) -> None:
    made.add_argument("id", metavar="DERIVATION", help="the answer's id, which explain tells")
    _udf_of_letters(made)
    made.add_argument(
        "--favourable", action="append", default=[], metavar="VALUE",
        help="a decision that needs no letter (may be repeated; default: what the UDF's author says)",
    )  # fmt: skip
    made.add_argument(
        "--text", type=pair(str), action="append", default=[], metavar="FEATURE=TEXT",
        help="what a person is told where a feature counted against them (may be repeated; default: what the UDF's author says)",
    )  # fmt: skip
    made.add_argument("--most", type=natural, default=4, metavar="N", help="tell the N reasons that counted most (default: %(default)s)")
    html(shown(made, "letters", 20))


def _drop(made: argparse.ArgumentParser) -> None:
    made.add_argument("runs", metavar="RUN", nargs="+", help="a run's whole id; neither a beginning of it nor latest will do")
    yes(made)


def _store(made: argparse.ArgumentParser) -> None:
    made.add_argument("action", choices=("status", "upgrade", "grant", "stop"),
                      help="status: say whether the store answers, its version and size (this starts an embedded server); "
                      "upgrade: bring its schema to this release; grant: print the SQL that makes its roles; "
                      "stop: stop the embedded server")  # fmt: skip
    made.add_argument("--apply", action="store_true", help="with grant: run the SQL, as a superuser or an owner who may create roles")


def _arrays(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "action", choices=("list", "show", "query", "drop"),
        help="list: the newest arrays, those whose names begin with NAME; show: an array and its lineage; query: the cells of the last "
        "array behind, or before, cells of the first, along a path of names; drop: arrays with their lineage",
    )  # fmt: skip
    names = "an array's whole name; with drop, one that ends with / stands for all that begin so"
    made.add_argument("names", metavar="NAME", nargs="*", help=names)
    made.add_argument("--index", metavar="INDEX", help="with query: cells of the first array, as NumPy has them, '0:2, 1', "
                      "labels between quotes: \"0, 'price'\" (default: all)")  # fmt: skip
    made.add_argument("--limit", type=natural, default=50, metavar="N", help="show at most N arrays, or boxes (default: %(default)s)")
    yes(made)
    json(made)


_ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "run": _run, "safe": _safe, "sketches": _sketches, "profile": _profile, "list": _list, "show": _show, "dag-plan": _dag_plan,
    "capture": _capture,
    "index": _show, "explain": _explain, "batches": batches, "explain-batches": explain_batches,
    "explain-columns": _columns_of, "why-not": _why_not, "backward": _backward, "forward": _forward,
    "linked": _linked, "impact": _impact, "show-derivation": _derivation,
    "letters": _letters,
    "drop": _drop, "arrays": _arrays, "store": _store,
    "brush": _brush,
}  # fmt: skip
