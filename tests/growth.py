"""What processes and folders take of a machine, and by how much it grows from one run to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from airflow_lineage_provider.store import Store


def memory_of(pid: int) -> int:
    """The bytes of memory that are a process's own, and its children's: what they share is counted for none of them."""
    import psutil

    root, found = psutil.Process(pid), 0
    for one in [root, *root.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            found += one.memory_full_info().uss
    return found


def growth(values: Sequence[float]) -> tuple[float, float]:
    """By how much a value grows from one to the next, by the line of least squares through the last half of them, where whatever is made
    once has been made; and the standard error of that.

    :raises ValueError: they are fewer than eight: three points and less say nothing of a line's error.
    """
    import numpy as np

    if len(values) < 8:
        raise ValueError(f"{len(values)} values tell no growth")
    last = np.asarray(values[len(values) // 2 :], float)
    (slope, _), covariance = np.polyfit(np.arange(len(last)), last, 1, cov=True)
    return float(slope), float(np.sqrt(covariance[0, 0]))


def files_below(folders: Iterable[Path], but: Iterable[str] = ()) -> set[str]:
    """The files and folders in folders, at any depth, but for those that match these patterns, and what is in them."""
    patterns, found, waiting = tuple(but), set[str](), list(folders)
    while waiting:
        with suppress(FileNotFoundError):  # (it may go while it is looked at)
            for path in waiting.pop().iterdir():
                if any(path.match(pattern) for pattern in patterns):
                    continue
                found.add(str(path))
                if path.is_dir() and not path.is_symlink():
                    waiting.append(path)
    return found


def orphans(store: Store, data: Path) -> set[str]:
    """The files of the store's database, in the server's folder of data, that belong to no table, index or catalog.

    Those of tables that are gone the server itself removes at a checkpoint, which this asks for.
    """
    from tests.store.conftest import sql

    sql(store.url, "CHECKPOINT")
    ((number,),) = sql(store.url, "SELECT oid::text FROM pg_database WHERE datname = current_database()")
    known = {
        row[0] for row in sql(store.url, "SELECT pg_relation_filenode(oid)::text FROM pg_class WHERE relkind IN ('r', 'i', 't', 'S', 'm')")
    }
    own = {"PG_VERSION", "pg_filenode.map", "pg_internal.init"}
    there = {path.name for path in (data / "base" / str(number)).iterdir()} - own
    return {name for name in there if name.split("_")[0].split(".")[0] not in known}
