"""A DuckDB that may read the files that it is given, and nothing else: no network, no extensions, no files of its own.

Making one takes longer than most queries that it answers, so those that were used last are kept, each for the files that it may read: what
it may read cannot be changed any more.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.given_functions import give

if TYPE_CHECKING:
    import duckdb

_THREADS = 4
_MEMORY = "1GiB"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    # A query reads no Python variables by their names.
    "python_enable_replacements": False,
    # Nothing is written to disk: a query that needs more memory fails.
    "temp_directory": "",
    # A file that is another now is not known from before.
    "enable_external_file_cache": False,
    # Threads that wait for files far away: eight for each database, of which several are kept, and no file is.
    "async_threads": 0,
    "memory_limit": _MEMORY,
}
# A file's statistics are not the file: they leave NaN out, so that pruning by them loses rows where x > 5 or x = NaN holds (that there is
# such a row must be seen: `duckdb_source`), and some writers had them wrong. With conditions on values, only those optimizers run that do
# not look at statistics, and that put no conditions into the scan of a file.
_OPTIMIZERS = frozenset({"build_side_probe_side", "column_lifetime", "deliminator", "expression_rewriter", "join_order", "unused_columns"})

_Key = tuple[frozenset[str], bool, str]
MOST_KEPT = 16
"""Databases, of 5 to 6 MB each. A question that goes on through runs takes three of every run; where that is more than are kept, asking
again makes every one anew: 15 to 20 ms of CPU each."""
MOST_OF_ONE_FILE = 8
"""Who reads more files one by one reads all of them by one database."""


class _Kept:
    """The databases of this process that were used last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.databases: OrderedDict[_Key, duckdb.DuckDBPyConnection] = OrderedDict()
        # Of a forked child's parent: never closed here, since the threads that would have to end are not here.
        self.inherited: list[duckdb.DuckDBPyConnection] = []

    def cursor(self, key: _Key) -> duckdb.DuckDBPyConnection:
        """A connection of its own to a database that may read these files."""
        with self.lock:
            database = self.databases.pop(key, None) or _made(*key)
            self.databases[key] = database
            found = database.cursor()
            while len(self.databases) > MOST_KEPT:
                # Closing it would close the connections to it that others have: it ends with the last of them.
                self.databases.popitem(last=False)
        return found

    def close(self) -> None:
        """At the end of the process: DuckDB complains of what is left."""
        with self.lock:
            while self.databases:
                self.databases.popitem()[1].close()

    def forked(self) -> None:
        """Begin anew, in a child."""
        self.inherited += self.databases.values()
        self.databases = OrderedDict()
        self.lock = threading.Lock()


_kept = _Kept()
atexit.register(_kept.close)
os.register_at_fork(after_in_child=_kept.forked)


@contextmanager
def connected(paths: Collection[Path], *, may_skip: bool = False, zone: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database in memory that can read these files. It ends with the block, and so do its views and tables.

    ``may_skip``: its queries have conditions on rows' positions alone, say, which no statistics tell wrongly, and skip what they can.

    ``zone`` is the time zone that it has days and hours in, and times that are written without one, as Spark's settings call it; of none
    it is UTC.

    :raises CannotReadHere: DuckDB is not installed, or does not know the time zone.
    """
    try:
        import duckdb  # noqa: F401
    except ImportError as error:
        raise CannotReadHere("DuckDB is not installed (pip install 'airflow-provider-lineage[duckdb]')") from error
    process, connection = os.getpid(), _kept.cursor((frozenset(map(str, paths)), may_skip, _zone(zone)))
    try:
        yield connection
    finally:
        if os.getpid() == process:
            connection.close()
        else:
            _kept.inherited.append(connection)


def _zone(name: str) -> str:
    """A time zone of Spark's as DuckDB calls it.

    >>> _zone(""), _zone("Z"), _zone("Europe/Amsterdam"), _zone("+02:00"), _zone("-5")
    ('UTC', 'UTC', 'Europe/Amsterdam', 'GMT+02:00', 'GMT-5')
    """
    if name in ("", "Z", "UTC"):
        return "UTC"
    return f"GMT{name}" if name[0] in "+-" else name


def _made(paths: frozenset[str], may_skip: bool, zone: str) -> duckdb.DuckDBPyConnection:
    import duckdb

    made = duckdb.connect(":memory:", config={**_CONFIG, "threads": min(_THREADS, os.cpu_count() or 1)})
    give(made)
    _set_zone(made, zone)
    _lock(made, paths, may_skip)
    return made


def _set_zone(connection: duckdb.DuckDBPyConnection, zone: str) -> None:
    """For connections that are made later, too. :raises CannotReadHere: DuckDB does not know it."""
    import duckdb

    try:
        connection.execute(f"SET GLOBAL TimeZone = {text(zone)}")
    except duckdb.Error as problem:
        raise CannotReadHere(f"DuckDB does not know {zone}, the time zone of the run's session") from problem


def _lock(connection: duckdb.DuckDBPyConnection, paths: Collection[str], may_skip: bool) -> None:
    if not may_skip:
        known = {str(name) for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
        connection.execute(f"SET disabled_optimizers = '{','.join(sorted(known - _OPTIMIZERS))}'")
    connection.execute(f"SET allowed_paths = [{', '.join(map(text, sorted(paths)))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def text(value: str) -> str:
    """A string as DuckDB's parser reads it back."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A name as DuckDB's parser reads it back."""
    return '"' + value.replace('"', '""') + '"'
