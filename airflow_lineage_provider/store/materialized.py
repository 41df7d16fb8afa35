"""Materializations in the catalog, and their tables. Every function works on a connection whose transaction the caller ends."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.store import captured, catalog, discarded, kept_sketches, schema, shared_tables, sketch_runs
from airflow_lineage_provider.store.as_stored import row_json
from airflow_lineage_provider.store.kinds import KINDS, Kind
from airflow_lineage_provider.store.layout import Column, Layout, cut, make_layout
from airflow_lineage_provider.store.load import NewTable
from airflow_lineage_provider.store.materialization import ExecutorUrls, Materialization
from airflow_lineage_provider.store.selecting import Select, by_connection
from airflow_lineage_provider.store.sqltext import DATA_SCHEMA, literal, qualified
from airflow_lineage_provider.store.textescape import escape

_STORED = (
    sa.select(schema.materializations).where(schema.materializations.c.run_id == sa.bindparam("run")).order_by(schema.materializations.c.id)
)

_OF_RUN = (
    sa.select(*(schema.runs.c[name] for name in ("pipeline", "status", "error")), *schema.materializations.c)
    .select_from(schema.runs.outerjoin(schema.materializations))
    .where(schema.runs.c.id == sa.bindparam("run"))
    .order_by(schema.materializations.c.id)
)
"""How far a run is, and what it stored: one row, without an id, of a run that stored nothing."""


_PARTITIONS = (
    sa.select(schema.loads.c.partition, schema.loads.c.rows)
    .where(
        schema.loads.c.materialization_id == sa.cast(sa.bindparam("made", type_=sa.Text), sa.BigInteger),
        schema.loads.c.rows > sa.literal_column("0"),
    )
    .order_by(schema.loads.c.partition)
)

_AS_OWNER = sa.text(f"""
    SELECT set_config('role', pg_get_userbyid(nspowner), true) FROM pg_namespace
    WHERE nspname = {literal(DATA_SCHEMA)} AND pg_get_userbyid(nspowner) <> current_user""")
"""Make a table as who owns the schema of data, to the end of the transaction. Roles may have been granted since this store was opened:
readers have the rights that are the default of the owner's tables, and what loads a partition a second time acts as the owner."""


def create_materialization(
    connection: sa.Connection,
    urls: ExecutorUrls,
    run_id: str,
    name: str,
    kind: Kind,
    columns: Sequence[Column],
    row_count_hint: int | None,
    again: bool,
    folder: str | None = None,
) -> Materialization:
    """Enter a materialization and make its table; where this was asked for before, and the answer was lost, that may have been done.

    With a ``folder``, a URI, its rows will stand in files there, and there is no table: what becomes of the folder is the run's business
    from then on, before anything is in it.

    :raises LoadFailed: the run is not running, has a materialization of this name already, or two columns have one name.
    :raises RunNotFound: there is no such run. :raises StoreError: the kind, or a column's role, is not known.
    """
    KINDS.check(kind, f"materialization {name!r}")
    run_state = catalog.state(connection, run_id, lock=True)
    if run_state.status != "running":
        raise LoadFailed(f"run {run_id} is {run_state.status}: it takes no more materializations")
    if again:
        made_before = next((one for one in stored(by_connection(connection), urls, run_id) if one.name == name), None)
        if made_before is not None:
            return made_before
    if connection.execute(_by_name(run_id, name)).first() is not None:
        raise LoadFailed(f"run {run_id} already has a materialization named {name!r}")
    layout = make_layout(columns)
    made = Materialization(0, run_id, name, kind, table_name(run_id, name), layout, urls, None, row_count_hint, folder=folder)
    found = connection.execute(schema.materializations.insert().values(_row(made)).returning(schema.materializations.c.id)).scalar_one()
    if folder is None:
        _create_table(connection, made, run_state.pipeline)
    return replace(made, id=found)


def planned(urls: ExecutorUrls, run_id: str, name: str, kind: Kind, columns: Sequence[Column]) -> Materialization:
    """A materialization whose table is made by its load (`new_table`): the catalog has no key of it yet.

    :raises LoadFailed: two columns have one name. :raises StoreError: the kind, or a column's role, is not known.
    """
    KINDS.check(kind, f"materialization {name!r}")
    return Materialization(0, run_id, name, kind, table_name(run_id, name), make_layout(columns), urls)


def new_table(made: Materialization, *, again: bool) -> NewTable:
    """What makes the table of a planned materialization."""
    return NewTable(row_json(schema.materializations, _row(made)), ", ".join(made.layout.ddl()), again)


def enter_files(connection: sa.Connection, made: Materialization, files: Mapping[str, int], partitions: Mapping[int, int]) -> None:
    """Enter the files of a materialization, by name and bytes, their checksums, and how many rows each of Spark's partitions has.

    :raises LoadFailed: the run is not running.
    """
    run_state = catalog.state(connection, made.run_id, lock=True)
    if run_state.status != "running":
        raise LoadFailed(f"run {made.run_id} is {run_state.status}: {made.name!r} takes no more rows")
    table, of_this = schema.loads, schema.loads.c.materialization_id == made.id
    connection.execute(table.delete().where(of_this))
    rows = [{"materialization_id": made.id, "partition": one, "attempt": 0, "rows": number} for one, number in sorted(partitions.items())]
    if rows:
        connection.execute(table.insert(), rows)
    stored_there = schema.materializations
    told = {"files": dict(files), "checksums": dict(made.checksums)}
    connection.execute(stored_there.update().where(stored_there.c.id == made.id).values(told))


def withdraw(connection: sa.Connection, made: Materialization) -> None:
    """Take back a materialization in files that nobody has read: its rows stand elsewhere, and its folder is to be removed."""
    discarded.enter(connection, made.run_id, [made.folder] if made.folder is not None else [])
    connection.execute(schema.materializations.delete().where(schema.materializations.c.id == made.id))


def _by_name(run_id: str, name: str) -> sa.Select[tuple[int]]:
    table = schema.materializations
    return sa.select(table.c.id).where(table.c.run_id == run_id, table.c.name == name)


def _row(made: Materialization) -> dict[str, Any]:
    return {
        "run_id": made.run_id,
        "name": made.name,
        "kind": made.kind,
        "table_name": made.table_name,
        "layout": made.layout.to_json(),
        "row_count_hint": made.row_count_hint,
        "folder": made.folder,
    }


def table_name(run_id: str, name: str) -> str:
    """The physical name: the run, then as much of the materialization's name as fits and reads well."""
    readable = re.sub(r"[^A-Za-z0-9_]+", "_", name)
    if readable == name and len(run_id) + 1 + len(name) <= 63:
        return f"{run_id}_{name}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{cut(f'{run_id}_{readable}', 63 - 9)}~{digest}"


def _create_table(connection: sa.Connection, made: Materialization, pipeline: str) -> None:
    connection.execute(_AS_OWNER)
    execute_text(connection, f"CREATE TABLE {made.table} ({', '.join(made.layout.ddl())})")
    comment = escape(f"{made.kind} {made.name!r} of run {made.run_id} of pipeline {pipeline!r}".encode("utf-8", "replace").decode())
    execute_text(connection, f"COMMENT ON TABLE {made.table} IS {literal(comment)}")


def execute_text(connection: sa.Connection, sql: str) -> None:
    """Run SQL text as it is: neither SQLAlchemy nor psycopg2 looks for parameters (``:name``, ``%s``) in it."""
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(sql)


def materializations(select: Select, urls: ExecutorUrls, run_id: str) -> dict[str, Materialization]:
    """The materializations of a complete run, by name.

    :raises RunNotFound: there is no such run.
    :raises RunNotComplete: it failed, was dropped, or is still going.
    """
    catalog.check_possible(run_id)
    rows = select(_OF_RUN, {"run": run_id})
    if not rows:
        raise catalog.not_found(run_id)
    catalog.check_complete(catalog.RunState(run_id, rows[0]["pipeline"], rows[0]["status"], rows[0]["error"]))
    return {row["name"]: _materialization(row, urls) for row in rows if row["id"] is not None}


def stored(select: Select, urls: ExecutorUrls, run_id: str) -> list[Materialization]:
    """The materializations of a run, whatever its status."""
    return [_materialization(row, urls) for row in select(_STORED, {"run": run_id})]


def stored_named(connection: sa.Connection, urls: ExecutorUrls, run_ids: Sequence[str], name: str) -> list[Materialization]:
    """The materializations of that name, of several runs."""
    its = schema.materializations.c
    found = connection.execute(sa.select(schema.materializations).where(its.run_id.in_(run_ids), its.name == name)).mappings()
    return [_materialization(row, urls) for row in found]


def _materialization(row: Mapping[Any, Any], urls: ExecutorUrls) -> Materialization:
    return Materialization(
        row["id"],
        row["run_id"],
        row["name"],
        row["kind"],
        row["table_name"],
        Layout.from_json(row["layout"]),
        urls,
        row["rows"],
        row["row_count_hint"],
        frozenset(row["escaped"] or ()),
        row["folder"],
        row["files"] or {},
        row["checksums"] or {},
        row["shared"] is not None,
    )


def table_sizes(connection: sa.Connection, run_id: str) -> dict[str, int]:
    """The bytes of a run's materializations on disk, by name: rows, oversized values and indexes; of those in files, these; of a
    shared table what falls to the rows."""
    tables = {row.name: int(row.bytes) for row in connection.execute(shared_tables.SIZES, {"data": DATA_SCHEMA, "runs": [run_id]})}
    m = schema.materializations
    in_files = connection.execute(sa.select(m.c.name, m.c.files).where(m.c.run_id == run_id, m.c.folder.is_not(None)))
    return tables | {row.name: sum((row.files or {}).values()) for row in in_files}


def partitions(select: Select, materialization: Materialization) -> list[tuple[int, int]]:
    """The loaded partitions that have rows: number and rows."""
    return [(row["partition"], row["rows"]) for row in select(_PARTITIONS, {"made": str(materialization.id)})]


def drop_data(connection: sa.Connection, run_id: str) -> None:
    """Drop a run's tables, its rows in shared ones, captured lineage, sketches, relations of reasons and the UDFs kept with it, and forget
    its materializations; their folders are to be removed (`discarded`)."""
    table = schema.materializations
    found = connection.execute(
        sa.select(table.c.id, table.c.table_name, table.c.folder, table.c.shared).where(table.c.run_id == run_id)
    ).all()
    for made in found:
        if made.shared is not None:
            shared_tables.take_out(connection, made.table_name, made.id)
        elif made.folder is None:
            execute_text(connection, f"DROP TABLE IF EXISTS {qualified(DATA_SCHEMA, made.table_name)}")
    discarded.enter(connection, run_id, [one.folder for one in found if one.folder is not None])
    captured.forget_folder(connection, run_id)
    for one in (table, schema.kept_udfs, schema.captured_parts, schema.reason_relations):
        connection.execute(one.delete().where(one.c.run_id == run_id))
    kept_sketches.forget(connection, run_id)
    sketch_runs.forget(connection, run_id)


def size(connection: sa.Connection) -> int:
    """The bytes of the whole database, and of what runs stored, or captured, in files."""
    indexes = f"SELECT coalesce(sum(bytes), 0) FROM {schema.captured_folders.fullname}"
    database = int(connection.execute(sa.text(f"SELECT pg_database_size(current_database()) + ({indexes})")).scalar_one())
    m = schema.materializations.c
    files = connection.execute(sa.select(m.files).where(m.folder.is_not(None))).scalars()
    return database + sum(sum((one or {}).values()) for one in files)
