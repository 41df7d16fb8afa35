"""Rows of Parquet files by their positions, read in this process: an explanation then needs no Spark session.

What is read here is what Spark would read, to the last bit; where that is not certain of a file, it is left to Spark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.datatypes import parse_type, to_arrow
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sources import calendars
from airflow_lineage_provider.sources.parquet_types import Leaf, leaves_of, same_values

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class CannotReadHere(Exception):
    """This source needs Spark to be read as the run read it; the text says why."""


def read_positions(source: Source, files: Mapping[str, str], keys: pa.Table, settings: Mapping[str, str]) -> pa.Table:
    """The rows at the given positions: ``key_0`` (file hash), ``key_1`` (position in the file), then the source's columns.

    ``files`` maps hashes (as text) to the paths that the run read, ``settings`` are those of its session. Positions beyond a file's end
    give no row.

    :raises CannotReadHere: Spark must read the files: they are not local, or it is not certain that what Arrow reads of them is what Spark
        does (partition columns, other types than the table's, columns that only some files have, old calendars, encryption …).
    :raises SourceUnavailable: a file is gone, or is no Parquet file any more.
    """
    import pyarrow as pa

    if source.relation.partition_columns:
        raise CannotReadHere(f"{source.relation.name} is partitioned by {', '.join(source.relation.partition_columns)}")
    if settings.get("spark.sql.parquet.fieldId.read.enabled", "false").lower() == "true":
        raise CannotReadHere(f"the columns of {source.relation.name} are found by field id")
    wanted: dict[int, list[int]] = {}
    for file_hash, position in zip(keys.column(0).to_pylist(), keys.column(1).to_pylist(), strict=True):
        wanted.setdefault(file_hash, []).append(position)
    reader = _Reader(source, settings)
    parts = [reader.read(file_hash, _local_path(source, files, file_hash), sorted(at)) for file_hash, at in sorted(wanted.items())]
    return pa.concat_tables([reader.schema.empty_table(), *parts])


def _local_path(source: Source, files: Mapping[str, str], file_hash: int) -> Path:
    recorded = files.get(str(file_hash))
    if recorded is None:
        raise SourceUnavailable(f"{source.relation.name}: the run's record names no file for a row that it stored")
    parsed = urlparse(recorded)
    if parsed.scheme not in ("", "file"):
        raise CannotReadHere(f"{source.relation.name} is read from {parsed.scheme}")
    path = Path(unquote(parsed.path)) if parsed.scheme else Path(recorded)
    if not path.exists():
        raise SourceUnavailable(f"{source.relation.name}: {path} is gone")
    return path


def _schema(source: Source) -> pa.Schema:
    import pyarrow as pa

    columns = [(f"c{i}", to_arrow(a.type)) for i, a in enumerate(source.output[: len(source.columns)])]
    return pa.schema([("key_0", pa.int64()), ("key_1", pa.int64()), *columns])


@dataclass(frozen=True)
class _Column:
    """A column of a file: its name there, the table's type in Arrow, and whether it has INT96 timestamps."""

    name: str
    type: pa.DataType
    int96: bool


class _Reader:
    """Reads the files of one source."""

    def __init__(self, source: Source, settings: Mapping[str, str]) -> None:
        self.source = source
        self.settings = settings
        self.table = source.relation.name
        self.schema = _schema(source)
        # The reader options of a catalog table are in the catalog.
        self.options = dict(source.relation.options) if source.relation.kind == "files" else None

    def read(self, file_hash: int, path: Path, positions: list[int]) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        parts = [self.schema.empty_table()]
        # INT96 reaches further than 64 bits of nanoseconds do.
        with _parquet_errors(self.source, path), pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            columns = self._columns(file)
            calendar = calendars.calendars_of(file.metadata.metadata or {}, self.settings, self.options)
            for group, first, inside in _row_groups(file, positions):
                rows = file.read_row_group(group, columns=sorted({column.name for column in columns}))
                at = pa.array([position - first for position in inside])
                found = [self._values(rows.column(column.name), at, column, calendar) for column in columns]
                keys = [pa.array([file_hash] * len(inside), pa.int64()), pa.array(inside, pa.int64())]
                parts.append(pa.table([*keys, *found], schema=self.schema))
        return pa.concat_tables(parts)

    def _columns(self, file: pq.ParquetFile) -> list[_Column]:
        """The file's columns of the table's.

        :raises CannotReadHere: one is missing or ambiguous, or may not have the values that Spark reads.
        """
        arrow, leaves = file.schema_arrow, leaves_of(file)
        sensitive = self.settings.get("spark.sql.caseSensitive", "false").lower() == "true"
        found = []
        for column, attribute in zip(self.source.columns, self.source.output, strict=False):
            name = _name_in_file(column, arrow.names, sensitive)
            if name is None:
                raise CannotReadHere(f"column {column} of {self.table} is not in every file as it is in the table")
            kind = arrow.field(name).type
            if not same_values(parse_type(attribute.type), kind, name, leaves):
                raise CannotReadHere(f"column {column} of {self.table} is {attribute.type} in the table and {kind} in a file")
            inside = (leaf for path, of in leaves.items() if path == name or path.startswith(f"{name}.") for leaf in of)
            found.append(_Column(name, to_arrow(attribute.type), self._has_int96(inside)))
        return found

    def _has_int96(self, leaves: Iterator[Leaf]) -> bool:
        found = any(leaf.physical == "INT96" for leaf in leaves)
        if found and self.settings.get("spark.sql.parquet.int96TimestampConversion", "false").lower() == "true":
            raise CannotReadHere(f"{self.table} has INT96 timestamps, which are read in a time zone (int96TimestampConversion)")
        return found

    def _values(self, column: Any, at: pa.Array, kind: _Column, calendar: calendars.Calendars) -> Any:
        """The values at these positions, as Spark reads them."""
        import pyarrow as pa

        try:
            try:
                values = column.take(at).cast(kind.type)
            except pa.ArrowNotImplementedError:
                # Arrow has no take for views, as which some writers (Arrow's in Rust, Polars) declare their texts.
                values = column.cast(kind.type).take(at)
            if pa.types.is_decimal(kind.type):
                values.validate(full=True)  # a file may hold more digits than it declares
        except pa.ArrowException as error:
            raise CannotReadHere(f"column {kind.name} of {self.table} is {column.type} in a file: {_first_line(error)}") from error
        return self._in_gregorian(values, kind, calendar)

    def _in_gregorian(self, values: Any, kind: _Column, calendar: calendars.Calendars) -> Any:
        """In the Gregorian calendar: old dates are moved as Spark moves them; old timestamps, whose zone matters, are left to it.

        :raises CannotReadHere: it takes Spark, or the calendar is not known.
        """
        import pyarrow as pa

        old_dates = calendar.datetime != "gregorian" and calendars.has_days_before(values, calendars.FIRST_GREGORIAN_DAY)
        if old_dates and calendar.datetime == "legacy" and pa.types.is_date32(kind.type):
            return calendars.rebased_days(values)
        moments = calendar.int96 if kind.int96 else calendar.datetime
        old = old_dates or (moments != "gregorian" and calendars.has_moments_before(values, calendars.SAME_IN_ALL_ZONES))
        if old:
            raise CannotReadHere(f"column {kind.name} of {self.table} has dates or timestamps of another calendar than today's")
        return values


def _name_in_file(column: str, names: list[str], sensitive: bool) -> str | None:
    """The file's name of a column as Spark finds it; None where there is none, or more than one."""
    same = [name for name in names if name == column or (not sensitive and name.lower() == column.lower())]
    if len(same) != 1:
        return None
    # Java and Python agree on the case of these letters.
    return same[0] if same[0] == column or (same[0] + column).isascii() else None


@contextmanager
def _parquet_errors(source: Source, path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        text = f"{path} cannot be read: {_first_line(error)}"
        if _is_parquet(path):  # encrypted, say, or compressed as Arrow cannot undo
            raise CannotReadHere(f"{source.relation.name}: {text}") from error
        raise SourceUnavailable(f"{source.relation.name}: {text}") from error


def _is_parquet(path: Path) -> bool:
    """Whether the file ends as Parquet files do, plain or with an encrypted footer."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PAR1", b"PARE") and file.seek(-4, 2) > 0 and file.read(4) in (b"PAR1", b"PARE")
    except OSError:
        return False


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _row_groups(file: pq.ParquetFile, positions: list[int]) -> Iterator[tuple[int, int, list[int]]]:
    """The row groups that hold wanted rows: number, position of the first row, wanted positions (given in order)."""
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        inside = positions[bisect_left(positions, first) : bisect_left(positions, first + rows)]
        if inside:
            yield group, first, inside
        first += rows
