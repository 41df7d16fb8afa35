"""Lists of stored answers as a person looks through them: those of all runs that are for them, newest first."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.store import catalog, derivations, schema
from airflow_lineage_provider.store.records import DerivationRecord

_AT_ONCE = 200
_MOST_LOOKED_AT = 2_000


@dataclass(frozen=True, kw_only=True)
class AnswersWanted:
    """Which stored answers: all fields that are not None must hold.

    :ivar text: a part of the name of the run's pipeline, DAG or task, or of an id; with ``by_target`` also of what was asked.
    :ivar dag_id: the DAG that made the run which was asked about. :ivar before: the id of an answer: only older ones.
    """

    text: str | None = None
    by_target: bool = False
    dag_id: str | None = None
    before: str | None = None


@dataclass(frozen=True, kw_only=True)
class DerivationsFound:
    """Stored answers with their runs, newest first. ``last`` is where a further list goes on (an id); None: there are no more."""

    found: tuple[tuple[DerivationRecord, RunHead], ...]
    last: str | None


def listed(connection: sa.Connection, wanted: AnswersWanted, permits: Callable[[RunHead], bool], limit: int) -> DerivationsFound:
    """The newest stored answers that are wanted, without their tables.

    So many are looked at for one list, and no more; then the list may be short, and ``last`` says where to go on.
    """
    found: list[tuple[DerivationRecord, RunHead]] = []
    heads: dict[str, RunHead | None] = {}
    last, looked_at = wanted.before, 0
    while looked_at < _MOST_LOOKED_AT:
        rows = connection.execute(_query(wanted, last).limit(_AT_ONCE)).mappings().all()
        for row in rows:
            last = row["id"]
            if row["run_id"] not in heads:
                heads[row["run_id"]] = _head(connection, row["run_id"], permits)
            run = heads[row["run_id"]]
            if run is not None and wanted.dag_id in (None, run.dag_id):
                found.append((derivations.record_of(row), run))
            if len(found) == limit:
                return DerivationsFound(found=tuple(found), last=last)
        looked_at += len(rows)
        if len(rows) < _AT_ONCE:
            return DerivationsFound(found=tuple(found), last=None)
    return DerivationsFound(found=tuple(found), last=last)


def reading(connection: sa.Connection, table: str, limit: int | None) -> list[tuple[str, str]]:
    """The newest answers that have rows of a source table: their ids, and those of their runs."""
    tables, made = schema.derivation_tables.c, schema.derivations
    has_it = sa.exists().where(
        tables.derivation_id == made.c.id, tables.kind == "source", tables.name == f"source:{table}", tables.rows > 0
    )
    query = sa.select(made.c.id, made.c.run_id).where(has_it).order_by(made.c.id.desc()).limit(limit)
    return [(found, run_id) for found, run_id in connection.execute(query)]


def _head(connection: sa.Connection, run_id: str, permits: Callable[[RunHead], bool]) -> RunHead | None:
    """The run of an answer, where it may be shown: not where its record cannot be read, so that nobody knows whose it is."""
    try:
        run: RunHead = catalog.head(connection, run_id)
    except LineageError:
        return None
    return run if permits(run) else None


def _query(wanted: AnswersWanted, before: str | None) -> sa.Select[tuple[object, ...]]:
    made, runs = schema.derivations, schema.runs.c
    query = sa.select(made).join(schema.runs, runs.id == made.c.run_id).order_by(made.c.id.desc())
    context = sa.type_coerce(runs.airflow, sa.Text)
    if wanted.dag_id is not None:  # (what SQL cannot say exactly: the context is a text there)
        query = query.where(context.contains(f'"dag_id": {json.dumps(wanted.dag_id)}', autoescape=True))
    if wanted.text:
        safe = schema.safe_text(wanted.text)
        places = [sa.type_coerce(runs.pipeline, sa.Text), made.c.id, runs.id, context]
        places += [sa.type_coerce(made.c.target, sa.Text)] if wanted.by_target else []
        query = query.where(sa.or_(*(place.icontains(safe, autoescape=True) for place in places)))
    return query if before is None else query.where(made.c.id < before)
