"""A source's CSV, JSON or ORC files as one table in memory: all columns, and the rows' lineage keys, as Spark reads and computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sources import json_lines, orc_rows
from airflow_lineage_provider.sources.csv_lines import data_of, values_of
from airflow_lineage_provider.sources.csv_options import csv_format
from airflow_lineage_provider.sources.duckdb_connection import name
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.kept import KEPT
from airflow_lineage_provider.sources.partitions import Partition, partition_of, without_partitions
from airflow_lineage_provider.sources.row_digests import row_digest
from airflow_lineage_provider.sources.text_values import typed

if TYPE_CHECKING:
    import pyarrow as pa

Reader = Callable[[bytes, Mapping[str, str]], Mapping[str, "pa.ChunkedArray"]]
# But tabs and ends of lines.
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
MOST_BYTES = 256 * 2**20
"""Files with more than this, decompressed, are not held in memory."""


class _OfColumn(CannotReadHere):
    """A column's values need Spark."""

    def __init__(self, column: str, why: str) -> None:
        super().__init__(why)
        self.column = column


def rows_of_files(source: Source, identity: SourceIdentity, files: Iterable[str], settings: Mapping[str, str]) -> pa.Table:
    """The rows of the files that a run read, under the names of the source's columns, beside those of the lineage key.

    ``files`` are their URIs, ``settings`` are those of the run's session. What was read once is kept for a while: a question reads the same
    rows several times.

    :raises CannotReadHere: it is not certain that this is what Spark reads.
    """
    try:
        paths = _paths(source, files)
        states = tuple((path, *_state(path)) for path in paths)
        key = (source.relation, source.columns, source.output, identity, states, tuple(sorted(settings.items())))
        return KEPT.found(key, lambda: _read(source, identity, paths, settings))
    except OSError as problem:
        raise CannotReadHere(f"{source.relation.name} cannot be read: {problem}") from problem


def _state(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _paths(source: Source, files: Iterable[str]) -> tuple[Path, ...]:
    table = source.relation.name
    found = [local_path(uri) for uri in files]
    here = tuple(path for path in found if path is not None)
    if len(here) < len(found):
        raise CannotReadHere(f"{table} is read from another file system")
    return here


def _read(source: Source, identity: SourceIdentity, paths: Sequence[Path], settings: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    read = _reader(source, settings)
    _check_columns(source, settings)
    own, in_files = _types(source), _types(without_partitions(source))
    if not in_files:
        raise CannotReadHere(f"{source.relation.name} has no columns but its partitions")
    left, parts = MOST_BYTES, []
    for path in paths:
        folders = _partition(source, path)
        data = data_of(path, left)
        left -= len(data)
        rows = _file(path, data, read, in_files)
        for one in (column for column in own if column in folders):
            rows = rows.append_column(one, folders.arrow(one, to_arrow(own[one]), rows.num_rows))
        parts.append(rows.select([*own]))
    schema = pa.schema([(one, to_arrow(kind)) for one, kind in own.items()])
    return _with_key(pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in parts)]), identity, own)


def _types(source: Source) -> dict[str, str]:
    return dict(zip(source.columns, (a.type for a in source.output), strict=False))


def _partition(source: Source, path: Path) -> Partition:
    """The values of a file's folders; raises as `partition_of`, and of texts whose digest is not known."""
    found = partition_of(source, path)
    for column, value in found.values.items():
        if value is not None and not value.isprintable():
            raise CannotReadHere(f"partition {column} of {path} has a control character")
    return found


def _check_columns(source: Source, settings: Mapping[str, str]) -> None:
    """:raises CannotReadHere: a column is not in the files, or two cannot be told apart."""
    table, names = source.relation.name, [column.lower() for column in source.columns]
    beside = {"_metadata", settings.get("spark.sql.columnNameOfCorruptRecord", "_corrupt_record").lower()}
    if not beside.isdisjoint(names):
        raise CannotReadHere(f"{table} has a column that says what is wrong with a line, or which file has it")
    if len(set(names)) < len(names):
        raise CannotReadHere(f"columns of {table} have names that differ in case alone")
    if any("\0" in column or not column for column in source.columns):
        raise CannotReadHere(f"{table} has a column whose name cannot be written")


def _reader(source: Source, settings: Mapping[str, str]) -> Reader:
    """What reads a file of the source's format from its bytes: the columns (types by name), by their names."""
    relation, zone = source.relation, settings.get("spark.sql.session.timeZone", "")
    match relation.format:
        case "csv":
            form = csv_format(relation, zone)
            return lambda data, own: _typed(dict(zip(own, values_of(data, form, len(own)), strict=True)), own, settings)
        case "json":
            json_lines.check_options(relation, zone)
            return lambda data, own: _without_control(_typed(json_lines.texts_of(data, own), own, settings), own)
        case "orc":
            orc_rows.check_options(relation)
            return lambda data, own: _without_control(orc_rows.columns_of(data, own, settings, MOST_BYTES), own)
    raise CannotReadHere(f"files of the format {relation.format} are not read here")


def _typed(texts: Mapping[str, pa.ChunkedArray], own: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
    found = {}
    for column, values in texts.items():
        try:
            found[column] = typed(values, own[column], settings)
        except CannotReadHere as problem:
            raise _OfColumn(column, str(problem)) from problem
    return found


def _without_control(columns: dict[str, pa.ChunkedArray], own: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
    """:raises _OfColumn: a text has control characters but tabs and ends of lines, whose digest is not known."""
    import pyarrow.compute as pc

    for column, values in columns.items():
        if own[column] == "string" and pc.any(pc.match_substring_regex(values, _CONTROL)).as_py():
            raise _OfColumn(column, "it has control characters")
    return columns


def _file(path: Path, data: bytes, read: Reader, own: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    try:
        return pa.table(read(data, own))
    except _OfColumn as problem:
        raise CannotReadHere(f"column {problem.column} of {path}: {problem}") from problem
    except CannotReadHere as problem:
        raise CannotReadHere(f"{path}: {problem}") from problem


def _with_key(rows: pa.Table, identity: SourceIdentity, own: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    if identity.kind == "primary_key":
        (present, *_) = identity.columns
        return rows.append_column(present.name, pa.array([True] * rows.num_rows, pa.bool_()))
    (digest,) = identity.columns
    listed = ", ".join(name(column) for column in own)
    query = f"SELECT {listed}, {row_digest(own)} AS {name(digest.name)} FROM read"
    found = fetched(query, views={}, tables={"read": rows}, paths=())
    return rows.append_column(digest.name, found.column(digest.name))
