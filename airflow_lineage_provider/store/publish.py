"""Making a run visible: row counts, indexes, statistics and the status, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from airflow_lineage_provider.errors import RunNotComplete, StoreError
from airflow_lineage_provider.reasons.kept import KeptUdf
from airflow_lineage_provider.records.run import RecordedOutput
from airflow_lineage_provider.store import append_notes, catalog, kept_udfs, schema
from airflow_lineage_provider.store.as_stored import row_json, stored_values
from airflow_lineage_provider.store.layout import Column
from airflow_lineage_provider.store.materialization import Materialization
from airflow_lineage_provider.store.types import storage_type
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.recorded import RecordedIndex

Indexes = Mapping[str, Sequence[Sequence[str]]]
_MOST_INDEX_COLUMNS = 32
_PUBLISH = sa.text("SELECT * FROM lineage.publish_run(:run, :changes, :tables, :places, :settles)")


def publish(
    connection: sa.Connection,
    stored: Mapping[str, Materialization],
    run_id: str,
    *,
    output: RecordedOutput | None,
    places: Mapping[str, str],
    timings: Mapping[str, float],
    row_counts: Mapping[str, int],
    indexes: Indexes,
    udfs: Sequence[KeptUdf] = (),
    captured: RecordedIndex | None = None,
    again: bool = False,
    alone: bool = False,
) -> bool:
    """Complete a run, which has ``stored`` these. Loads that are going on are waited for; later ones are refused.

    ``again``: this was asked for before, and the answer was lost; where it was done, nothing is left to do. ``alone``: the connection has
    no transaction that several statements could be in; where it takes several nothing is done, and False is told.

    :raises RunNotFound: there is no such run.
    :raises RunNotComplete: it is not running any more.
    :raises StoreError: ``indexes`` names an unknown column.
    """
    if udfs and alone:
        return False
    values = {"output": output, "timings": timings, "row_counts": row_counts, "captured": captured}
    changes = {name: written(value) for name, value in values.items() if name != "captured" or captured is not None}
    given = {
        "run": run_id,
        "changes": row_json(schema.runs, changes | {"finished": datetime.now(UTC)}),
        "tables": json.dumps(list(_indexes(stored.values(), indexes))),
        "places": json.dumps([stored_values(schema.outputs, {"place": place, "version": one}) for place, one in places.items()]),
        "settles": not alone,
    }
    found = connection.execute(_PUBLISH, given).one()
    if found.held is None:
        raise catalog.not_found(run_id)
    if again and found.held == "complete":
        return True
    if found.keyed is None:
        raise RunNotComplete(f"run {run_id} cannot be published: it is {found.held}{': ' + found.problem if found.problem else ''}")
    if found.keyed and alone:
        return False
    if found.keyed:
        append_notes.stay(connection, run_id)
    kept_udfs.enter(connection, run_id, udfs)
    return True


def check_indexes(connection: sa.Connection, run_id: str, stored: Mapping[str, Materialization], indexes: Indexes) -> None:
    """:raises StoreError: ``indexes`` names a materialization that the run has not. (Of one that has ended nothing else can be said.)"""
    unknown = sorted(set(indexes) - set(stored))
    if not unknown:
        return
    state = catalog.state(connection, run_id)
    if state.status == "running":
        raise StoreError(f"indexes are asked for unknown materializations {unknown}; run {run_id} has {sorted(stored)}")


def _indexes(stored: Iterable[Materialization], wanted: Indexes) -> Iterator[dict[str, Any]]:
    """What the catalog's function takes: the indexes of each table, and of results those of columns whose values may be all different.

    Now, by the owner, while nobody reads the table: who may only read could not, and would wait for whoever asks first.
    """
    for found in stored:
        if found.in_files:
            continue
        stored_as, first = schema.safe_text(found.name), set()
        for columns in wanted.get(found.name, ()):
            if usable := [name for name in columns if _indexable(found, name)][:_MOST_INDEX_COLUMNS]:
                first.add(usable[0])
                keys = [f"({found.sql_column(name)})" for name in usable]
                short, number = all(_is_short(found, name) for name in usable), _is_number(found, usable)
                yield {"name": stored_as, "keys": keys, "short": short, "number": number}
        for column in found.columns if found.kind == "result" else ():
            if _may_be_key(column) and column.name not in first and (own := found.physical(column.name)) is not None:
                yield {"name": stored_as, "keys": [f"({found.sql_column(column.name)})"], "own": own}


def _may_be_key(column: Column) -> bool:
    """People write it: no lineage key, and no measured number."""
    kind = storage_type(column.type)
    return column.role in ("data", "argument") and not kind.json and kind.cast not in ("float4", "float8")


def _is_number(found: Materialization, columns: Sequence[str]) -> bool:
    """Whether the columns are that of rows' numbers, which shared tables have an index of from the beginning."""
    return [found.layout.find(name)[0].role for name in columns] == ["row"]


def _is_short(found: Materialization, name: str) -> bool:
    """Whether no value is too long for a B-tree."""
    column, place = found.layout.find(name)
    return place.physical is not None and storage_type(column.type).cast not in ("text", "bytea")


def _indexable(found: Materialization, name: str) -> bool:
    """A packed date or time cannot be indexed: reading it from text depends on settings, so PostgreSQL calls it not immutable."""
    column, place = found.layout.find(name)
    return place.physical is not None or storage_type(column.type).cast not in ("date", "timestamptz", "timestamp", "time")
