"""Which Parquet files, and which of their columns, DuckDB certainly reads as Spark does, and how it is asked to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.sources import calendars
from airflow_lineage_provider.sources.duckdb_connection import text
from airflow_lineage_provider.sources.files import FileColumn
from airflow_lineage_provider.sources.parquet_types import Leaf
from airflow_lineage_provider.sources.row_groups import bounds_in_footer

if TYPE_CHECKING:
    import pyarrow.parquet as pq

POSITION = "file_row_number"
# DuckDB takes a path for a pattern, and has columns of its own beside a file's.
_PATTERNS = frozenset("*?[]{}\\")
_OWN_COLUMNS = frozenset({"filename", POSITION, "file_index", "rowid"})
_KINDS = {
    "BOOLEAN": {"None"},
    "INT32": {"None", "Int", "Date", "Decimal"},
    "INT64": {"None", "Int", "Timestamp", "Decimal"},
    "INT96": {"None"},
    "FLOAT": {"None"},
    "DOUBLE": {"None"},
    "BYTE_ARRAY": {"None", "String"},
    "FIXED_LEN_BYTE_ARRAY": {"Decimal"},
}


def scan(paths: Iterable[Path], *, with_path: bool = False, by_name: bool = False) -> str:
    """Files in FROM, with the position of each row; ``with_path``: and with its file (``filename``). ``by_name``: columns are those of
    all files, of the widest types, in place of the first file's."""
    listed = ", ".join(text(str(path)) for path in paths)
    more = f"{POSITION} = true, filename = {'true' if with_path else 'false'}"
    names = "true" if by_name else "false"
    return f"read_parquet([{listed}], {more}, hive_partitioning = false, union_by_name = {names}, binary_as_string = false)"


def file_problem(file: pq.ParquetFile, path: Path) -> str:
    """What keeps DuckDB from a file; empty when nothing does."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return "its path is no text"
    if not _PATTERNS.isdisjoint(str(path)) or "\0" in str(path):
        return "its path would be a pattern"
    names = [name.lower() for name in file.schema_arrow.names]
    if len(set(names)) < len(names):
        return "names of its columns differ in case alone"
    taken = sorted(_OWN_COLUMNS.intersection(names))
    return f"it has a column {taken[0]}" if taken else ""


def column_problem(file: pq.ParquetFile, column: FileColumn) -> str:
    """What keeps DuckDB from a column of a file; empty when nothing does."""
    if "\0" in column.name or not column.name:
        return "its name cannot be written"
    unknown = [leaf for leaf in column.leaves if leaf.kind not in _KINDS.get(leaf.physical, ())]
    if unknown:
        return f"it has {unknown[0].physical} values that are {unknown[0].kind}"
    if any(leaf.kind == "Decimal" for leaf in column.leaves) and not _digits_fit(file, column):
        # It would cut what does not fit (of four digits, to 16 bits) without a word.
        return "its decimals are not known to have the digits that they declare"
    return ""


def _digits_fit(file: pq.ParquetFile, column: FileColumn) -> bool:
    if not isinstance(column.type, ScalarType):
        return False
    precision, scale = int(column.leaves[0].annotation["precision"]), int(column.leaves[0].annotation["scale"])
    # The usual context has fewer digits than a decimal.
    most = Decimal(10**precision - 1).scaleb(-scale, Context(prec=80))
    return all(bounds is not None and -most <= bounds[0] and bounds[1] <= most for bounds in _bounds(file, column, raw=False))


def in_todays_calendar(file: pq.ParquetFile, column: FileColumn, calendar: calendars.Calendars) -> bool:
    """Whether the file's statistics, or its footer, tell that a scalar column has no dates or timestamps of another calendar."""
    if column.int96:  # without statistics
        return calendar.int96 == "gregorian"
    (leaf,) = column.leaves
    if leaf.kind not in ("Date", "Timestamp") or calendar.datetime == "gregorian":
        return True
    if leaf.kind == "Timestamp" and not leaf.annotation["isAdjustedToUTC"]:
        return True
    first = calendars.FIRST_GREGORIAN_DAY if leaf.kind == "Date" else _first_moment(leaf)
    return all(bounds is not None and bounds[0] >= first for bounds in _bounds(file, column, raw=True))


def _first_moment(leaf: Leaf) -> int:
    return calendars.SAME_IN_ALL_ZONES // (1000 if leaf.annotation["timeUnit"] == "milliseconds" else 1)


def _bounds(file: pq.ParquetFile, column: FileColumn, *, raw: bool) -> Iterator[tuple[Any, Any] | None]:
    number = next(i for i in range(len(file.schema)) if file.schema.column(i).path == column.name)
    return bounds_in_footer(file, number, raw=raw)
