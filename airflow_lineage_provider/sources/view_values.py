"""An expression over every row of local Parquet files, or of a table in memory, in the order of the rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption, QueryTooSlow, SourceUnavailable
from airflow_lineage_provider.extras import require
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sources.duckdb_connection import name
from airflow_lineage_provider.sources.duckdb_files import file_problem, scan
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sql.asked_sql import UnbalancedSql, balanced
from airflow_lineage_provider.sql.row_expressions import NotPlain, columns_of

if TYPE_CHECKING:
    import pyarrow as pa

Version = tuple[str, int, int]


@dataclass(frozen=True)
class ParquetRows:
    """The rows of files, one file after another. ``versions`` are their paths, sizes in bytes and times of change in nanoseconds."""

    versions: tuple[Version, ...]
    count: int
    columns: tuple[str, ...]

    @classmethod
    def at(cls, places: Sequence[str | Path]) -> ParquetRows:
        """The rows of files, and of the Parquet files in folders, those in the order of their names.

        :raises SourceUnavailable: there is none. :raises InvalidOption: one cannot be read, or their columns differ.
        """
        import pyarrow.parquet as pq
        from pyarrow import ArrowException

        count, columns, versions = 0, None, tuple(_version(path) for place in places for path in _files(Path(place)))
        for path, _, _ in versions:
            try:
                with pq.ParquetFile(path) as file:
                    if problem := file_problem(file, Path(path)):
                        raise InvalidOption(f"{path} cannot be read by DuckDB: {problem}")
                    names = tuple(file.schema_arrow.names)
                    count += file.metadata.num_rows
            except (ArrowException, OSError) as error:
                raise InvalidOption(f"{path} is no Parquet file that can be read: {error}") from error
            if columns is not None and names != columns:
                raise InvalidOption(f"the columns of {path} ({', '.join(names)}) are not those of {versions[0][0]} ({', '.join(columns)})")
            columns = names
        return cls(versions, count, columns or ())

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(Path(path) for path, _, _ in self.versions)

    def values(self, expression: str) -> pa.ChunkedArray:
        """An expression of DuckDB's SQL over each row.

        :raises InvalidOption: it is none. :raises SourceUnavailable: a file is not what it was.
        """
        view = {"rows": f"SELECT * EXCLUDE (file_row_number) FROM {scan(self.paths)}"}
        found = _values(expression, self.count, self.columns, views=view, tables={}, paths=self.paths)
        self.check()
        return found

    def take(self, rows: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows with these numbers, ascending, with all columns or these. :raises SourceUnavailable: a file is not what it was."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        self.check()
        wanted = None if columns is None else list(columns)
        found = ds.dataset([str(path) for path in self.paths], format="parquet").take(pa.array(rows, pa.int64()), columns=wanted)
        self.check()
        return found

    def check(self) -> None:
        """That the files are those whose rows were numbered. :raises SourceUnavailable: names those that are not."""
        changed = [path for path, *known in self.versions if not Path(path).is_file() or list(_version(Path(path))[1:]) != known]
        if changed:
            raise SourceUnavailable(f"{', '.join(changed)}: not as it was when the views were made; make them again")


@dataclass(frozen=True)
class ShownRows:
    """The rows of files for who may not see all of them: a plain expression has ``askable`` columns, a row those that are ``shown``.

    DuckDB is given the columns that an expression names, and can read no file then. Expressions are computed until ``ends``, a time of
    `time.monotonic`, and ended then.
    """

    rows: ParquetRows
    askable: tuple[str, ...]
    shown: tuple[str, ...]
    ends: float

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.rows.count

    def values(self, expression: str) -> pa.ChunkedArray:
        """An expression of DuckDB's SQL over each row.

        :raises InvalidOption: it is no plain one, or has another column. :raises SourceUnavailable: a file is not what it was.
        :raises QueryTooSlow: it was ended.
        """
        try:
            named = columns_of(expression)
        except NotPlain as problem:
            raise InvalidOption(f"{shown(expression)}: {problem}") from problem
        table = self._columns([one for one in self.askable if one.casefold() in named])
        return _values(expression, self.count, self.askable, views={}, tables={"rows": table}, paths=(), seconds=self._left())

    def _left(self) -> float:
        """The seconds that there are. :raises QueryTooSlow: there are none."""
        if (left := self.ends - time.monotonic()) <= 0:
            raise QueryTooSlow("the views took longer than they may, and were ended")
        return left

    def _columns(self, columns: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        if not columns:
            return pa.table({"": pa.nulls(self.count)})
        query = f"SELECT {', '.join(map(name, columns))} FROM {scan(self.rows.paths)}"
        try:
            found = fetched(query, views={}, tables={}, paths=self.rows.paths, seconds=self._left())
        except CannotReadHere as problem:
            raise InvalidOption(str(problem)) from problem
        self.rows.check()
        return found

    def take(self, rows: Any) -> pa.Table:
        """The rows with these numbers, ascending. :raises SourceUnavailable: a file is not what it was."""
        return self.rows.take(rows, self.shown)


@dataclass(frozen=True)
class TableRows:
    """The rows of a table in memory."""

    table: pa.Table

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def values(self, expression: str) -> pa.ChunkedArray:
        """An expression of DuckDB's SQL over each row. :raises InvalidOption: it is none."""
        return _values(expression, self.count, tuple(self.table.column_names), views={}, tables={"rows": self.table}, paths=())

    def take(self, rows: Any) -> pa.Table:
        """The rows with these numbers."""
        return self.table.take(rows)


def _values(expression: str, count: int, columns: Sequence[str], **of: Any) -> pa.ChunkedArray:
    require("duckdb", "duckdb", "a view by an expression")
    works = f"write one expression of DuckDB's SQL over {', '.join(columns)}"
    try:
        if not isinstance(expression, str) or not balanced(expression):
            raise InvalidOption(f"{shown(expression)} is no expression: {works}")
        found = fetched(f"SELECT ({expression}\n) AS value FROM rows", **of)
    except (CannotReadHere, UnbalancedSql) as problem:
        raise InvalidOption(f"{shown(expression)}: {problem}; {works}") from problem
    if found.num_columns != 1 or found.num_rows != count:
        raise InvalidOption(f"{shown(expression)} has not one value for each row: {works}, without aggregates")
    return found.column(0)


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        # Spark leaves files out whose names begin so.
        files = sorted(one for one in place.iterdir() if one.name.endswith(".parquet") and not one.name.startswith(("_", ".")))
        if any(one.is_dir() and "=" in one.name for one in place.iterdir()):
            raise InvalidOption(f"{place} is partitioned into folders: name its files, or give an Arrow table")
    else:
        files = [place] if place.is_file() else []
    if not files:
        raise SourceUnavailable(f"there is no Parquet file at {place}")
    return files


def _version(path: Path) -> Version:
    stat = path.stat()
    return str(path), stat.st_size, stat.st_mtime_ns
