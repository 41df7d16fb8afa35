"""Complete batches of a pipeline in groups whose results are asked in one way, and those of a group that have certain rows.

A stream has millions of batches, and few tables and plans: what there is to ask is a question for a table that batches share, and not one
for a batch. Every function works in a transaction that the caller ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from airflow_lineage_provider.store import materialized, schema
from airflow_lineage_provider.store.layout import MATERIALIZATION
from airflow_lineage_provider.store.materialization import ExecutorUrls, Materialization
from airflow_lineage_provider.store.session import Session
from airflow_lineage_provider.store.sqltext import DATA_SCHEMA, identifier, qualified

RESULT = "result"

_FORM = {
    "query": "b.query",
    "plan": "coalesce(r.shared_plan, r.id)",  # a run that keeps its plan's text by itself shares it with none
    "segments": "coalesce(r.segments, '')",
    "layout": "coalesce(m.layout, '')",
    "escaped": "coalesce(m.escaped, '')",
    "shared": "CASE WHEN m.shared IS NOT NULL THEN m.table_name ELSE '' END",
    "place": "CASE WHEN m.id IS NULL THEN 'nowhere' WHEN m.folder IS NOT NULL THEN 'files' ELSE 'table' END",
}
"""What the batches of a group have in common: all that a condition over their results is written by, and where these stand."""
_BATCHES = f"""lineage.batches b JOIN lineage.runs r ON r.id = b.run_id
    LEFT JOIN lineage.materializations m ON m.run_id = r.id AND m.name = '{RESULT}'"""
_GROUPS = f"""
    SELECT {", ".join(f"{text} AS {name}" for name, text in _FORM.items())},
        min(r.id COLLATE "C") AS first, max(r.id COLLATE "C") AS example, count(*) AS batches
    FROM {_BATCHES} WHERE b.pipeline = :pipeline AND r.status = 'complete'"""
_OF_GROUP = " AND ".join(["b.pipeline = {pipeline}", "r.status = 'complete'", *(f"{text} = {{{name}}}" for name, text in _FORM.items())])
_NAMES = ("pipeline", *_FORM)
_MEMBERS = sa.text(f"""
    SELECT b.batch, b.run_id FROM {_BATCHES} WHERE {_OF_GROUP.format(**{name: f":{name}" for name in _NAMES})} AND b.batch > :after
    ORDER BY b.batch LIMIT :most""")
# What is found in the table is found before anything of the catalog is read, whose columns may have the same names.
_WITH_ROWS = f"""
    SELECT b.batch, b.run_id FROM found JOIN lineage.materializations m ON m.id = found.id
    JOIN lineage.runs r ON r.id = m.run_id JOIN lineage.batches b ON b.run_id = r.id
    WHERE {_OF_GROUP.format(**{name: f"${at}" for at, name in enumerate(_NAMES, 1)})} ORDER BY b.batch"""


@dataclass(frozen=True, kw_only=True)
class BatchGroup:
    """Complete batches of one query that have one plan, and results of one form that stand in one place.

    :ivar form: what they have in common.
    :ivar batches: how many they are.
    :ivar example: one of their runs, and ``result`` its result as it is stored; None where it is not, or was dropped just now.
    """

    pipeline: str
    form: Mapping[str, str] = field(repr=False)
    batches: int
    example: str
    result: Materialization | None

    @property
    def query(self) -> str:
        """The id of the streaming query."""
        return self.form["query"]

    @property
    def plan(self) -> tuple[str, str]:
        """The same where plan and stored columns are."""
        return self.form["plan"], self.form["segments"]

    @property
    def shared_table(self) -> str | None:
        """The table that has the results of all of them, and perhaps of others; None where each has a place of its own, or none."""
        return self.form["shared"] or None

    @property
    def values(self) -> dict[str, str]:
        """What `_OF_GROUP` is bound to."""
        return {"pipeline": schema.safe_text(self.pipeline), **self.form}


@dataclass(frozen=True, kw_only=True)
class BatchOfGroup:
    """A batch of a group: its number, its run, and its result where that was asked for, and is stored."""

    batch: int
    run_id: str
    result: Materialization | None = None


def groups(connection: sa.Connection, urls: ExecutorUrls, pipeline: str, query: str | None) -> list[BatchGroup]:
    """The groups of a pipeline's complete batches (of one query): those of the query whose first batch is the oldest first."""
    text = f"{_GROUPS}{'' if query is None else ' AND b.query = :query'} GROUP BY {', '.join(_FORM.values())}"
    given = {"pipeline": schema.safe_text(pipeline)} | ({} if query is None else {"query": query})
    rows = connection.execute(sa.text(text), given).mappings().all()
    examples = [row["example"] for row in rows if row["place"] != "nowhere"]
    results = {one.run_id: one for one in materialized.stored_named(connection, urls, examples, RESULT)} if examples else {}
    oldest: dict[str, str] = {}
    for row in rows:
        oldest[row["query"]] = min(row["first"], oldest.get(row["query"], row["first"]))
    return [
        BatchGroup(
            pipeline=pipeline,
            form={name: row[name] for name in _FORM},
            batches=row["batches"],
            example=row["example"],
            result=results.get(row["example"]),
        )
        for row in sorted(rows, key=lambda row: (oldest[row["query"]], row["query"], row["first"]))
    ]


def members(connection: sa.Connection, urls: ExecutorUrls, group: BatchGroup, after: int, most: int) -> list[BatchOfGroup]:
    """The first batches of a group whose numbers are above ``after``, ascending, and their results."""
    rows = connection.execute(_MEMBERS, group.values | {"after": after, "most": most}).all()
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
    rows = session.fetch(f"WITH found AS MATERIALIZED ({found}) {_WITH_ROWS}{limit}", values=[group.values[name] for name in _NAMES])
    return [BatchOfGroup(batch=row["batch"], run_id=row["run_id"]) for row in rows.to_pylist()]
