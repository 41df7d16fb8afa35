"""Lists of runs as a person looks through them: newest first, narrowed down, page by page, without the runs that are not for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

import sqlalchemy as sa

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.records.run import RunOrigin
from airflow_lineage_provider.store import catalog, schema, shared_tables
from airflow_lineage_provider.store.catalog import Head
from airflow_lineage_provider.store.ids import is_possible
from airflow_lineage_provider.store.sqltext import DATA_SCHEMA

_AT_ONCE = 200
_MOST_LOOKED_AT = 5_000


@dataclass(frozen=True, kw_only=True)
class RunsWanted:
    """Which runs: all fields that are not None must hold.

    :ivar context: keys and values of what was given with the run (`RunHead.airflow`): ``{"dag_id": …, "map_index": -1}``.
    :ivar text: a part of a pipeline's name, of an id, or of the context.
    :ivar before: the id of a run: only older ones.
    """

    pipeline: str | None = None
    status: str | None = None
    context: tuple[tuple[str, object], ...] = ()
    text: str | None = None
    before: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunsFound(Generic[Head]):
    """Runs, newest first. ``last`` is where a further list goes on (`RunsWanted.before`); None: there are no more."""

    runs: tuple[Head, ...]
    last: str | None


def listed(kind: type[Head], connection: sa.Connection, wanted: RunsWanted, permits: Callable[[Head], bool], limit: int) -> RunsFound[Head]:
    """The newest runs that are wanted and permitted. A run whose record cannot be read, so that nobody knows whose it is, is not shown.

    So many runs are looked at for one list, and no more; then the list may be short, and ``last`` says where to go on.
    """
    found: list[Head] = []
    last, looked_at = wanted.before, 0
    while looked_at < _MOST_LOOKED_AT:
        rows = connection.execute(_query(kind, wanted, last).limit(_AT_ONCE)).mappings().all()
        for row in rows:
            run = _readable(kind, row)
            last = row["id"]
            if run is not None and _is_wanted(run, wanted) and permits(run):
                found.append(run)
            if len(found) == limit:
                return RunsFound(runs=tuple(found), last=last)
        looked_at += len(rows)
        if len(rows) < _AT_ONCE:
            return RunsFound(runs=tuple(found), last=None)
    return RunsFound(runs=tuple(found), last=last)


def _readable(kind: type[Head], row: sa.RowMapping) -> Head | None:
    try:
        return catalog.record_of(kind, row)
    except LineageError:
        return None


def _is_wanted(run: RunOrigin, wanted: RunsWanted) -> bool:
    """What SQL cannot say exactly: the context is a text there."""
    given = run.airflow or {}
    return all(given.get(name) == value for name, value in wanted.context)


def _query(kind: type[RunOrigin], wanted: RunsWanted, before: str | None) -> sa.Select[tuple[object, ...]]:
    runs, context = schema.runs.c, sa.type_coerce(schema.runs.c.airflow, sa.Text)
    query = catalog.columns_of(kind)
    if wanted.pipeline is not None and not is_possible(wanted.pipeline):
        return query.where(sa.false())
    query = catalog.newest_first(query, wanted.pipeline)
    if wanted.status is not None:
        query = query.where(runs.status == wanted.status)
    for name, value in wanted.context:
        query = query.where(context.contains(f"{json.dumps(name)}: {json.dumps(value)}", autoescape=True))
    if wanted.text:
        text = schema.safe_text(wanted.text)
        places = (sa.type_coerce(runs.pipeline, sa.Text), runs.id, context)
        query = query.where(sa.or_(*(place.icontains(text, autoescape=True) for place in places)))
    return query if before is None else query.where(before > schema.RUN_IDS)


def stored_bytes(connection: sa.Connection, run_ids: Sequence[str]) -> dict[str, int]:
    """The bytes of what runs stored, by run: tables with their oversized values and indexes, and files."""
    m = schema.materializations
    found: dict[str, int] = {}
    for table in connection.execute(shared_tables.SIZES, {"data": DATA_SCHEMA, "runs": list(run_ids)}):
        found[table.run_id] = found.get(table.run_id, 0) + int(table.bytes)
    for row in connection.execute(sa.select(m.c.run_id, m.c.files).where(m.c.run_id.in_(run_ids), m.c.folder.is_not(None))):
        found[row.run_id] = found.get(row.run_id, 0) + sum((row.files or {}).values())
    return found
