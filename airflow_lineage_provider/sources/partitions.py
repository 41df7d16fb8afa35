"""The values of partition columns, which stand in the names of a file's folders (``…/day=2024-01-31/country=NL/part-0.parquet``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sources.duckdb_connection import text
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.sources.files import CannotReadHere

if TYPE_CHECKING:
    import pyarrow as pa

_NULL = "__HIVE_DEFAULT_PARTITION__"
_LARGEST = {"int": 2**31 - 1, "bigint": 2**63 - 1}
_WHOLE, _DAY = re.compile(r"-?\d{1,19}", re.ASCII), re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# As Spark escapes what no file system takes.
_ESCAPED, _ODD = re.compile(r"%([0-9A-Fa-f]{2})"), re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class Partition:
    """The values of a file, by their columns in lower case: NULL, or the text that is cast to the column's type."""

    values: dict[str, str | None]

    def __contains__(self, column: str) -> bool:
        return column.lower() in self.values

    def sql(self, column: str, kind: str) -> str:
        """The value as DuckDB's."""
        value = self.values[column.lower()]
        return f"CAST({'NULL' if value is None else text(value)} AS {kind})"

    def arrow(self, column: str, kind: pa.DataType, rows: int) -> pa.ChunkedArray:
        """The value so often."""
        import pyarrow as pa

        return pa.chunked_array([pa.array([self.values[column.lower()]] * rows, pa.string()).cast(kind)])


def unescaped(folder: str) -> str:
    """The text of a folder's name, as Spark has escaped it."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), folder)


def without_partitions(source: Source) -> Source:
    """The source with the columns alone that stand in its files: of a name that a file has, too, Spark takes what the folder says."""
    named = {one.lower() for one in source.relation.partition_columns}
    own = [(name, a) for name, a in zip(source.columns, source.output, strict=False) if name.lower() not in named]
    return replace(source, columns=tuple(name for name, _ in own), output=tuple(a for _, a in own))


def partition_of(source: Source, path: Path) -> Partition:
    """What the names of a file's folders say; nothing of a source that is not partitioned.

    :raises CannotReadHere: they are not those of its partitions, or a value could be read in two ways.
    """
    columns = source.relation.partition_columns
    if columns and source.relation.kind == "table":
        _check_place(source, path)
    types = {name.lower(): a.type for name, a in zip(source.columns, source.output, strict=False)}
    folders = _folders(source, path, columns)
    return Partition({name.lower(): _value(name, types.get(name.lower(), "string"), value) for name, value in folders})


def _check_place(source: Source, path: Path) -> None:
    """A catalog's partition has all files below its folder, and these may stand in folders of names that say something else."""
    roots = [local_path(root) for root in source.relation.paths]
    if path.parents[len(source.relation.partition_columns)] not in roots:
        raise CannotReadHere(f"{path} is not in the folder of a partition of {source.relation.name}")


def _folders(source: Source, path: Path, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Each partition column with its text: one folder for each, in their order, and the file in the last."""
    named = [one.partition("=") for one in path.parts[:-1][-len(columns) :]] if columns else []
    if [name for name, _, _ in named] != list(columns) or not all(mark for _, mark, _ in named):
        raise CannotReadHere(f"{source.relation.name} is partitioned by {', '.join(columns)}, and {path} is not in such folders")
    return [(name, value) for name, _, value in named]


def _value(column: str, kind: str, given: str) -> str | None:
    if given == _NULL:
        return None
    known = _ODD.search(given) is None
    if kind == "string":
        known, given = known and bool(given), unescaped(given)
    elif kind in _LARGEST:
        known = _WHOLE.fullmatch(given) is not None and -_LARGEST[kind] - 1 <= int(given) <= _LARGEST[kind]
    else:
        known = kind == "date" and _is_day(given)
    if not known:
        raise CannotReadHere(f"partition {column}={given} is not certain to be read as a value of type {kind}")
    return given


def _is_day(given: str) -> bool:
    try:
        return _DAY.fullmatch(given) is not None and date.fromisoformat(given) >= date.min
    except ValueError:
        return False
