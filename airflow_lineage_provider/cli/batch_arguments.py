"""The arguments of the verbs about a stream's batches."""

from __future__ import annotations

import argparse

from airflow_lineage_provider.cli.argument_types import natural
from airflow_lineage_provider.cli.shared_arguments import (
    TARGET_LIMIT,
    difference,
    json,
    max_rows,
    no_across,
    no_save,
    secrets,
    shown,
    spark,
    subqueries,
)


def batches(made: argparse.ArgumentParser) -> None:
    _stream(made)
    made.add_argument("--limit", type=natural, default=20, metavar="N", help="list at most N batches (default: %(default)s)")
    json(made)


def explain_batches(made: argparse.ArgumentParser) -> None:
    _stream(made)
    made.add_argument("target", metavar="TARGET", help="a SQL predicate over the results' columns, or a JSON array of rows")
    made.add_argument(
        "--max-batches", type=natural, default=100, metavar="N",
        help="TARGET may have rows in at most N batches; more are an error (default: %(default)s)",
    )  # fmt: skip
    max_rows(made, f"TARGET may match at most N rows of a batch; more are an error (default: {TARGET_LIMIT})")
    difference(made)
    subqueries(made)
    no_across(made)
    no_save(made)
    secrets(made)
    spark(made)
    shown(made, "rows of each table", 20)


def _stream(made: argparse.ArgumentParser) -> None:
    made.add_argument("stream", metavar="PIPELINE", help="the name of the pipeline that the stream's batches were given to")
    made.add_argument("--query", metavar="ID", help="only batches of the streaming query with this id")
