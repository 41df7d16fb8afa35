"""Folders of stored rows and captured lineage that is gone: listed in the transaction that drops it, removed by whoever reaches them.

What is written into a folder of a run that is complete is no run's until it is published: the folder is listed before, to be removed a day
later (`lease`), and taken from the list when it is published. So nothing stays of a process that ends between.

A folder on this machine is removed here. What stands on another file system (S3, HDFS) is removed by a process with a Spark session
(`spark.executing.stored_files`), since Spark has the file system's client and its credentials. Until then the list has it.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.store import schema

log = logging.getLogger(__name__)

_SECONDS = 2.0
_LOOKED_FOR, _LEASE = timedelta(days=30), timedelta(days=1)
_RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def enter(connection: sa.Connection, run_id: str, folders: Sequence[str]) -> None:
    """List folders of a run that are to be removed now."""
    for folder in folders:
        values = {"folder": folder, "run_id": run_id, "discarded": sa.func.now()}
        connection.execute(insert(schema.discarded_folders).values(values).on_conflict_do_nothing())


def lease(connection: sa.Connection, run_id: str, folder: str) -> None:
    """List a folder that is going to be written, to be removed in a day: it is published before (`publish`), or given up."""
    values = {"folder": folder, "run_id": run_id, "discarded": sa.func.now() + _LEASE}
    connection.execute(insert(schema.discarded_folders).values(values).on_conflict_do_nothing())


def publish(connection: sa.Connection, folder: str) -> bool:
    """Whether a leased folder is on the list still; it is not any more."""
    table = schema.discarded_folders
    return bool(connection.execute(table.delete().where(table.c.folder == folder)).rowcount)


def give_up(connection: sa.Connection, folder: str) -> None:
    """Have a leased folder removed now; one that was published stays."""
    table = schema.discarded_folders
    connection.execute(table.update().where(table.c.folder == folder).values(discarded=sa.func.now()))


def listed(connection: sa.Connection) -> list[tuple[str, str]]:
    """The folders that are to be removed by now, each with its run, oldest first."""
    table = schema.discarded_folders
    query = sa.select(table.c.folder, table.c.run_id).where(table.c.discarded <= sa.func.now()).order_by(table.c.discarded, table.c.folder)
    return [(row.folder, row.run_id) for row in connection.execute(query)]


def forget(connection: sa.Connection, folders: Sequence[str]) -> None:
    """Take folders from the list: they are removed."""
    table = schema.discarded_folders
    connection.execute(table.delete().where(table.c.folder.in_(folders)))


def sweep(engine: sa.Engine) -> list[str]:
    """Remove the listed folders that this process reaches, as many as a moment takes; those that it has removed.

    A folder that cannot be removed, or is not there, stays listed: its disk may not be mounted here, or it may be another machine's. What
    nobody has found for a month is forgotten.
    """
    with engine.connect() as connection:
        found = listed(connection)
    deadline, gone = time.monotonic() + _SECONDS, []
    for folder, run_id in found:
        path = local_path(folder)
        if path is not None and is_of(folder, run_id) and time.monotonic() < deadline and _removed(path):
            gone.append(folder)
    if found:
        with engine.begin() as connection:
            forget(connection, gone)
            table = schema.discarded_folders
            connection.execute(table.delete().where(table.c.discarded < sa.func.now() - _LOOKED_FOR))
    return gone


def is_of(folder: str, run_id: str) -> bool:
    """Whether it is a folder as runs make them, ``…/run/name`` with a whole id: nothing else is removed, whatever the list says."""
    parts = folder.split("/")
    return len(parts) > 3 and parts[-2] == run_id and _RUN.fullmatch(run_id) is not None and ".." not in parts


def _removed(path: Path) -> bool:
    """Whether a run's folder was there, and is not any more."""
    try:
        if not path.is_dir():
            return False
        shutil.rmtree(path)
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    except OSError as error:
        log.warning("%s of a run that is gone stays for now: %s", path, error)
        return False
    return True
