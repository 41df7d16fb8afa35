"""The lines of Python and of a shell that ask the same question elsewhere: with Spark, without the tab's bounds, and keeping the answer."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Lines:
    """The same question in Python (``lineage`` is a `Lineage`), and as a command."""

    python: str
    command: str


def explain_lines(run_id: str, where: str | None, positions: Sequence[int]) -> Lines:
    """`Run.explain` about rows that meet a predicate, or stand at positions.

    >>> explain_lines("01a", None, [3]).command
    'airflow-lineage explain 01a --at 3'
    """
    if where is not None:
        python, command = json.dumps(where, ensure_ascii=False), shlex.quote(where)
    else:
        python, command = f"at={list(positions)}", f"--at {','.join(map(str, positions))}"
    return Lines(f'lineage.get_run("{run_id}").explain({python})', f"airflow-lineage explain {run_id} {command}")


def rows_lines(run_id: str) -> Lines:
    """`Run.result_table`, whole: the command shows no more than runs."""
    return Lines(f'lineage.get_run("{run_id}").result_table()', f"airflow-lineage show {run_id}")
