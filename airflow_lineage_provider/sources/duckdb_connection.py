"""A DuckDB that may read the files that it is given, and nothing else: no network, no extensions, no files of its own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.sources.files import CannotReadHere

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
    "memory_limit": _MEMORY,
}
# A file's statistics are not the file: they leave NaN out, so that pruning by them loses rows where x > 5 or x = NaN holds (that there is
# such a row must be seen: `duckdb_source`), and some writers had them wrong. With conditions on values, only those optimizers run that do
# not look at statistics, and that put no conditions into the scan of a file.
_OPTIMIZERS = frozenset({"build_side_probe_side", "column_lifetime", "deliminator", "expression_rewriter", "join_order", "unused_columns"})

_open: list[duckdb.DuckDBPyConnection] = []
# Of a forked child's parent: never closed here, since the threads that would have to end are not here.
_inherited: list[duckdb.DuckDBPyConnection] = []


def _after_fork_in_child() -> None:
    _inherited.extend(_open)
    _open.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)


@contextmanager
def connected(paths: Collection[Path], *, may_skip: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that can read these files; it ends with the block, and is never shared between threads or processes.

    ``may_skip``: its queries have conditions on rows' positions alone, say, which no statistics tell wrongly, and skip what they can.

    :raises CannotReadHere: DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise CannotReadHere("DuckDB is not installed (pip install 'airflow-provider-lineage[duckdb]')") from error
    connection = duckdb.connect(":memory:", config={**_CONFIG, "threads": min(_THREADS, os.cpu_count() or 1)})
    _open.append(connection)
    try:
        _lock(connection, paths, may_skip)
        yield connection
    finally:
        if connection in _open:
            _open.remove(connection)
            connection.close()


def _lock(connection: duckdb.DuckDBPyConnection, paths: Collection[Path], may_skip: bool) -> None:
    if not may_skip:
        known = {str(name) for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
        connection.execute(f"SET disabled_optimizers = '{','.join(sorted(known - _OPTIMIZERS))}'")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET allowed_paths = [{', '.join(text(str(path)) for path in paths)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def text(value: str) -> str:
    """A string as DuckDB's parser reads it back."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A name as DuckDB's parser reads it back."""
    return '"' + value.replace('"', '""') + '"'
