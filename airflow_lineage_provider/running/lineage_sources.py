"""Rows of lineage that a person gives to a further run as what it reads (Smoke, Sec. 6.4: the answer is the base query of the next)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.errors import InvalidOption, PlanError
from airflow_lineage_provider.recording import RecordedPlan, tables_of
from airflow_lineage_provider.records.run import RowsOfLineage
from airflow_lineage_provider.running.given_pipeline import is_frame
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow_lineage_provider.spark.capturing.lineage_sources import LineageSource

_WORKS = 'give rows of a source table, sources={"loans": run.backward("…", table="loans")}'


def lineage_sources(
    sources: Mapping[str, Any] | None, pipeline: Any, params: Mapping[str, Any], plan_of: Callable[[str], RecordedPlan]
) -> tuple[LineageSource, ...]:
    """The rows of lineage that a pipeline reads, by the names that it reads them under; ``plan_of`` gives the plan of a run that was asked.

    :raises InvalidOption: they cannot be read so; says what can. :raises RunNotComplete: a run that was asked is gone.
    """
    given = sources or {}
    if given and not isinstance(pipeline, str) and is_frame(pipeline):
        raise InvalidOption("sources= is for a SQL text, or a function that takes frames; a DataFrame reads what it reads")
    if twice := sorted(given.keys() & params.keys()):
        raise InvalidOption(f"{twice[0]} is among the sources and among the params: name one of them otherwise")
    for name in given:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidOption(f"sources: {shown(name)} is no name that a pipeline can read: it needs letters, digits and _ alone")
        if isinstance(pipeline, str) and f"{{{name}}}" not in pipeline:
            raise InvalidOption(f"sources has {name}, and the SQL text does not read it: write FROM {{{name}}}")
    return tuple(_source(at, name, rows, plan_of) for at, (name, rows) in enumerate(given.items()))


def _source(at: int, name: str, rows: Any, plan_of: Callable[[str], RecordedPlan]) -> LineageSource:
    from airflow_lineage_provider.spark.capturing.lineage_sources import LineageSource

    if not isinstance(rows, LineageRows):
        raise InvalidOption(f"sources: {name} is {shown(rows)}, and no rows of lineage: {_WORKS}")
    if rows.guarantee.level != "exact":
        raise InvalidOption(f"sources: {name} is {rows.guarantee.level} ({rows.guarantee.cause}): what reads it would be of other rows")
    keys = rows.keys
    if keys is None or rows.table in rows.within:
        what = "a result" if rows.table == "result" else rows.table if rows.within else f"{rows.table}, as another run read it"
        raise InvalidOption(f"sources: {name} is rows of {what}, which no pipeline can read again; {_WORKS}")
    source = tables_of(plan_of(rows.run.id))[rows.table][0]
    if source.identity.kind != "file_position":
        raise InvalidOption(
            f"sources: {name} is rows of {rows.table}, which are known by {source.identity.kind.replace('_', ' ')}, and only rows of "
            "Parquet files can be read as such: write the table as Parquet, and let the first run read that"
        )
    of = RowsOfLineage(run=rows.run.id, table=rows.table, asked=rows.asked, rows=keys.num_rows, stored=f"rows_{at}")
    return LineageSource(name=name, source=source, keys=keys, of=of)


def check_rows_are_read(pipeline: str, given: Sequence[LineageSource], read: Iterable[LineageSource]) -> None:
    """:raises PlanError: the pipeline does not read rows that it is given, or only what it has computed from them on the way."""
    marks = {one.mark for one in read}
    if unread := [one.name for one in given if one.mark not in marks]:
        raise PlanError(
            f"pipeline {pipeline} does not read {unread[0]}, the rows of lineage that it is given: start from the frame that it is called "
            "with"
        )
