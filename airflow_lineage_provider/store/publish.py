"""Making a run visible: row counts, indexes, statistics and the status, in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider.errors import RunNotComplete, StoreError
from airflow_lineage_provider.reasons.kept import KeptUdf
from airflow_lineage_provider.records.run import RecordedOutput
from airflow_lineage_provider.store import append_notes, catalog, kept_udfs, materialized, outputs, schema
from airflow_lineage_provider.store.connection import sqlstate
from airflow_lineage_provider.store.layout import Column
from airflow_lineage_provider.store.materialization import ExecutorUrls, Materialization
from airflow_lineage_provider.store.selecting import by_connection
from airflow_lineage_provider.store.sqltext import DATA_SCHEMA
from airflow_lineage_provider.store.types import storage_type
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.recorded import RecordedIndex

log = logging.getLogger(__name__)

Indexes = Mapping[str, Sequence[Sequence[str]]]
_MOST_INDEX_COLUMNS = 32
_TOO_LONG = "54000"
# A sequential scan of so many rows takes a millisecond or two.
_LARGE = 20_000
_MOST_KEYS = 2
_UNIQUE = "SELECT attname FROM pg_stats WHERE schemaname = :schema AND tablename = :table AND n_distinct = -1 AND null_frac = 0"


def publish(
    connection: sa.Connection,
    urls: ExecutorUrls,
    run_id: str,
    *,
    output: RecordedOutput | None,
    places: Mapping[str, str],
    timings: Mapping[str, float],
    row_counts: Mapping[str, int],
    indexes: Indexes,
    udfs: Iterable[KeptUdf] = (),
    captured: RecordedIndex | None = None,
    again: bool = False,
) -> None:
    """Complete a run. Loads that are going on are waited for; later ones are refused.

    ``again``: this was asked for before, and the answer was lost; where it was done, nothing is left to do.

    :raises RunNotFound: there is no such run.
    :raises RunNotComplete: it is not running any more.
    :raises StoreError: ``indexes`` names an unknown materialization or column.
    """
    state = catalog.state(connection, run_id, lock=True)
    if again and state.status == "complete":
        return
    if state.status != "running":
        raise RunNotComplete(f"run {run_id} cannot be published: it is {state.status}{': ' + state.error if state.error else ''}")
    stored = {found.name: found for found in materialized.stored(by_connection(connection), urls, run_id)}
    unknown = set(indexes) - set(stored)
    if unknown:
        raise StoreError(f"indexes are asked for unknown materializations {sorted(unknown)}; run {run_id} has {sorted(stored)}")
    for name, found in stored.items():
        rows = _count(connection, found)
        if found.in_files:
            continue
        for columns in indexes.get(name, ()):
            _index(connection, found, columns)
        materialized.execute_text(connection, f"ANALYZE {found.table}")
        if found.kind == "result" and rows >= _LARGE:
            _index_keys(connection, found)
    materialized.end_loads(connection, run_id)
    append_notes.stay(connection, run_id)
    outputs.enter(connection, run_id, places)
    kept_udfs.enter(connection, run_id, udfs)
    values = {"output": written(output), "timings": written(timings), "row_counts": written(row_counts)}
    if captured is not None:
        values["captured"] = written(captured)
    catalog.update_run(connection, run_id, status="complete", finished=datetime.now(UTC), **values)


def _index_keys(connection: sa.Connection, found: Materialization) -> None:
    """Index what people will name rows of a large result by: columns whose values are all different, as far as ANALYZE has seen.

    Now, by the owner, while nobody reads the table: who may only read could not, and would wait for whoever asks first.
    """
    for name in _keys(connection, found)[:_MOST_KEYS]:
        _index(connection, found, [name])


def _keys(connection: sa.Connection, found: Materialization) -> list[str]:
    values = {"schema": DATA_SCHEMA, "table": found.table_name}
    unique = set(connection.execute(sa.text(_UNIQUE), values).scalars())
    return [column.name for column in found.columns if _may_be_key(column) and found.physical(column.name) in unique]


def _may_be_key(column: Column) -> bool:
    """People write it: no lineage key, and no measured number."""
    kind = storage_type(column.type)
    return column.role in ("data", "argument") and not kind.json and kind.cast not in ("float4", "float8")


def _count(connection: sa.Connection, found: Materialization) -> int:
    """Enter how many rows it has: so many."""
    loads = schema.loads
    loaded = connection.execute(sa.select(loads.c.rows, loads.c.escaped).where(loads.c.materialization_id == found.id)).all()
    escaped = sorted({name for row in loaded for name in row.escaped or ()})
    rows: int = sum(row.rows for row in loaded)
    table = schema.materializations
    connection.execute(table.update().where(table.c.id == found.id).values(rows=rows, escaped=escaped))
    return rows


def _index(connection: sa.Connection, found: Materialization, columns: Sequence[str]) -> None:
    """A B-tree over the columns; where a value is too long for one, a hash index on each column, which serves equality all the same."""
    usable = [name for name in columns if _indexable(found, name)][:_MOST_INDEX_COLUMNS]
    if not usable:
        return
    try:
        _create_index(connection, found, "btree", usable)
    except Exception as error:
        if sqlstate(error) != _TOO_LONG:
            raise
        log.info("a value of %s is too long for a B-tree over %s: hash indexes instead", found.table, usable)
        for name in usable:
            _create_index(connection, found, "hash", [name])


def _create_index(connection: sa.Connection, found: Materialization, method: str, columns: Sequence[str]) -> None:
    keys = ", ".join(f"({found.sql_column(name)})" for name in columns)
    with connection.begin_nested():
        materialized.execute_text(connection, f"CREATE INDEX ON {found.table} USING {method} ({keys})")


def _indexable(found: Materialization, name: str) -> bool:
    """A packed date or time cannot be indexed: reading it from text depends on settings, so PostgreSQL calls it not immutable."""
    column, place = found.layout.find(name)
    return place.physical is not None or storage_type(column.type).cast not in ("date", "timestamptz", "timestamp", "time")
