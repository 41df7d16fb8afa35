"""Batches of a pipeline whose results nobody can look into, by what became of them. It works in a transaction that the caller ends."""

from __future__ import annotations

from itertools import groupby

import sqlalchemy as sa

from airflow_lineage_provider.records.batches import UNASKED, BatchSpan, NotAsked
from airflow_lineage_provider.store import schema

SPANS = 20
"""So many spans of batches are told of those that have one status; how many they are is told of all."""

# What is missing below a number was begun without the store's knowledge, or not for this pipeline: Spark counts from 0, without gaps.
_NOT_ASKED = """
    WITH known AS (
        SELECT b.query, b.batch, r.status, lag(b.batch, 1, CAST(-1 AS bigint)) OVER (PARTITION BY b.query ORDER BY b.batch) AS before
        FROM lineage.batches b JOIN lineage.runs r ON r.id = b.run_id WHERE b.pipeline = :pipeline{of_query}
    ), left_out AS (
        SELECT query, status, batch, batch - row_number() OVER (PARTITION BY status, query ORDER BY batch) AS span
        FROM known WHERE status <> 'complete'
    ), spans AS (
        SELECT status, query, min(batch) AS first, max(batch) AS last FROM left_out GROUP BY status, query, span
        UNION ALL SELECT 'unrecorded', query, before + 1, batch - 1 FROM known WHERE batch - before > 1
    ), counted AS (
        SELECT *, sum(last - first + 1) OVER (PARTITION BY status) AS batches,
            row_number() OVER (PARTITION BY status ORDER BY query, first) AS at FROM spans
    )
    SELECT status, query, first, last, batches FROM counted WHERE at <= :spans ORDER BY status, at"""


def not_asked(connection: sa.Connection, pipeline: str, query: str | None) -> dict[str, NotAsked]:
    """The batches of a pipeline (of one query) that have no result to be looked into, by status in the order of `UNASKED`."""
    text = _NOT_ASKED.format(of_query="" if query is None else " AND b.query = :query")
    given = {"pipeline": schema.safe_text(pipeline), "spans": SPANS} | ({} if query is None else {"query": query})
    found: dict[str, NotAsked] = {}
    for status, rows in groupby(connection.execute(sa.text(text), given).all(), key=lambda row: row.status):
        its = list(rows)
        spans = tuple(BatchSpan(query=row.query, first=row.first, last=row.last) for row in its)
        found[status] = NotAsked(status=status, count=int(its[0].batches), spans=spans)
    return {status: found[status] for status in UNASKED if status in found}
