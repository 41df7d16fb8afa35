"""One query in DuckDB, over views of files and tables of rows."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption, QueryTooSlow
from airflow_lineage_provider.extras import require
from airflow_lineage_provider.plan.datatypes import type_in_utc
from airflow_lineage_provider.plan.names import folded_name
from airflow_lineage_provider.shown import first_line, shown
from airflow_lineage_provider.sources.duckdb_connection import connected, name
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sql.asked_sql import UnbalancedSql, with_dollar_parameters

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_AGAIN = 0.05


def fetched(
    query: str,
    *,
    views: Mapping[str, str],
    tables: Mapping[str, pa.Table],
    paths: Collection[Path],
    params: Mapping[str, Any] | None = None,
    may_skip: bool = False,
    seconds: float | None = None,
    zone: str = "",
) -> pa.Table:
    """The rows of a query over ``views`` (SQL by name, over the files at ``paths``) and ``tables``, with values for its ``$name``.

    Columns of a table whose names DuckDB does not tell apart are called by their places, too: ``a (column 3)``. None is called ``a`` then.

    ``may_skip``: the files' statistics are right about every condition that the query may have (`connected`). After so many ``seconds`` it
    is ended. ``zone`` is the time zone of what it computes (`connected`); points in time that it gives are in UTC all the same.

    :raises QueryTooSlow: it was ended.
    :raises CannotReadHere: DuckDB is not installed, does not know the time zone, or fails: a file is broken, a text is no UTF-8, a number
        overflows, the memory is not enough. Spark says whether that is an error.
    """
    import pyarrow as pa

    with connected(paths, may_skip=may_skip, zone=zone) as connection, _ended_after(connection, seconds):
        import duckdb

        alike: list[str] = []
        try:
            for table, rows in tables.items():
                rows.validate(full=True)
                names, repeated = _told_apart(rows.column_names)
                alike += repeated
                connection.register(table, rows.rename_columns(names) if repeated else rows)
            for view, text in views.items():
                connection.execute(f"CREATE TEMP VIEW {name(view)} AS {text}")
            return _in_utc((connection.sql(query, params=dict(params)) if params else connection.sql(query)).to_arrow_table())
        except duckdb.InterruptException as problem:
            if seconds is None:
                raise
            raise QueryTooSlow(f"a query was ended after {seconds:.3g} s: it may not take longer here") from problem
        except (duckdb.Error, pa.ArrowInvalid, UnicodeError) as problem:
            also = f" (DuckDB does not tell the columns {', '.join(alike)} apart: none of them is called so here)" if alike else ""
            raise CannotReadHere(f"DuckDB failed: {first_line(problem)}{also}") from problem


def _in_utc(rows: pa.Table) -> pa.Table:
    """The same points in time, said in UTC."""
    import pyarrow as pa

    schema = pa.schema([one.with_type(type_in_utc(one.type)) for one in rows.schema], rows.schema.metadata)
    return rows if schema == rows.schema else rows.cast(schema)


def _told_apart(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of columns that DuckDB tells apart, and those that it does not: it would call the second ``a`` of two columns ``A`` and ``a``
    something else, and answer of the first where ``a`` is meant.

    >>> _told_apart(["g", "A", "a"])
    (['g', 'A (column 2)', 'a (column 3)'], ['A', 'a'])
    """
    many = Counter(map(folded_name, names))
    repeated = [one for one in names if many[folded_name(one)] > 1]
    return [f"{one} (column {at})" if many[folded_name(one)] > 1 else one for at, one in enumerate(names, 1)], repeated


def streamed(query: str, *, paths: Collection[Path], rows: int, seconds: float) -> Generator[pa.RecordBatch, None, None]:
    """The rows of a query over files in pieces of about so many ``rows``, each read when it is asked for. To be closed.

    :raises QueryTooSlow, CannotReadHere: as `fetched`.
    """
    import pyarrow as pa

    ends = time.monotonic() + seconds
    with connected(paths) as connection, _ended_after(connection, seconds):
        import duckdb

        try:
            yield from connection.sql(query).to_arrow_reader(rows)
        except (duckdb.Error, pa.ArrowException, OSError, UnicodeError) as problem:
            if time.monotonic() >= ends:
                raise QueryTooSlow(f"a query was ended after {seconds:.3g} s: it may not take longer here") from problem
            raise CannotReadHere(f"DuckDB failed: {first_line(problem)}") from problem


@contextmanager
def _ended_after(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """What the connection is asked meanwhile is interrupted then."""
    if seconds is None:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_interrupt, args=(connection, seconds, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _interrupt(connection: duckdb.DuckDBPyConnection, seconds: float, ended: threading.Event) -> None:
    """Once is not enough: what comes between two statements is forgotten by the next."""
    wait = max(seconds, 0)
    while not ended.wait(wait):
        connection.interrupt()
        wait = _AGAIN


def selected(query: str, tables: Mapping[str, pa.Table], params: Mapping[str, Any] | None = None, *, zone: str = "") -> pa.Table:
    """The rows of one SELECT that a person wrote, over tables of rows. It reaches nothing else: no file, no setting, no other statement.

    ``params`` are the values of its ``:name`` (or ``$name``), each of a type that DuckDB has; None is NULL. ``zone`` is as of `fetched`.

    :raises InvalidOption: it is not one SELECT, a parameter has no value or is not there, or DuckDB cannot run it; says why.
    :raises EnvironmentProblem: DuckDB is not installed.
    """
    duckdb = require("duckdb", "duckdb", "SQL over rows of lineage")
    given = dict(params or {})
    try:
        text = with_dollar_parameters(query)
        statements = duckdb.extract_statements(text)
    except (duckdb.Error, TypeError, UnbalancedSql) as problem:
        raise InvalidOption(f"query={shown(query)} is no SQL that DuckDB reads: {first_line(problem)}") from problem
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InvalidOption(f"query={shown(query)} is not one SELECT over {', '.join(tables)}")
    _check_parameters(query, set(statements[0].named_parameters), set(given))
    try:
        return fetched(text, views={}, tables=tables, paths=(), params=given, zone=zone)
    except CannotReadHere as problem:
        raise InvalidOption(f"query={shown(query)}: {problem}") from problem


def _check_parameters(query: str, wanted: set[str], given: set[str]) -> None:
    if missing := sorted(wanted - given):
        names = ", ".join(f":{one}" for one in missing)
        raise InvalidOption(f"query={shown(query)} has {names} and no value for it: give it by name, {missing[0]}=…")
    if unused := sorted(given - wanted):
        raise InvalidOption(f"query={shown(query)} has no :{', :'.join(unused)}; its parameters are: {', '.join(sorted(wanted)) or 'none'}")
