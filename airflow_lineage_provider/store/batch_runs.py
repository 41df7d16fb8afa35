"""Which run recorded which batch of a stream. Every function works on a connection whose transaction the caller ends."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from airflow_lineage_provider.errors import BatchError
from airflow_lineage_provider.records.batches import BatchKey, BatchRun, RecordedBatch
from airflow_lineage_provider.store import catalog, schema

_batches = schema.batches
_runs = schema.runs


def find(connection: sa.Connection, key: BatchKey) -> BatchRun | None:
    """The last run of a batch; None where there is none."""
    query = sa.select(_runs.c.id, _runs.c.status, _runs.c.error).join(_batches, _batches.c.run_id == _runs.c.id)
    row = connection.execute(query.where(_is(key))).first()
    return None if row is None else BatchRun(run_id=row.id, status=row.status, error=row.error)


def taken(connection: sa.Connection, key: BatchKey) -> BatchError:
    """What is said of a batch that is another run's."""
    found = find(connection, key)
    other = "another run" if found is None else f"run {found.run_id}, which is {found.status}"
    return BatchError(f"batch {key.batch} of query {key.query} is that of {other}: two drivers run the same query")


def of_pipeline(connection: sa.Connection, pipeline: str, query: str | None, limit: int | None) -> list[RecordedBatch]:
    """The newest batches of a pipeline, of one query where it is given, with their runs at a glance: by query, the one whose first batch is
    the oldest first, then by number."""
    chosen = _batches.c.pipeline == pipeline
    if query is not None:
        chosen &= _batches.c.query == query
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
