"""Arguments that several verbs have."""

from __future__ import annotations

import argparse

from airflow_lineage_provider.cli.argument_types import columns, json_or_text, natural, pair
from airflow_lineage_provider.words import Difference, Subqueries, words

TARGET_LIMIT = "AIRFLOW_LINEAGE_TARGET_LIMIT, 10000"


def one_run(made: argparse.ArgumentParser) -> None:
    made.add_argument("run", metavar="RUN", help="the run's id, a beginning of it that no other run has, or latest")
    made.add_argument("--pipeline", metavar="NAME", help="the pipeline that the run is of; with latest, its newest complete run")


def the_pipeline(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "pipeline", metavar="PIPELINE", help="MODULE:FUNCTION or FILE.py:FUNCTION, called with the session and the parameters; or FILE.sql"
    )
    made.add_argument(
        "--param", type=pair(json_or_text), action="append", default=[], metavar="NAME=VALUE",
        help="a parameter of the pipeline: VALUE is JSON, else text (may be repeated)",
    )  # fmt: skip


def keys(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--key", type=pair(columns), action="append", default=[], metavar="TABLE=COLUMN[,COLUMN]",
        help="the primary key of a source table (may be repeated)",
    )  # fmt: skip


def secrets(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--secret-param", dest="secret_params", action="append", default=[], metavar="NAME[=VARIABLE]",
        help="a parameter that is never stored, from an environment variable, or typed unseen; explain and why-not need it again "
        "(may be repeated)",
    )  # fmt: skip


def spark(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("Spark, where it is needed")
    group.add_argument("--master", metavar="URL", help="Spark's master (default: local[*])")
    group.add_argument("--conf", type=pair(str), action="append", default=[], metavar="NAME=VALUE", help="a setting (may be repeated)")
    group.add_argument(
        "--import", dest="imports", action="append", default=[], metavar="MODULE",
        help="import this module, or FILE.py, first: one that declares UDFs (may be repeated)",
    )  # fmt: skip


def max_rows(made: argparse.ArgumentParser, help: str) -> None:
    made.add_argument("--max-rows", type=natural, metavar="N", help=help)
    made.add_argument("--limit", dest="max_rows", type=natural, help=argparse.SUPPRESS)  # its name in the release before


def shown(made: argparse.ArgumentParser, what: str, rows: int, dest: str = "rows") -> argparse._ArgumentGroup:
    """What every answer with rows can be told about showing them."""
    group = made.add_argument_group("what is shown")
    group.add_argument("--rows", dest=dest, type=natural, default=rows, metavar="N", help=f"show at most N {what} (default: %(default)s)")
    for option, told in (("hide", "leave out columns"), ("mask", "show columns without their values")):
        group.add_argument(
            f"--{option}", action="append", default=[], metavar="PATTERN",
            help=f"{told}: NAME or TABLE.NAME, with * and ? (may be repeated)",
        )  # fmt: skip
    json(group)
    return group


def html(group: argparse._ActionsContainer) -> None:
    group.add_argument("--html", metavar="FILE", help="also write the answer as a page")


def json(made: argparse._ActionsContainer) -> None:
    made.add_argument("--json", action="store_true", help="print the answer as JSON")


def yes(made: argparse.ArgumentParser) -> None:
    made.add_argument("--yes", "-y", action="store_true", help="do not ask first")


def subqueries(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--subqueries", default=words(Subqueries)[0], choices=words(Subqueries),
        help="which rows of a subquery (IN, EXISTS) stand behind a row that it let pass: those that matched it, none, or all "
        "(default: %(default)s)",
    )  # fmt: skip


def difference(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--difference", default=words(Difference)[0], choices=words(Difference),
        help="what the right side of EXCEPT, NOT IN and NOT EXISTS is to the rows that passed it: one entry for the whole table (among "
        "rows, nothing), nothing, or all its rows (default: %(default)s)",
    )  # fmt: skip


def no_across(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--no-across", dest="across", action="store_false", help="end at the tables that this run read, even where other runs wrote them"
    )


def no_save(made: argparse.ArgumentParser) -> None:
    made.add_argument("--no-save", dest="save", action="store_false", help="write nothing into the store, not the answer either")
