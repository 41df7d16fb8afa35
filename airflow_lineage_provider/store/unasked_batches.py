"""Batches of a pipeline whose results nobody can look into, by what became of them. It works in a transaction that the caller ends."""

from __future__ import annotations

from itertools import groupby

import sqlalchemy as sa

from airflow_lineage_provider.records.batches import UNASKED, BatchSpan, NotAsked
from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.batch_groups import FORMS, IS_GROUP

SPANS = 20
"""So many spans of batches are told of those that have one status; how many they are is told of all."""
MOST = 10_000
"""So many batches of one status (of a query) are counted: retention leaves millions behind."""

# What is missing below a number was begun without the store's knowledge, or not for this pipeline: Spark counts from 0, without gaps.
_NOT_ASKED = f"""{FORMS}, left_out AS (
        SELECT f.form AS status, f.query, its.batch, its.batch - row_number() OVER (PARTITION BY f.form, f.query ORDER BY its.batch) AS span
        FROM forms f CROSS JOIN LATERAL (
            SELECT b.batch FROM lineage.batches b WHERE b.pipeline = :pipeline AND b.form = f.form AND b.query = f.query
            ORDER BY b.batch LIMIT :most
        ) its WHERE NOT ({IS_GROUP}){{of_query}}
    ), spans AS (
        SELECT status, query, min(batch) AS first, max(batch) AS last FROM left_out GROUP BY status, query, span
        UNION ALL SELECT 'unrecorded', f.query, f.batch - f.gap, f.batch - 1 FROM lineage.batches f
        WHERE f.pipeline = :pipeline AND f.gap > 0{{of_query}}
    ), counted AS (
        SELECT *, sum(last - first + 1) OVER (PARTITION BY status) AS batches,
            row_number() OVER (PARTITION BY status ORDER BY query, first) AS at FROM spans
    ), capped AS (
        SELECT status, bool_or(many >= :most) AS is_more FROM (SELECT status, query, count(*) AS many FROM left_out GROUP BY status, query)
        AS counts GROUP BY status
    )
    SELECT s.status, s.query, s.first, s.last, s.batches, coalesce(c.is_more, false) AS is_more
    FROM counted s LEFT JOIN capped c ON c.status = s.status WHERE s.at <= :spans ORDER BY s.status, s.at"""


def not_asked(connection: sa.Connection, pipeline: str, query: str | None) -> dict[str, NotAsked]:
    """The batches of a pipeline (of one query) that have no result to be looked into, by status in the order of `UNASKED`."""
    text = _NOT_ASKED.format(of_query="" if query is None else " AND f.query = :query")
    given = {"pipeline": schema.safe_text(pipeline), "spans": SPANS, "most": MOST} | ({} if query is None else {"query": query})
    found: dict[str, NotAsked] = {}
    for status, rows in groupby(connection.execute(sa.text(text), given).all(), key=lambda row: row.status):
        its = list(rows)
        spans = tuple(BatchSpan(query=row.query, first=row.first, last=row.last) for row in its)
        found[status] = NotAsked(status=status, count=int(its[0].batches), spans=spans, is_more=its[0].is_more)
    return {status: found[status] for status in UNASKED if status in found}
