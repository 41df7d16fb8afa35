"""Complete batches of a pipeline in groups whose results are asked in one way, and those of a group that have certain rows.

A stream has millions of batches, and few tables and plans: what there is to ask is a question for a table that batches share, and not one
for a batch. Nor is a batch looked at to know the groups: the database keeps of each what it is asked by (migration 0026).

Every function works in a transaction that the caller ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from airflow_lineage_provider.store import materialized, schema
from airflow_lineage_provider.store.layout import MATERIALIZATION
from airflow_lineage_provider.store.materialization import ExecutorUrls, Materialization
from airflow_lineage_provider.store.session import Session
from airflow_lineage_provider.store.sqltext import DATA_SCHEMA, identifier, qualified

RESULT = "result"

FORMS = """
    WITH RECURSIVE forms AS (
        (SELECT b.form, b.query FROM lineage.batches b WHERE b.pipeline = :pipeline ORDER BY b.form, b.query LIMIT 1)
        UNION ALL SELECT later.form, later.query FROM forms f CROSS JOIN LATERAL (
            SELECT b.form, b.query FROM lineage.batches b WHERE b.pipeline = :pipeline AND (b.form, b.query) > (f.form, f.query)
            ORDER BY b.form, b.query LIMIT 1
        ) later
    )"""
"""The forms and queries of a pipeline's batches: a probe of an index for each, and not a look at each batch."""
IS_GROUP = f"f.form NOT IN ({', '.join(map(repr, schema.STATUSES))})"
"""Batches that have no result have their status as their form."""
_AT_END = """(
        SELECT b.run_id FROM lineage.batches b WHERE b.pipeline = :pipeline AND b.form = f.form AND b.query = f.query
        ORDER BY b.batch{way} LIMIT 1
    )"""
_GROUPS = f"""{FORMS}
    SELECT f.form, f.query, oldest.run_id AS first, newest.run_id AS example, coalesce(r.shared_plan, r.id) AS plan, r.segments,
        CASE WHEN m.shared IS NOT NULL THEN m.table_name END AS shared_table
    FROM forms f CROSS JOIN LATERAL {_AT_END.format(way="")} oldest CROSS JOIN LATERAL {_AT_END.format(way=" DESC")} newest
    JOIN lineage.runs r ON r.id = newest.run_id LEFT JOIN lineage.materializations m ON m.run_id = r.id AND m.name = '{RESULT}'
    WHERE {IS_GROUP}"""
_MEMBERS = sa.text("""
    SELECT b.batch, b.run_id FROM lineage.batches b
    WHERE b.pipeline = :pipeline AND b.form = :form AND b.query = :query AND b.batch > :after ORDER BY b.batch LIMIT :most""")
# What is found in the table is found before anything of the catalog is read, whose columns may have the same names.
_WITH_ROWS = """
    SELECT b.batch, b.run_id FROM found JOIN lineage.materializations m ON m.id = found.id JOIN lineage.batches b ON b.run_id = m.run_id
    WHERE b.pipeline = $1 AND b.form = $2 ORDER BY b.batch"""


@dataclass(frozen=True, kw_only=True)
class BatchGroup:
    """Complete batches of one query that have one plan, and results of one form that stand in one place.

    :ivar query: the id of the streaming query.
    :ivar form: a digest of what they have in common, which the database keeps (`lineage.batch_form`).
    :ivar plan: the same where plan and stored columns are.
    :ivar shared_table: the table that has the results of all of them, and perhaps of others; None where each has a place of its own, or
        none.
    :ivar example: one of their runs, and ``result`` its result as it is stored; None where it is not, or was dropped just now.
    """

    pipeline: str
    query: str
    form: str
    plan: tuple[str, str]
    shared_table: str | None
    example: str
    result: Materialization | None


@dataclass(frozen=True, kw_only=True)
class BatchOfGroup:
    """A batch of a group: its number, its run, and its result where that was asked for, and is stored."""

    batch: int
    run_id: str
    result: Materialization | None = None


def groups(connection: sa.Connection, urls: ExecutorUrls, pipeline: str, query: str | None) -> list[BatchGroup]:
    """The groups of a pipeline's complete batches (of one query): those of the query whose first batch is the oldest first."""
    text = f"{_GROUPS}{'' if query is None else ' AND f.query = :query'}"
    given = {"pipeline": schema.safe_text(pipeline)} | ({} if query is None else {"query": query})
    rows = connection.execute(sa.text(text), given).all()
    stored = materialized.stored_named(connection, urls, [row.example for row in rows], RESULT) if rows else []
    results = {one.run_id: one for one in stored}
    oldest: dict[str, str] = {}
    for row in rows:
        oldest[row.query] = min(row.first, oldest.get(row.query, row.first))
    return [
        BatchGroup(
            pipeline=pipeline,
            query=row.query,
            form=row.form,
            plan=(row.plan, row.segments or ""),
            shared_table=row.shared_table,
            example=row.example,
            result=results.get(row.example),
        )
        for row in sorted(rows, key=lambda row: (oldest[row.query], row.query, row.first))
    ]


def members(connection: sa.Connection, urls: ExecutorUrls, group: BatchGroup, after: int, most: int) -> list[BatchOfGroup]:
    """The first batches of a group whose numbers are above ``after``, ascending, and their results."""
    its = {"pipeline": schema.safe_text(group.pipeline), "form": group.form, "query": group.query}
    rows = connection.execute(_MEMBERS, its | {"after": after, "most": most}).all()
    stored = materialized.stored_named(connection, urls, [row.run_id for row in rows], RESULT) if group.result is not None else []
    results = {one.run_id: one for one in stored}
    return [BatchOfGroup(batch=row.batch, run_id=row.run_id, result=results.get(row.run_id)) for row in rows]


def with_rows(session: Session, group: BatchGroup, where: str, most: int | None) -> list[BatchOfGroup]:
    """The first batches of a group that have rows which meet a condition in the table that they share, ascending.

    A batch that was dropped is not among them: the statement sees its rows and that it is complete, or neither.

    :param where: a PostgreSQL condition in which every name and string is quoted already, over the columns of ``group.result``.
    """
    assert group.shared_table is not None
    found = f"SELECT DISTINCT {identifier(MATERIALIZATION)} AS id FROM {qualified(DATA_SCHEMA, group.shared_table)} WHERE {where}"
    limit = "" if most is None else f" LIMIT {int(most)}"
    rows = session.fetch(f"WITH found AS MATERIALIZED ({found}) {_WITH_ROWS}{limit}", values=[schema.safe_text(group.pipeline), group.form])
    return [BatchOfGroup(batch=row["batch"], run_id=row["run_id"]) for row in rows.to_pylist()]
