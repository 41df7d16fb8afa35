"""Captured lineage in the store: its indexes, in parts, beside the run's record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_lineage_provider.capture.encodings.written import check, checksum
from airflow_lineage_provider.errors import IndexReplaced, RunNotComplete
from airflow_lineage_provider.store import catalog, schema
from airflow_lineage_provider.store.copied import copy_rows
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
    rows = ((run_id, ("i", number), ("i", part), content, ("q", checksum(content, number, part))) for number, part, content in parts)
    copy_rows(connection, _TABLE, ("run_id", "map", "part", "content", "crc"), rows)
    catalog.update_run(connection, run_id, captured=written(index))


def drop(connection: sa.Connection, run_id: str) -> None:
    """Forget the captured lineage of a run."""
    catalog.state(connection, run_id, lock=True)
    connection.execute(_TABLE.delete().where(_TABLE.c.run_id == run_id))
    catalog.update_run(connection, run_id, captured=None)


def parts(reading: Reading, run_id: str, index_id: str, number: int, wanted: Sequence[int]) -> Mapping[int, bytes]:
    """Parts of an index of the captured lineage that has this id, by their numbers; those that are there.

    Parts are known by their run and number alone: those of lineage that was captured since would be decoded as what they are not. So one
    statement, which sees one state, reads them and whether the run's record still has the id.

    :raises IndexReplaced: it has another, or none. :raises RecordDamaged: a part is not as it was written.
    """
    quoted = '"' + index_id + '"'
    found = reading.fetch(
        f"WITH now AS MATERIALIZED (SELECT strpos(captured, {literal(quoted)}) > 0 AS is_of"
        f" FROM {schema.runs.fullname} WHERE id = {literal(run_id)})"
        f" SELECT part, content, crc, is_of FROM now LEFT JOIN {_TABLE.fullname} ON is_of AND run_id = {literal(run_id)} AND map = {number}"
        f" AND part = ANY (ARRAY[{', '.join(map(str, wanted))}]::int[])"
    )
    rows = [*zip(*(column.to_pylist() for column in found.columns), strict=True)]
    if not all(is_of for *_, is_of in rows) or not rows:
        raise IndexReplaced(f"the lineage of run {run_id} was captured anew, or forgotten, since it was asked about: ask again")
    there = [(part, content, known) for part, content, known, _ in rows if part is not None]
    for part, content, known in there:
        check(content, number, part, known)
    return {part: content for part, content, _ in there}
