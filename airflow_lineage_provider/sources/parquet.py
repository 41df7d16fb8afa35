"""Rows of Parquet files by their positions, read in this process: an explanation then needs no Spark session."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.operators import Source

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class CannotReadHere(Exception):
    """This source needs Spark to be read as the run read it; the text says why."""


def read_positions(source: Source, files: Mapping[str, str], keys: pa.Table) -> pa.Table:
    """The rows at the given positions: ``key_0`` (file hash), ``key_1`` (position in the file), then the source's columns.

    ``files`` maps hashes (as text) to the paths that the run read. Positions beyond a file's end give no row.

    :raises CannotReadHere: the files are not local, or hold the columns otherwise than the table shows them (partition
        columns, other types, nested schema changes): Spark must read them.
    :raises SourceUnavailable: a file is gone or cannot be read.
    """
    import pyarrow as pa

    if source.relation.partition_columns:
        raise CannotReadHere(f"{source.relation.name} is partitioned by {', '.join(source.relation.partition_columns)}")
    wanted: dict[int, list[int]] = {}
    for file_hash, position in zip(keys.column(0).to_pylist(), keys.column(1).to_pylist(), strict=True):
        wanted.setdefault(file_hash, []).append(position)
    parts = [_read_file(source, file_hash, _local_path(source, files, file_hash), sorted(at)) for file_hash, at in sorted(wanted.items())]
    return pa.concat_tables([_schema(source).empty_table(), *parts])


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


def _read_file(source: Source, file_hash: int, path: Path, positions: list[int]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(source)
    parts = [schema.empty_table()]
    with _parquet_errors(source, path), pq.ParquetFile(path) as file:
        names = _columns_in_file(source, file.schema_arrow)
        for group, first, inside in _row_groups(file, positions):
            rows, at = file.read_row_group(group, columns=sorted(set(names))), pa.array([position - first for position in inside])
            keys = [pa.array([file_hash] * len(inside), pa.int64()), pa.array(inside, pa.int64())]
            columns = [_taken(source, rows.column(name), at, schema.field(2 + i).type) for i, name in enumerate(names)]
            parts.append(pa.table([*keys, *columns], schema=schema))
    return pa.concat_tables(parts)


@contextmanager
def _parquet_errors(source: Source, path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise SourceUnavailable(f"{source.relation.name}: {path} cannot be read: {str(error).splitlines()[0]}") from error


def _row_groups(file: pq.ParquetFile, positions: list[int]) -> Iterator[tuple[int, int, list[int]]]:
    """The row groups that hold wanted rows: number, position of the first row, wanted positions (given in order)."""
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        inside = positions[bisect_left(positions, first) : bisect_left(positions, first + rows)]
        if inside:
            yield group, first, inside
        first += rows


def _columns_in_file(source: Source, schema: pa.Schema) -> list[str]:
    """The file's names of the table's columns: Spark finds them without regard to case."""
    by_name: dict[str, list[str]] = {}
    for name in schema.names:
        by_name.setdefault(name.casefold(), []).append(name)
    found = []
    for column in source.columns:
        candidates = [name for name in schema.names if name == column] or by_name.get(column.casefold(), [])
        if len(candidates) != 1:
            raise CannotReadHere(f"column {column} of {source.relation.name} is not in every file as it is in the table")
        found.append(candidates[0])
    return found


def _taken(source: Source, column: Any, at: pa.Array, wanted: pa.DataType) -> Any:
    """The values at these positions, with Spark's type."""
    import pyarrow as pa

    try:
        return _as_spark(source, column.take(at), wanted)
    except pa.ArrowNotImplementedError:
        # Arrow has no take for views, as which some writers (Arrow's in Rust, Polars) declare their texts.
        return _as_spark(source, column, wanted).take(at)


def _as_spark(source: Source, column: Any, wanted: pa.DataType) -> Any:
    """The column with Spark's type, where the file's type holds the same values."""
    import pyarrow as pa

    if column.type == wanted:
        return column
    try:
        return column.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CannotReadHere(f"a column of {source.relation.name} is {column.type} in the file and {wanted} in the table") from error
