"""Captured lineage in a file of a folder: the parts of all indexes, one after another, each where the catalog says (`store.captured`).

This process writes and reads the file itself where it is on this machine, else through Spark's file systems.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.capture.encodings.written import checksum
from airflow_lineage_provider.errors import LoadFailed, RecordDamaged, SparkRequired
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.store.captured import PartInFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from airflow_lineage_provider.capture.parts import Parts
    from airflow_lineage_provider.deriving.asked_run import AskedRun

FILE = "indexes"
"""The file of a folder."""
_WAYS_OUT = "restore it, capture the lineage again, or forget it"


def folder_of(place: str, run_id: str, index_id: str) -> str:
    """The folder of a captured index below a place: one that is captured later has another."""
    return f"{place}/{run_id}/captured-{index_id}"


def write(folder: str, parts: Parts, spark: SparkSession | None) -> None:
    """Write the parts into the file of a folder, a URI.

    :raises LoadFailed: it cannot be written.
    """
    path = local_path(folder)
    try:
        if path is not None:
            _write_here(path, parts.pieces())
        else:
            from airflow_lineage_provider.spark import file_access

            assert spark is not None
            file_access.write(spark, f"{folder}/{FILE}", parts.pieces())
    except OSError as problem:
        raise LoadFailed(f"captured lineage cannot be written to {folder}: {problem}") from problem


def _write_here(folder: Path, pieces: Iterable[bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / FILE, "wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def contents(run: AskedRun, number: int, placed: Mapping[int, PartInFile]) -> dict[int, bytes]:
    """The contents of parts of an index, by their numbers, as they were written; all stand in one file.

    :raises RecordDamaged: the file is gone, has other bytes than were written, or cannot be read.
    :raises SparkRequired: it is on another file system, and there is no session.
    """
    in_order = sorted(placed, key=lambda part: placed[part].at)
    some = placed[in_order[0]]
    ranges = [(placed[part].at, placed[part].length) for part in in_order]
    told = f"the captured lineage of run {run.record.id} in {some.folder}/{FILE}"
    try:
        path = local_path(some.folder)
        size, found = _read_here(path / FILE, ranges) if path is not None else _read_there(run, some.folder, ranges, told)
    except FileNotFoundError as problem:
        raise RecordDamaged(f"{told} is gone: {_WAYS_OUT}") from problem
    except OSError as problem:
        raise RecordDamaged(f"{told} cannot be read: {problem}") from problem
    if size != some.total:
        raise RecordDamaged(f"{told} has {size:,} bytes, and {some.total:,} were written: {_WAYS_OUT}")
    for part, content in zip(in_order, found, strict=True):
        if checksum(content, number, part) != placed[part].crc:
            raise RecordDamaged(f"{told} is damaged, in part {part} of index {number}: {_WAYS_OUT}")
    return dict(zip(in_order, found, strict=True))


def _read_here(path: Path, ranges: Sequence[tuple[int, int]]) -> tuple[int, list[bytes]]:
    """As `file_access.read`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.fstat(descriptor).st_size, [os.pread(descriptor, length, at) for at, length in ranges]
    finally:
        os.close(descriptor)


def _read_there(run: AskedRun, folder: str, ranges: Sequence[tuple[int, int]], told: str) -> tuple[int, list[bytes]]:
    from airflow_lineage_provider.spark import file_access

    run.session.rest()
    needed = run.on_demand.needed(SparkRequired(f"{told} is read through Spark, and there is no session"))
    return file_access.read(needed.spark, f"{folder}/{FILE}", ranges)
