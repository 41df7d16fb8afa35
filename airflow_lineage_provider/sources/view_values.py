"""An expression over every row of local Parquet files, or of a table in memory, in the order of the rows."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption, QueryTooSlow, SourceUnavailable
from airflow_lineage_provider.extras import require
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sources.duckdb_connection import name
from airflow_lineage_provider.sources.duckdb_files import POSITION, file_problem, scan
from airflow_lineage_provider.sources.duckdb_query import fetched, streamed
from airflow_lineage_provider.sources.encoded_values import EncodedValues
from airflow_lineage_provider.sources.file_types import FileTypes, file_types
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sql.asked_sql import UnbalancedSql, balanced
from airflow_lineage_provider.sql.named_columns import named_columns
from airflow_lineage_provider.sql.row_expressions import NotPlain, columns_of

if TYPE_CHECKING:
    import pyarrow as pa

Version = tuple[str, int, int]
# What is computed at once: a plain expression may make a value some thirty times as long, and adds some thousand characters.
_VECTOR, _PIECE_ROWS, _PIECE_BYTES = 2_048, 32_768, 2 * 2**20


@dataclass(frozen=True)
class ParquetRows:
    """The rows of files, one file after another. ``versions`` are their paths, sizes in bytes and times of change in nanoseconds;
    ``counts`` how many rows each has; ``types`` what the files have of other types under one name.
    Expressions are computed in a time ``zone``; of none, in UTC."""

    versions: tuple[Version, ...]
    counts: tuple[int, ...]
    columns: tuple[str, ...]
    types: FileTypes
    zone: str = ""

    @classmethod
    def at(cls, places: Sequence[str | Path]) -> ParquetRows:
        """The rows of files, and of the Parquet files in folders, those in the order of their names.

        :raises SourceUnavailable: there is none, or it may not be looked at.
        :raises InvalidOption: one cannot be read, or their columns have other names.
        """
        import pyarrow.parquet as pq
        from pyarrow import ArrowException

        counts, columns, versions = [], None, tuple(file_version(path) for place in places for path in _files(Path(place)))
        schemas = []
        for path, _, _ in versions:
            try:
                with pq.ParquetFile(path) as file:
                    if problem := file_problem(file, Path(path)):
                        raise InvalidOption(f"{path} cannot be read by DuckDB: {problem}")
                    names = tuple(file.schema_arrow.names)
                    schemas.append((path, file.schema_arrow))
                    counts.append(file.metadata.num_rows)
            except (ArrowException, OSError) as error:
                raise InvalidOption(f"{path} is no Parquet file that can be read: {error}") from error
            if columns is not None and names != columns:
                raise InvalidOption(f"the columns of {path} ({', '.join(names)}) are not those of {versions[0][0]} ({', '.join(columns)})")
            columns = names
        return cls(versions, tuple(counts), columns or (), file_types(schemas))

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(self.counts)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(Path(path) for path, _, _ in self.versions)

    def values(self, expression: str) -> pa.ChunkedArray:
        """An expression of DuckDB's SQL over each row.

        :raises InvalidOption: it is none, or may have a column that is of other types in other files; names these.
        :raises SourceUnavailable: a file is not what it was.
        """
        if self.types.unlike:
            named = named_columns([expression], self.columns) if isinstance(expression, str) else None
            self.check_types(self.columns if named is None else named)
        view = {"rows": f"SELECT * EXCLUDE (file_row_number) FROM {self.scanned}"}
        found = _values(expression, self.count, self.columns, views=view, tables={}, paths=self.paths, zone=self.zone)
        self.check()
        return found

    @property
    def scanned(self) -> str:
        """The files in FROM. By names, DuckDB has the type that holds what all have; else it casts to that of the first."""
        return scan(self.paths, by_name=bool(self.types.widened))

    def check_types(self, columns: Collection[str]) -> None:
        """That columns are of one type in all files. :raises InvalidOption: one is not; names two files and its types."""
        if told := [one for column, one in self.types.unlike.items() if column in columns]:
            works = "name files of one type, or give an Arrow table with the column cast to one"
            raise InvalidOption(f"{told[0]}: read together, values would be cast from one to the other; {works}")

    def take(self, rows: Any, columns: Sequence[str] | None = None, ends: float | None = None) -> pa.Table:
        """The rows with these numbers, ascending, with all columns or these. It is ended at a time of `time.monotonic`, if one is given.

        :raises SourceUnavailable: a file is not what it was, or its rows cannot be read. :raises QueryTooSlow: it was ended.
        """
        import numpy as np
        import pyarrow as pa

        self.check()
        numbers, listed = np.asarray(rows, np.int64), list(self.columns if columns is None else columns)
        parts, first = [], 0
        for path, count in zip(self.paths, self.counts, strict=True):
            own = numbers[slice(*numbers.searchsorted([first, first + count]))] - first
            if len(own) or not self.count:
                parts.append(self._as_all(_rows_at(path, own, listed, ends)))
            first += count
        try:
            found = pa.concat_tables(parts or [self._as_all(_rows_at(self.paths[0], numbers[:0], listed, ends))])
        except pa.ArrowException as problem:
            raise SourceUnavailable(f"the rows of {path} and those of other files are not of the same types: {problem}") from problem
        self.check()
        return found

    def _as_all(self, rows: pa.Table) -> pa.Table:
        """Rows of one file with the types that whole numbers have of all files."""
        for at, column in enumerate(rows.column_names):
            if column in self.types.widened:
                rows = rows.set_column(at, column, rows.column(at).cast(self.types.widened[column]))
        return rows

    def check(self) -> None:
        """That the files are those whose rows were numbered. :raises SourceUnavailable: names those that are not."""
        changed = [path for path, *known in self.versions if _version_now(path) != tuple(known)]
        if changed:
            raise SourceUnavailable(f"{', '.join(changed)}: not as it was when the views were made; make them again")


@dataclass(frozen=True)
class ShownRows:
    """The rows of files for who may not see all of them: a plain expression has ``askable`` columns, a row those that are ``shown``.

    DuckDB is given the columns that an expression names, some rows at a time, and can read no file then. Expressions are computed until
    ``ends``, a time of `time.monotonic`, and ended then; and until they have ``most_values`` different values, or these take
    ``most_bytes``.
    """

    rows: ParquetRows
    askable: tuple[str, ...]
    shown: tuple[str, ...]
    ends: float
    most_values: int = 100_000
    most_bytes: int = 256 * 2**20

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.rows.count

    def values(self, expression: str) -> pa.ChunkedArray:
        """An expression of DuckDB's SQL over each row, as codes of a dictionary.

        :raises InvalidOption: it is no plain one, has another column, or values that are no bars. :raises QueryTooSlow: it was ended.
        :raises AnswerTooLarge: it has too many different values, or too long ones. :raises SourceUnavailable: a file is not what it was.
        """
        try:
            named = columns_of(expression)
        except NotPlain as problem:
            raise InvalidOption(f"{shown(expression)}: {problem}") from problem
        self.rows.check()
        found, seen, kind = EncodedValues(self.most_values, self.most_bytes), 0, None
        with closing(self._pieces([one for one in self.askable if one.lower() in named])) as pieces:
            for piece in pieces:
                given: dict[str, Any] = {"seconds": _left(self.ends), "zone": self.rows.zone}
                values = _values(expression, len(piece), self.askable, views={}, tables={"rows": piece}, paths=(), **given)
                found.add(values)
                seen, kind = seen + len(values), values.type
        self.rows.check()
        if seen != self.count:
            raise SourceUnavailable(f"{seen:,} rows were read where there were {self.count:,}")
        assert kind is not None
        return found.all(kind)

    def _pieces(self, columns: Sequence[str]) -> Generator[pa.Table, None, None]:
        """All rows with these columns, in pieces of a size that what is computed of them is held without looking at it; one at least."""
        import pyarrow as pa

        if not columns:
            whole, rest = divmod(self.count, _PIECE_ROWS)
            for size in [_PIECE_ROWS] * whole + [rest] * bool(rest or not whole):
                yield pa.table({"": pa.nulls(size)})
            return
        self.rows.check_types(columns)
        query = f"SELECT {', '.join(map(name, columns))} FROM {self.rows.scanned}"
        try:
            if not self.count:
                yield fetched(query, views={}, tables={}, paths=self.rows.paths, seconds=_left(self.ends))
            with closing(streamed(query, paths=self.rows.paths, rows=_VECTOR, seconds=_left(self.ends))) as batches:
                yield from _pieces(batches)
        except CannotReadHere as problem:
            raise InvalidOption(str(problem)) from problem

    def take(self, rows: Any) -> pa.Table:
        """The rows with these numbers, ascending.

        :raises SourceUnavailable: a file is not what it was. :raises QueryTooSlow: it was ended.
        """
        return self.rows.take(rows, self.shown, self.ends)


@dataclass(frozen=True)
class TableRows:
    """The rows of a table in memory. Expressions are computed in a time ``zone``; of none, in UTC."""

    table: pa.Table
    zone: str = ""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def values(self, expression: str) -> pa.ChunkedArray:
        """An expression of DuckDB's SQL over each row. :raises InvalidOption: it is none."""
        return _values(
            expression, self.count, tuple(self.table.column_names), views={}, tables={"rows": self.table}, paths=(), zone=self.zone
        )

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


def file_version(path: str | Path) -> Version:
    """A file as it is now. :raises SourceUnavailable: there is none, or it may not be looked at."""
    try:
        stat = Path(path).stat()
    except OSError as problem:
        raise SourceUnavailable(f"{path} cannot be read: {problem}") from problem
    return str(path), stat.st_size, stat.st_mtime_ns


def _version_now(path: str) -> tuple[int, int] | None:
    """The size of a file and its time of change; None where it is none, or may not be looked at."""
    try:
        return file_version(path)[1:] if Path(path).is_file() else None
    except (OSError, SourceUnavailable):
        return None


def _left(ends: float) -> float:
    """The seconds until a time of `time.monotonic`. :raises QueryTooSlow: there are none."""
    if (left := ends - time.monotonic()) <= 0:
        raise QueryTooSlow("the views took longer than they may, and were ended")
    return left


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches as tables, each of as many of them as a piece may have; large batches are cut."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        for one in _cut(batch):
            if waiting and (rows + len(one) > _PIECE_ROWS or size + one.nbytes > _PIECE_BYTES):
                yield pa.Table.from_batches(waiting)
                waiting, rows, size = [], 0, 0
            waiting, rows, size = [*waiting, one], rows + len(one), size + one.nbytes
    if waiting:
        yield pa.Table.from_batches(waiting)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= _PIECE_BYTES or len(batch) < 2:
        yield batch
    else:
        half = len(batch) // 2
        yield from _cut(batch.slice(0, half))
        yield from _cut(batch.slice(half))


def _rows_at(path: Path, positions: Any, columns: Sequence[str], ends: float | None) -> pa.Table:
    """The rows of a file at positions, in their order. :raises SourceUnavailable: they cannot be read."""
    import pyarrow as pa

    seconds = None if ends is None else _left(ends)
    listed = ", ".join(map(name, [POSITION, *columns]))
    query = f"SELECT {listed} FROM {scan([path])} WHERE {POSITION} IN (SELECT position FROM wanted)"
    wanted = {"wanted": pa.table({"position": pa.array(positions, pa.int64())})}
    try:
        found = fetched(query, views={}, tables=wanted, paths=[path], may_skip=True, seconds=seconds)
    except CannotReadHere as problem:
        raise SourceUnavailable(f"the rows of {path} cannot be read: {problem}") from problem
    return found.sort_by(POSITION).drop_columns([POSITION])
