"""Runs in the catalog. Every function works on a connection whose transaction the caller ends."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, cast

import sqlalchemy as sa

from airflow_lineage_provider.errors import LineageError, RecordDamaged, RunNotComplete, RunNotFound
from airflow_lineage_provider.records.batches import BatchKey
from airflow_lineage_provider.records.run import RunHead, RunOrigin, RunRecord, RunStatus
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import schema, shared_plans
from airflow_lineage_provider.store.as_stored import row_json
from airflow_lineage_provider.store.ids import is_possible
from airflow_lineage_provider.store.selecting import Select, by_connection
from airflow_lineage_provider.typed_json import read, written

Head = TypeVar("Head", bound=RunOrigin)


@dataclass(frozen=True)
class RunState:
    """How far a run is: what changing it depends on, whatever the rest of its record is like."""

    id: str
    pipeline: str
    status: RunStatus
    error: str | None


BATCH_TAKEN = "LB001"
_BEGIN = sa.text("SELECT lineage.begin_run(:record, :shared, :batch, :again)")
_STATE = sa.select(*(schema.runs.c[one.name] for one in fields(RunState))).where(schema.runs.c.id == sa.bindparam("run"))


def insert_run(connection: sa.Connection, record: RunRecord, batch: BatchKey | None = None, *, again: bool = False) -> None:
    """Enter a run, unless it was entered before, where it is asked for ``again``; by one statement.

    Runs of batches refer to their plan's text, which is kept once; the batch is the run's from then on. Where it is another's that has not
    failed, the database raises `BATCH_TAKEN`.
    """
    values = run_values(record) | {"started": record.started or datetime.now(UTC), "status": "running", "finished": None, "error": None}
    given: dict[str, Any] = {"shared": None, "batch": None, "again": again}
    if batch is not None:
        given |= {"shared": schema.safe_text(record.plan), "batch": row_json(schema.batches, asdict(batch))}
        values |= {"plan": None, "shared_plan": shared_plans.digest(record.plan)}
    connection.execute(_BEGIN, given | {"record": row_json(schema.runs, values)})


def run_values(record: RunRecord) -> dict[str, Any]:
    """The columns of a run's record."""
    documents = written(record)
    return {
        one.name: documents.get(one.name) if one.name in schema.JSON_OF_RUNS else getattr(record, one.name) for one in fields(RunRecord)
    }


def run(connection: sa.Connection, run_id: str) -> RunRecord:
    """One run.

    :raises RunNotFound: there is no such run. :raises RecordDamaged: its record cannot be read.
    """
    return one(RunRecord, connection, run_id)


def head(connection: sa.Connection, run_id: str) -> RunHead:
    """One run at a glance.

    :raises RunNotFound: there is no such run. :raises RecordDamaged: not even that can be read.
    """
    return one(RunHead, connection, run_id)


def one(kind: type[Head], connection: sa.Connection, run_id: str) -> Head:
    """One run, its whole record or at a glance.

    :raises RunNotFound: there is no such run. :raises RecordDamaged: what is asked of it cannot be read.
    """
    check_possible(run_id)
    found = by_id(kind, by_connection(connection), run_id)
    if found is None:
        raise not_found(run_id)
    return found


def by_id(kind: type[Head], select: Select, run_id: str) -> Head | None:
    """One run by its whole id; None where there is none.

    :raises RecordDamaged: its record cannot be read.
    """
    rows = select(_of_id(cast(Hashable, kind)), {"run": run_id}) if is_possible(run_id) else ()
    return record_of(kind, rows[0]) if rows else None


@cache
def _of_id(kind: Any) -> sa.Select[Any]:
    return columns_of(kind).where(schema.runs.c.id == sa.bindparam("run"))


def state(connection: sa.Connection, run_id: str, lock: bool = False) -> RunState:
    """How far a run is, its row locked against loads and other changes on demand.

    :raises RunNotFound: there is no such run.
    """
    check_possible(run_id)
    found = find(connection, run_id, lock)
    if found is None:
        raise not_found(run_id)
    return found


def find(connection: sa.Connection, run_id: str, lock: bool = False) -> RunState | None:
    """How far a run is; None where there is none."""
    row = connection.execute(_STATE.with_for_update() if lock else _STATE, {"run": run_id}).first()
    return None if row is None else RunState(*row)


def check_complete(run: RunState) -> None:
    """Refuse a run that has no result.

    :raises RunNotComplete: it failed, was dropped, or is still going.
    """
    if run.status != "complete":
        cause = f": {run.error}" if run.error else ""
        raise RunNotComplete(f"run {run.id} of pipeline {run.pipeline!r} is {run.status}{cause}")


def check_possible(run_id: str) -> None:
    """:raises RunNotFound: no run can have this id."""
    if not is_possible(run_id):
        raise RunNotFound(f"{shown(run_id)} is no run's id: the id is missing, or is not text that the results store can hold")


def not_found(run_id: str) -> RunNotFound:
    """What is said of a run that there is not."""
    return RunNotFound(f"there is no run {shown(run_id)} in the results store; 'airflow-lineage list' lists those that are there")


def take_running(connection: sa.Connection, run_id: str, wait: bool) -> bool:
    """Lock the row of a run that is running; False when it is not, or (unless it waits) when another transaction holds the row."""
    query = sa.select(schema.runs.c.id).where(schema.runs.c.id == run_id, schema.runs.c.status == "running")
    return connection.execute(query.with_for_update(skip_locked=not wait)).first() is not None


def runs_beginning(connection: sa.Connection, beginning: str, pipeline: str | None, limit: int) -> list[str]:
    """The ids of the first runs whose ids begin like that, ascending."""
    ids = schema.RUN_IDS
    query = sa.select(schema.runs.c.id).where(ids.startswith(beginning, autoescape=True)).order_by(ids).limit(limit)
    return list(connection.execute(query if pipeline is None else query.where(schema.runs.c.pipeline == pipeline)).scalars())


def runs(connection: sa.Connection, pipeline: str | None, limit: int) -> list[RunHead]:
    """The newest runs at a glance, newest first.

    :raises RecordDamaged: one cannot be read.
    """
    return _newest(RunHead, connection, pipeline, limit)


def heads(connection: sa.Connection, run_ids: Sequence[str]) -> list[RunHead]:
    """These runs at a glance, the oldest first; those that there are.

    :raises RecordDamaged: one cannot be read.
    """
    return _all(RunHead, connection, run_ids)


def records(connection: sa.Connection, run_ids: Sequence[str]) -> list[RunRecord]:
    """These runs, the oldest first; those that there are.

    :raises RecordDamaged: the record of one cannot be read.
    """
    return _all(RunRecord, connection, run_ids)


def _all(kind: type[Head], connection: sa.Connection, run_ids: Sequence[str]) -> list[Head]:
    found = connection.execute(columns_of(kind).where(schema.runs.c.id.in_(run_ids)).order_by(schema.RUN_IDS)).mappings()
    return [record_of(kind, row) for row in found]


def latest(connection: sa.Connection, pipeline: str | None) -> RunRecord | None:
    """The newest complete run; None where there is none.

    :raises RecordDamaged: its record cannot be read.
    """
    return next(iter(_newest(RunRecord, connection, pipeline, 1, "complete")), None)


def _newest(kind: type[Head], connection: sa.Connection, pipeline: str | None, limit: int, status: RunStatus | None = None) -> list[Head]:
    if pipeline is not None and not is_possible(pipeline):
        return []
    query = newest_first(columns_of(kind), pipeline).limit(limit)
    if status is not None:
        query = query.where(schema.runs.c.status == status)
    return [record_of(kind, row) for row in connection.execute(query).mappings()]


def newest_first(query: sa.Select[Any], pipeline: str | None) -> sa.Select[Any]:
    """The runs of a query, the newest first; of one pipeline or of all.

    Of one pipeline these are two bounds, and an order by the pipeline too, since no other index than the pipelines' can serve that. With
    ``pipeline = …`` PostgreSQL may read all runs from the newest on until it meets one of that pipeline: 20,000, where it ran long ago.
    """
    if pipeline is None:
        return query.order_by(schema.RUN_IDS.desc())
    its = schema.runs.c.pipeline
    return query.where(its >= pipeline, its <= pipeline).order_by(its.desc(), schema.RUN_IDS.desc())


def columns_of(kind: type[RunOrigin]) -> sa.Select[Any]:
    """The columns of a record; JSON as its text, so that one that is damaged can be told with the run that it is of."""
    columns = schema.runs.c
    special: dict[str, Any] = {name: sa.type_coerce(columns[name], sa.Text).label(name) for name in schema.JSON_OF_RUNS}
    special["plan"] = shared_plans.text_of_run()
    return sa.select(*(special.get(one.name, columns[one.name]) for one in fields(kind)))


def record_of(kind: type[Head], row: Mapping[Any, Any]) -> Head:
    """A row of `columns_of` as a record.

    :raises RecordDamaged: it cannot be read.
    """
    try:
        return read(kind, {one.name: _value(one.name, row[one.name]) for one in fields(kind)})
    except LineageError as problem:
        raise type(problem)(f"the record of run {row['id']} cannot be read: {problem}") from problem


def _value(name: str, stored: Any) -> object:
    if name not in schema.JSON_OF_RUNS or stored is None:
        return stored
    try:
        return json.loads(stored)
    except ValueError as problem:
        raise RecordDamaged(f"{name} is not JSON ({problem})") from problem


def update_run(connection: sa.Connection, run_id: str, **values: Any) -> None:
    """Change fields of a run."""
    connection.execute(schema.runs.update().where(schema.runs.c.id == run_id).values(**values))
