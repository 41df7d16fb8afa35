"""Which run recorded which batch of a stream. Every function works on a connection whose transaction the caller ends."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.errors import BatchError
from airflow_lineage_provider.records.batches import BatchKey, BatchRun, RecordedBatch
from airflow_lineage_provider.records.run import RunStatus
from airflow_lineage_provider.store import catalog, schema

_batches = schema.batches
_runs = schema.runs
# (As text: of another table SQLAlchemy leaves out the schema here.)
_HAS_FAILED = sa.text(f"EXISTS (SELECT FROM {_runs.fullname} known WHERE known.id = batches.run_id AND known.status = 'failed')")


def find(connection: sa.Connection, key: BatchKey) -> BatchRun | None:
    """The last run of a batch; None where there is none."""
    query = sa.select(_runs.c.id, _runs.c.status, _runs.c.error).join(_batches, _batches.c.run_id == _runs.c.id)
    row = connection.execute(query.where(_is(key))).first()
    return None if row is None else BatchRun(run_id=row.id, status=row.status, error=row.error)


def claim(connection: sa.Connection, key: BatchKey, run_id: str) -> None:
    """Make a run the one of a batch: the first, or one after a run that failed. Two that claim it at once wait for each other.

    :raises BatchError: another run has recorded the batch, or is doing so.
    """
    entered = insert(_batches).values(pipeline=key.pipeline, query=key.query, batch=key.batch, run_id=run_id)
    keys = [_batches.c.pipeline, _batches.c.query, _batches.c.batch]
    done = connection.execute(entered.on_conflict_do_update(index_elements=keys, set_={"run_id": run_id}, where=_HAS_FAILED))
    if not done.rowcount:
        found = find(connection, key)
        other = "another run" if found is None else f"run {found.run_id}, which is {found.status}"
        raise BatchError(f"batch {key.batch} of query {key.query} is that of {other}: two drivers run the same query")


def of_pipeline(
    connection: sa.Connection, pipeline: str, query: str | None, status: RunStatus | None, limit: int | None
) -> list[RecordedBatch]:
    """The newest batches of a pipeline, of one query where it is given, and with their runs at a glance: by query, the one whose first
    batch is the oldest first, then by number."""
    chosen = _batches.c.pipeline == pipeline
    if query is not None:
        chosen &= _batches.c.query == query
    if status is not None:
        chosen &= _batches.c.run_id.in_(sa.select(_runs.c.id).where(_runs.c.status == status))
    newest = sa.select(_batches).where(chosen).order_by(_batches.c.run_id.collate("C").desc()).limit(limit)
    rows = {row.run_id: (row.query, row.batch) for row in connection.execute(newest)}
    heads = catalog.heads(connection, list(rows))
    found = [RecordedBatch(query=rows[one.id][0], batch=rows[one.id][1], head=one) for one in heads]
    return _ordered(found)


def _ordered(found: Sequence[RecordedBatch]) -> list[RecordedBatch]:
    first: dict[str, str] = {}
    for one in found:
        first[one.query] = min(one.head.id, first.get(one.query, one.head.id))
    return sorted(found, key=lambda one: (first[one.query], one.query, one.batch))


def _is(key: BatchKey) -> sa.ColumnElement[bool]:
    return (_batches.c.pipeline == key.pipeline) & (_batches.c.query == key.query) & (_batches.c.batch == key.batch)
