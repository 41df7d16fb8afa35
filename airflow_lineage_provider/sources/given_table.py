"""A table that a person hands in: Arrow data, a pandas frame, or a Parquet or CSV file on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption, SourceUnavailable
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sources.file_types import file_types
from airflow_lineage_provider.sources.view_values import Version, file_version

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset

_FORMATS = {".parquet": "parquet", ".csv": "csv"}


def arrow_table(given: Any, what: str, most_rows: int) -> pa.Table | None:
    """Data in memory as an Arrow table; None where it is none.

    :raises InvalidOption: it has more than ``most_rows`` rows, or its columns are nothing that Arrow knows.
    """
    import pyarrow as pa

    if not hasattr(given, "__arrow_c_stream__") and type(given).__module__.split(".")[0] != "pandas":
        return None
    try:
        table = pa.table(given) if hasattr(given, "__arrow_c_stream__") else pa.Table.from_pandas(given, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        raise InvalidOption(f"table={shown(given)} cannot be read as Arrow data: {problem}") from problem
    check_rows(table.num_rows, what, most_rows)
    return table


@dataclass(frozen=True)
class ParquetTable:
    """The rows of a Parquet file, or of those in a folder, of which columns are read when they are asked for (of a `pa.Table` what
    `answers.profile.Given` has). Texts are in dictionaries, as the files have them."""

    path: Path
    schema: pa.Schema
    versions: tuple[Version, ...]
    num_rows: int
    partitioned: frozenset[str]
    """The columns that stand in the names of folders."""

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return list(self.schema.names)

    def select(self, names: Sequence[str]) -> pa.Table:
        """Some columns.

        :raises SourceUnavailable: they cannot be read, or are not what they were.
        """
        import pyarrow as pa
        from pyarrow import dataset

        of_files = [name for name in names if name not in self.partitioned]
        texts = [name for name in of_files if self.schema.field(name).type in (pa.string(), pa.binary())]
        schema = pa.schema([_in_a_dictionary(one) if one.name in texts else one for one in self.schema])
        try:
            known = dataset.ParquetFileFormat(read_options=dataset.ParquetReadOptions(dictionary_columns=texts))
            found = dataset.dataset(self.path, schema=schema, format=known, partitioning="hive").to_table(columns=list(names))
        except (pa.ArrowException, OSError, UnicodeError) as problem:
            raise SourceUnavailable(f"{self.path} cannot be read: {problem}") from problem
        if _versions(self.path) != self.versions:
            raise SourceUnavailable(f"{self.path} has changed since its rows were counted")
        return found


def _in_a_dictionary(column: pa.Field) -> pa.Field:
    import pyarrow as pa

    return column.with_type(pa.dictionary(pa.int32(), column.type))


def _versions(path: Path) -> tuple[Version, ...]:
    return tuple(file_version(one) for one in (sorted(path.rglob("*.parquet")) if path.is_dir() else [path]))


def file_table(path: Path, most_rows: int) -> pa.Table | ParquetTable:
    """The rows of a Parquet or CSV file, or of a folder of Parquet files. A CSV file has a header, and its values are texts, or NULL where
    nothing stands: whether ``02138`` is a number it does not say.

    :raises InvalidOption: it is no such file, has more rows, or a column is of other types in other files; names these.
    :raises SourceUnavailable: it cannot be read.
    """
    import pyarrow as pa
    from pyarrow import dataset

    if not path.exists():
        raise SourceUnavailable(f"{path} cannot be read: there is no such file")
    kind = "parquet" if path.is_dir() else _FORMATS.get(path.suffix.lower())
    if kind is None:
        can_be = "it can be a .parquet or .csv file, or a folder of Parquet files"
        raise InvalidOption(f"table={shown(str(path))} is no file that is read here; {can_be}")
    try:
        if kind == "csv":
            table = _texts(path)
            check_rows(table.num_rows, str(path), most_rows)
            return table
        versions = _versions(path)
        found = dataset.dataset(path, format="parquet", partitioning="hive")
        check_rows(rows := found.count_rows(), str(path), most_rows)
        by = {name for one in found.get_fragments() for name in dataset.get_partition_keys(one.partition_expression)}
        return ParquetTable(path, _of_one_type(found), versions, rows, frozenset(by))
    except (pa.ArrowException, OSError, UnicodeError) as problem:
        raise SourceUnavailable(f"{path} cannot be read: {problem}") from problem


def _of_one_type(found: dataset.Dataset) -> pa.Schema:
    """The columns of files with the types that they have in all: else values are cast to the first one's, times to their days, say."""
    import pyarrow as pa

    types = file_types(((one.path, one.physical_schema) for one in found.get_fragments()), nulls=True)
    if types.unlike:
        told = next(iter(types.unlike.values()))
        raise InvalidOption(f"{told}: give files of one type, or an Arrow table with the column cast to one")
    schema = found.schema
    for at, column in enumerate(schema):
        written = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        schema = schema.set(at, column.with_type(types.widened.get(column.name, written)))
    return schema


def _texts(path: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    lines = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, parse_options=lines) as reader:
        names = reader.schema.names
    kept = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""], quoted_strings_can_be_null=False
    )
    return csv.read_csv(path, parse_options=lines, convert_options=kept)


def check_rows(rows: int, what: str, most_rows: int) -> None:
    """Refuse a table of more rows.

    :raises InvalidOption: it has more.
    """
    if rows > most_rows:
        raise InvalidOption(f"{what} has {rows:,} rows, and max_rows is {most_rows:,}")
