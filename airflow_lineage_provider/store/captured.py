"""Captured lineage in the store: its indexes, in parts, beside the run's record; or in a file of a folder that the catalog knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import sqlalchemy as sa

from airflow_lineage_provider.capture.encodings.written import check, checksum
from airflow_lineage_provider.errors import IndexReplaced, LoadFailed, RunNotComplete
from airflow_lineage_provider.store import catalog, discarded, schema
from airflow_lineage_provider.store.copied import copy_rows
from airflow_lineage_provider.store.sqltext import literal
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.parts import PartPlace
    from airflow_lineage_provider.capture.recorded import RecordedIndex
    from airflow_lineage_provider.store.reading import Reading

Part = tuple[int, int, bytes]
"""The number of an index within its run, the number of a part of it, and its content."""

_TABLE, _FOLDERS = schema.captured_parts, schema.captured_folders


@dataclass(frozen=True)
class PartInFile:
    """A part that stands in the file of a folder, which has ``total`` bytes: where, and its checksum."""

    folder: str
    total: int
    at: int
    length: int
    crc: int


KeptPart: TypeAlias = bytes | PartInFile
"""The content of a part, or where it stands."""


def save(connection: sa.Connection, run_id: str, index: RecordedIndex, parts: Iterable[Part]) -> bool:
    """Keep captured lineage of a complete run, in place of what was captured before; whether that leaves a folder that is to be removed.

    :raises RunNotComplete: the run was dropped meanwhile.
    """
    _check_complete(connection, run_id)
    left = _forget(connection, run_id)
    rows = ((run_id, ("i", number), ("i", part), content, ("q", checksum(content, number, part))) for number, part, content in parts)
    copy_rows(connection, _TABLE, ("run_id", "map", "part", "content", "crc"), rows)
    catalog.update_run(connection, run_id, captured=written(index))
    return left


def lease(connection: sa.Connection, run_id: str, folder: str) -> None:
    """A folder is going to be written for captured lineage of a complete run, and goes in a day unless `save_placed` is called.

    :raises RunNotComplete: the run was dropped meanwhile.
    """
    _check_complete(connection, run_id)
    discarded.lease(connection, run_id, folder)


def save_placed(connection: sa.Connection, run_id: str, index: RecordedIndex, places: Sequence[PartPlace], folder: str, total: int) -> bool:
    """`save` where the parts stand in the file of a folder that was leased. What was done is not done again.

    :raises RunNotComplete: the run was dropped meanwhile. :raises LoadFailed: the folder was not leased, or a day ago.
    """
    _check_complete(connection, run_id)
    if connection.execute(sa.select(_FOLDERS.c.folder).where(_FOLDERS.c.run_id == run_id)).scalar() == folder:
        return False
    if not discarded.publish(connection, folder):
        raise LoadFailed(f"the captured lineage of run {run_id} was written to {folder}, which was given up meanwhile: capture it again")
    left = _forget(connection, run_id)
    connection.execute(_FOLDERS.insert().values(run_id=run_id, folder=folder, bytes=total))
    rows = ((run_id, ("i", one.number), ("i", one.part), ("q", one.crc), ("q", one.at), ("q", one.length)) for one in places)
    copy_rows(connection, _TABLE, ("run_id", "map", "part", "crc", "at", "length"), rows)
    catalog.update_run(connection, run_id, captured=written(index))
    return left


def drop(connection: sa.Connection, run_id: str) -> bool:
    """Forget the captured lineage of a run; whether that leaves a folder that is to be removed."""
    catalog.state(connection, run_id, lock=True)
    catalog.update_run(connection, run_id, captured=None)
    return _forget(connection, run_id)


def forget_folder(connection: sa.Connection, run_id: str) -> bool:
    """Whether captured lineage of a run stood in a folder; it is to be removed now."""
    found = connection.execute(_FOLDERS.delete().where(_FOLDERS.c.run_id == run_id).returning(_FOLDERS.c.folder)).scalars().all()
    discarded.enter(connection, run_id, found)
    return bool(found)


def _forget(connection: sa.Connection, run_id: str) -> bool:
    connection.execute(_TABLE.delete().where(_TABLE.c.run_id == run_id))
    return forget_folder(connection, run_id)


def _check_complete(connection: sa.Connection, run_id: str) -> None:
    found = catalog.state(connection, run_id, lock=True)
    if found.status != "complete":
        raise RunNotComplete(f"run {run_id} is {found.status}: there is nothing to capture")


def parts(reading: Reading, run_id: str, index_id: str, number: int, wanted: Sequence[int]) -> Mapping[int, KeptPart]:
    """Parts of an index of the captured lineage that has this id, by their numbers; those that are there. Where they stand in a file, it is
    told where.

    Parts are known by their run and number alone: those of lineage that was captured since would be decoded as what they are not. So one
    statement, which sees one state, reads them and whether the run's record still has the id.

    :raises IndexReplaced: it has another, or none. :raises RecordDamaged: a part is not as it was written.
    """
    quoted = '"' + index_id + '"'
    found = reading.fetch(
        f"WITH now AS MATERIALIZED (SELECT strpos(captured, {literal(quoted)}) > 0 AS is_of"
        f" FROM {schema.runs.fullname} WHERE id = {literal(run_id)})"
        f" SELECT p.part, p.content, p.crc, p.at, p.length, f.folder, f.bytes, is_of FROM now"
        f" LEFT JOIN {_TABLE.fullname} p ON is_of AND p.run_id = {literal(run_id)} AND p.map = {number}"
        f" AND p.part = ANY (ARRAY[{', '.join(map(str, wanted))}]::int[])"
        f" LEFT JOIN {_FOLDERS.fullname} f ON f.run_id = p.run_id"
    )
    rows = [*zip(*(column.to_pylist() for column in found.columns), strict=True)]
    if not all(is_of for *_, is_of in rows) or not rows:
        raise IndexReplaced(f"the lineage of run {run_id} was captured anew, or forgotten, since it was asked about: ask again")
    there: dict[int, KeptPart] = {}
    for part, content, crc, at, length, folder, total, _ in rows:
        if content is not None:
            check(content, number, part, crc)
            there[part] = content
        elif folder is not None:
            there[part] = PartInFile(folder, total, at, length, crc)
    return there
