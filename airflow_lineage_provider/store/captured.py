"""Captured lineage in the store: its indexes, in parts, beside the run's record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider.errors import RunNotComplete
from airflow_lineage_provider.store import catalog, schema
from airflow_lineage_provider.store.sqltext import literal
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.recorded import RecordedIndex
    from airflow_lineage_provider.store.reading import Reading

Part = tuple[int, int, bytes]
"""The number of an index within its run, the number of a part of it, and its content."""

_TABLE = schema.captured_parts


def save(connection: sa.Connection, run_id: str, index: RecordedIndex, parts: Iterable[Part]) -> None:
    """Keep captured lineage of a complete run, in place of what was captured before.

    :raises RunNotComplete: the run was dropped meanwhile.
    """
    found = catalog.state(connection, run_id, lock=True)
    if found.status != "complete":
        raise RunNotComplete(f"run {run_id} is {found.status}: there is nothing to capture")
    connection.execute(_TABLE.delete().where(_TABLE.c.run_id == run_id))
    for number, part, content in parts:
        connection.execute(_TABLE.insert().values(run_id=run_id, map=number, part=part, content=content))
    catalog.update_run(connection, run_id, captured=written(index))


def drop(connection: sa.Connection, run_id: str) -> None:
    """Forget the captured lineage of a run."""
    catalog.state(connection, run_id, lock=True)
    connection.execute(_TABLE.delete().where(_TABLE.c.run_id == run_id))
    catalog.update_run(connection, run_id, captured=None)


def parts(reading: Reading, run_id: str, number: int, wanted: Sequence[int]) -> Mapping[int, bytes]:
    """Parts of an index, by their numbers; those that are there."""
    found = reading.fetch(
        f"SELECT part, content FROM {_TABLE.fullname} WHERE run_id = {literal(run_id)} AND map = {number}"
        f" AND part = ANY (ARRAY[{', '.join(map(str, wanted))}]::int[])"
    )
    return dict(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))
