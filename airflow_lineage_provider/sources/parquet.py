"""Rows of Parquet files by their positions, read in this process: an explanation then needs no Spark session.

DuckDB reads them where it is installed and certainly reads what Spark does (`duckdb_rows`): it finds a few rows in a small part of the
time and of the memory. Arrow reads the rest, and columns that are asked for again and again (`kept_columns`); what both are not certain of
is left to Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources import calendars
from airflow_lineage_provider.sources.duckdb_rows import NotByDuckDb, rows_at
from airflow_lineage_provider.sources.files import CannotReadHere, FileColumn, Footers, check_source, local_path, opened
from airflow_lineage_provider.sources.kept_columns import KEPT_COLUMNS
from airflow_lineage_provider.sources.partitions import partition_of, without_partitions

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.parquet as pq

    Positions = npt.NDArray[np.int64]

_AT_ONCE = 65_536
"""So many rows of a row group, which may have millions, are held at once."""


def read_positions(source: Source, files: Mapping[str, str], keys: pa.Table, settings: Mapping[str, str]) -> pa.Table:
    """The rows at the given positions: ``key_0`` (file hash), ``key_1`` (position in the file), then the source's columns.

    ``files`` maps hashes (as text) to the paths that the run read, ``settings`` are those of its session. Positions beyond a file's end
    give no row.

    :raises CannotReadHere: Spark must read the files: they are not local, or it is not certain that what is read of them here is what Spark
        reads (tables' partitions, other types than the table's, columns that only some files have, old calendars, encryption …).
    :raises SourceUnavailable: a file is gone, or is no Parquet file any more.
    """
    import pyarrow as pa

    check_source(source, settings)
    asked = [(file_hash, _path(source, files, file_hash), at) for file_hash, at in _by_file(keys)]
    reader = _Reader(source, settings, [path for _, path, _ in asked])
    parts = [reader.read(*one) for one in asked]
    return pa.concat_tables([reader.schema.empty_table(), *parts])


def _by_file(keys: pa.Table) -> Iterator[tuple[int, Positions]]:
    """The positions in each file, in order."""
    import numpy as np
    import pyarrow as pa

    if not keys.num_rows:
        return
    coded = pa.chunked_array(keys.column(0).chunks, pa.int64()).combine_chunks().dictionary_encode()
    files, positions = coded.dictionary.to_numpy(), keys.column(1).to_numpy()
    order = np.argsort(files)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    # Of two bytes NumPy sorts in a small part of the time; of most runs' files so many are enough.
    of_file = place[coded.indices.to_numpy()].astype(np.uint16 if len(files) <= 1 << 16 else np.int64)
    ends = np.cumsum(np.bincount(of_file, minlength=len(files)))
    own = np.split(positions[np.argsort(of_file, kind="stable")], ends[:-1])
    for file, at in zip(files[order].tolist(), own, strict=True):
        yield file, np.sort(at) if (at[1:] < at[:-1]).any() else at


def _path(source: Source, files: Mapping[str, str], file_hash: int) -> Path:
    recorded = files.get(str(file_hash))
    if recorded is None:
        raise SourceUnavailable(
            f"{source.relation.name}: a row is in a file that the run's record does not name: its files have been written again since"
        )
    return local_path(source, recorded)


def _schema(source: Source) -> pa.Schema:
    import pyarrow as pa

    columns = [(f"c{i}", to_arrow(a.type)) for i, a in enumerate(source.output[: len(source.columns)])]
    return pa.schema([("key_0", pa.int64()), ("key_1", pa.int64()), *columns])


class _Reader:
    """Reads the files of one source, these one after the other."""

    def __init__(self, source: Source, settings: Mapping[str, str], paths: Collection[Path]) -> None:
        self.paths = paths
        self.source = source
        self.table = source.relation.name
        self.schema = _schema(source)
        self.in_files = without_partitions(source)
        self.footers = Footers(self.in_files, settings)

    def read(self, file_hash: int, path: Path, positions: Positions) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        parts, partition = [self.schema.empty_table()], partition_of(self.source, path)
        types = {name: self.schema.field(f"c{at}").type for at, name in enumerate(self.source.columns)}
        with opened(self.source, path) as file:
            columns, calendar = self.footers.columns(file), self.footers.calendars(file)
            for at, rows in _rows(file, path, columns, positions, self.paths):
                read = zip(self.in_files.columns, rows, columns, strict=True)
                found = {name: self._values(values, column, types[name], calendar) for name, values, column in read}
                found |= {name: partition.arrow(name, kind, len(at)) for name, kind in types.items() if name in partition}
                keys = [pa.array(np.full(len(at), file_hash, np.int64)), pa.array(at)]
                parts.append(pa.table([*keys, *(found[name] for name in types)], schema=self.schema))
        return pa.concat_tables(parts)

    def _values(self, values: pa.ChunkedArray, column: FileColumn, kind: pa.DataType, calendar: calendars.Calendars) -> Any:
        """The values as Spark reads them.

        :raises CannotReadHere: it is not certain what it reads.
        """
        import pyarrow as pa

        try:
            values = values.cast(kind)
            if pa.types.is_decimal(kind):
                values.validate(full=True)  # a file may hold more digits than it declares
        except pa.ArrowException as error:
            raise CannotReadHere(f"column {column.name} of {self.table} is {values.type} in a file: {first_line(error)}") from error
        return self._in_gregorian(values, column, kind, calendar)

    def _in_gregorian(self, values: Any, column: FileColumn, kind: pa.DataType, calendar: calendars.Calendars) -> Any:
        """In the Gregorian calendar: old dates are moved as Spark moves them; old timestamps, whose zone matters, are left to it.

        :raises CannotReadHere: it takes Spark, or the calendar is not known.
        """
        import pyarrow as pa

        old_dates = calendar.datetime != "gregorian" and calendars.has_days_before(values, calendars.FIRST_GREGORIAN_DAY)
        if old_dates and calendar.datetime == "legacy" and pa.types.is_date32(kind):
            return calendars.rebased_days(values)
        moments = calendar.int96 if column.int96 else calendar.datetime
        old = old_dates or (moments != "gregorian" and calendars.has_moments_before(values, calendars.SAME_IN_ALL_ZONES))
        if old:
            raise CannotReadHere(f"column {column.name} of {self.table} has dates or timestamps of another calendar than today's")
        return values


def _rows(
    file: pq.ParquetFile, path: Path, columns: list[FileColumn], positions: Positions, among: Collection[Path]
) -> Iterator[tuple[Positions, list[pa.ChunkedArray]]]:
    """The wanted rows of a file (positions given in order): their positions, and the columns."""
    import pyarrow as pa

    inside = positions[: positions.searchsorted(file.metadata.num_rows)]
    if not len(inside):
        return
    kept = KEPT_COLUMNS.at(path, file.metadata.num_rows, [column.name for column in columns], inside)
    if not kept:
        yield from _read_rows(file, path, columns, inside, among)
        return
    rest = [column for column in columns if column.name not in kept]
    read = [rows for _, rows in _read_rows(file, path, rest, inside, among)] if rest else []
    for at, column in enumerate(rest):
        kept[column.name] = pa.chunked_array([chunk for rows in read for chunk in rows[at].chunks])
    yield inside, [kept[column.name] for column in columns]


def _read_rows(
    file: pq.ParquetFile, path: Path, columns: list[FileColumn], inside: Positions, among: Collection[Path]
) -> Iterator[tuple[Positions, list[pa.ChunkedArray]]]:
    try:
        yield inside, rows_at(file, path, columns, inside, among)
        return
    except NotByDuckDb:
        pass
    for group, first, of_group in _row_groups(file, inside):
        for batch in file.iter_batches(_AT_ONCE, row_groups=[group], columns=sorted({column.name for column in columns})):
            at = of_group[slice(*of_group.searchsorted([first, first + batch.num_rows]))]
            if len(at):
                yield at, [_taken(batch.column(column.name), at - first) for column in columns]
            first += batch.num_rows


def _taken(column: pa.Array, at: Positions) -> pa.ChunkedArray:
    import pyarrow as pa

    try:
        return pa.chunked_array([column.take(pa.array(at))])
    except pa.ArrowNotImplementedError:
        # Arrow has no take for views, as which some writers (Arrow's in Rust, Polars) declare their texts.
        known = column.cast(pa.large_string() if pa.types.is_string_view(column.type) else pa.large_binary())
        return pa.chunked_array([known.take(pa.array(at))])


def _row_groups(file: pq.ParquetFile, positions: Positions) -> Iterator[tuple[int, int, Positions]]:
    """The row groups that hold wanted rows: number, position of the first row, wanted positions (given in order)."""
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        inside = positions[slice(*positions.searchsorted([first, first + rows]))]
        if len(inside):
            yield group, first, inside
        first += rows
