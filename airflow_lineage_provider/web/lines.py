"""The lines of Python and of a shell that ask the same question elsewhere: with Spark, without the tab's bounds, and keeping the answer."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider.render.source_row import RowPlace, column_named
from airflow_lineage_provider.words import QuestionKind


@dataclass(frozen=True)
class Lines:
    """The same question in Python (``lineage`` is a `Lineage`), as a command, where that has a verb for it, and of the derivation DAG."""

    python: str
    command: str | None
    conf: dict[str, Any] | None = None


def explain_lines(run_id: str, where: str | None, positions: Sequence[int]) -> Lines:
    """`Run.explain` about rows that meet a predicate, or stand at positions.

    >>> explain_lines("01a", None, [3]).command
    'airflow-lineage explain 01a --at 3'
    """
    if where is not None:
        python, command, asked = json.dumps(where, ensure_ascii=False), shlex.quote(where), {"target": where}
    else:
        at = ",".join(map(str, positions))
        python, command, asked = f"at={list(positions)}", f"--at {at}", {"at": at}
    conf: dict[str, Any] = {"lineage_run_id": run_id, **asked}
    return Lines(f'lineage.get_run("{run_id}").explain({python})', f"airflow-lineage explain {run_id} {command}", conf)


def letters_lines(explain: Lines, udf: str | None) -> Lines:
    """`Explanation.letters` of what these lines ask.

    >>> letters_lines(explain_lines("01a", "n = 1", ()), "judge").python
    'lineage.get_run("01a").explain("n = 1").letters("judge")'
    """
    python = f"{explain.python}.letters({'' if udf is None else _quoted(udf)})"
    return Lines(python, f"{explain.command} --letters{'' if udf is None else f' --udf {shlex.quote(udf)}'}")


def kept_letters_lines(derivation_id: str, udf: str | None) -> Lines:
    """`Explanation.letters` of a stored answer.

    >>> kept_letters_lines("01b", None).command
    'airflow-lineage letters 01b'
    """
    made = letters_lines(kept_lines(derivation_id), udf)
    command = f"airflow-lineage letters {derivation_id}{'' if udf is None else f' --udf {shlex.quote(udf)}'}"
    return Lines(made.python, command)


def rows_lines(run_id: str, where: str | None = None, sort: Sequence[tuple[str, bool]] = ()) -> Lines:
    """`Run.result_table`, whole, of which the command shows no more than the run; or, as Spark has them, the rows of `Run.result` that
    meet a predicate, in an order (columns, and whether the largest is first), those without a value last.

    >>> rows_lines("01a", "n = 1", [("n", True)]).python
    '(rows := lineage.get_run("01a").result).where("n = 1").orderBy(rows["n"].desc_nulls_last())'
    """
    run = f'lineage.get_run("{run_id}")'
    if where is None and not sort:
        return Lines(f"{run}.result_table()", f"airflow-lineage show {run_id}")
    met = "" if where is None else f".where({_quoted(where)})"
    by = ", ".join(f"rows[{_quoted(column_named(name))}].{'desc' if descending else 'asc'}_nulls_last()" for name, descending in sort)
    return Lines(f"(rows := {run}.result){met}.orderBy({by})" if sort else f"{run}.result{met}", None)


def columns_lines(run_id: str, *, across: bool) -> Lines:
    """`Run.columns`.

    >>> columns_lines("01a", across=True)
    Lines(python='lineage.get_run("01a").columns(across=True)', command='airflow-lineage columns 01a --across', conf=None)
    """
    return Lines(
        f'lineage.get_run("{run_id}").columns({"across=True" if across else ""})',
        f"airflow-lineage columns {run_id}{' --across' if across else ''}",
    )


def picture_lines(dag_id: str, dag_run_id: str) -> Lines:
    """`Lineage.dag_plan`.

    >>> picture_lines("loans", "manual 1").command
    "airflow-lineage dag-plan loans 'manual 1'"
    """
    return Lines(
        f"lineage.dag_plan({_quoted(dag_id)}, {_quoted(dag_run_id)})", f"airflow-lineage dag-plan {shlex.join([dag_id, dag_run_id])}"
    )


def forward_lines(run_id: str, where: str, table: str, *, across: bool = False, place: RowPlace | None = None) -> Lines:
    """`Run.forward` from the rows of a source table that meet a predicate; the DAG keeps the answer. Where the predicate has the values of
    a row that nobody has typed, the DAG is told the row's ``place`` instead.

    >>> forward_lines("01a", "n = 1", "loan", across=True).command
    "airflow-lineage forward 01a 'n = 1' --table loan --across"
    """
    python = f'lineage.get_run("{run_id}").forward({_quoted(where)}, {_quoted(table)}{", across=True" if across else ""})'
    command = f"airflow-lineage forward {run_id} {_rows_of(where, table)}{' --across' if across else ''}"
    return Lines(python, command, _conf("forward", run_id, where, table, place) | {"across": across})


def why_not_lines(run_id: str, where: str, table: str, *, place: RowPlace | None = None) -> Lines:
    """`Run.why_not` about them; ``place`` as of `forward_lines`.

    >>> why_not_lines("01a", "n = 1", "loan").command
    "airflow-lineage why-not 01a 'n = 1' --table loan"
    """
    python = f'lineage.get_run("{run_id}").why_not({_quoted(where)}, table={_quoted(table)})'
    return Lines(python, f"airflow-lineage why-not {run_id} {_rows_of(where, table)}", _conf("why_not", run_id, where, table, place))


def crossfilter_lines(places: Sequence[str], views: Mapping[str, tuple[str | None, str | None]]) -> Lines:
    """`Lineage.crossfilter` over files; each view is an expression, or the id of a run.

    >>> made = crossfilter_lines(["a b.parquet"], {"late": ("delay > 30", None), "by": (None, "01a")})
    >>> made.python
    'lineage.crossfilter(["a b.parquet"], {"late": "delay > 30", "by": lineage.get_run("01a")})'
    >>> made.command
    "airflow-lineage brush 'a b.parquet' --view 'late=delay > 30' --run by=01a --serve"
    """
    told = [
        f"--view {shlex.quote(f'{name}={expression}')}" if run is None else f"--run {shlex.quote(f'{name}={run}')}"
        for name, (expression, run) in views.items()
    ]
    python = f"lineage.crossfilter({json.dumps(list(places), ensure_ascii=False)}, {_views(views)})"
    return Lines(python, f"airflow-lineage brush {shlex.join(places)} {' '.join(told)} --serve")


def crossfilter_lines_of(run_id: str, table: str, views: Mapping[str, tuple[str | None, str | None]]) -> Lines:
    """The same over the source rows that stand behind a run's result, wherever they are.

    >>> crossfilter_lines_of("01a", "loan", {"month": ("month(date)", None)}).python
    'lineage.crossfilter(lineage.get_run("01a").backward("true", "loan"), {"month": "month(date)"})'
    """
    behind = f'lineage.get_run("{run_id}").backward("true", {_quoted(table)})'
    return Lines(f"lineage.crossfilter({behind}, {_views(views)})", None)


def _views(views: Mapping[str, tuple[str | None, str | None]]) -> str:
    told = (
        f"{_quoted(name)}: {_quoted(expression or '') if run is None else f'lineage.get_run({_quoted(run)})'}"
        for name, (expression, run) in views.items()
    )
    return "{" + ", ".join(told) + "}"


def kept_lines(derivation_id: str) -> Lines:
    """`Lineage.answer`: an answer that is kept.

    >>> kept_lines("01a").command
    'airflow-lineage show-derivation 01a'
    """
    return Lines(f'lineage.answer("{derivation_id}")', f"airflow-lineage show-derivation {derivation_id}")


def _conf(question: QuestionKind, run_id: str, where: str, table: str, place: RowPlace | None) -> dict[str, Any]:
    rows = {"target": where} if place is None else {"row": place.told()}
    return {"question": question, "lineage_run_id": run_id, "table": table, **rows}


def _rows_of(where: str, table: str) -> str:
    return f"{shlex.quote(where)} --table {shlex.quote(table)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
