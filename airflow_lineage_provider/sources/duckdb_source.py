"""A source's Parquet files as one query of DuckDB's: the columns that are asked for, typed as the table's, and the rows' lineage keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sources import calendars
from airflow_lineage_provider.sources.duckdb_connection import name, text
from airflow_lineage_provider.sources.duckdb_files import POSITION, column_problem, file_problem, in_todays_calendar, scan
from airflow_lineage_provider.sources.files import CannotReadHere, FileColumn, Footers, check_source, local_path, opened
from airflow_lineage_provider.sources.parquet_types import Leaf
from airflow_lineage_provider.sources.partitions import partition_of, without_partitions
from airflow_lineage_provider.sql.types import FLOATS, duckdb_type

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# Each is a scan of its own, with its own types.
MOST_FILES = 1000


@dataclass(frozen=True, kw_only=True)
class DuckDbSource:
    """``query`` gives the rows of a source; ``paths`` are the files that it reads."""

    query: str
    paths: tuple[Path, ...]


def duckdb_source(
    source: Source, identity: SourceIdentity, columns: Sequence[str], files: Mapping[str, str], settings: Mapping[str, str]
) -> DuckDbSource:
    """The rows of all files, with these of the source's columns and of its lineage key's.

    ``files`` maps hashes (as text) to the paths that the run read, ``settings`` are those of its session.

    :raises CannotReadHere: it is not certain that DuckDB reads of the files what Spark does.
    :raises PortabilityProblem: values of a column's type do not behave there as they do in Spark.
    """
    check_source(source, settings)
    if not files or len(files) > MOST_FILES:
        raise CannotReadHere(f"{source.relation.name} has {len(files):,} files; DuckDB is asked for 1 to {MOST_FILES:,}")
    if identity.kind != "file_position":
        raise CannotReadHere(f"the rows of {source.relation.name} are told apart by {identity.kind.replace('_', ' ')}")
    reader = _Writer(source, identity, columns, settings)
    paths = {file_hash: _path(source, recorded) for file_hash, recorded in sorted(files.items())}
    query = "\nUNION ALL\n".join(reader.query(int(file_hash), path) for file_hash, path in paths.items())
    return DuckDbSource(query=query, paths=tuple(paths.values()))


def _path(source: Source, recorded: str) -> Path:
    try:
        return local_path(source, recorded)
    except SourceUnavailable as problem:
        raise CannotReadHere(str(problem)) from problem


class _Writer:
    """Writes the query over each file of a source."""

    def __init__(self, source: Source, identity: SourceIdentity, columns: Sequence[str], settings: Mapping[str, str]) -> None:
        self.identity = identity
        typed = dict(zip(source.columns, source.output, strict=False))
        own = [one for one in columns if one in typed]
        if len({one.casefold() for one in columns}) < len(columns):
            raise CannotReadHere(f"columns of {source.relation.name} have names that differ in case alone")
        self.columns = columns
        self.asked = own
        self.types = {one: duckdb_type(typed[one].type, f"the column {one}") for one in own}
        self.source = replace(source, columns=tuple(own), output=tuple(typed[one] for one in own))
        self.in_files = without_partitions(self.source)
        self.footers = Footers(self.in_files, settings)

    def query(self, file_hash: int, path: Path) -> str:
        try:
            with opened(self.source, path) as file:
                found = self._columns(file, path)
        except SourceUnavailable as problem:
            raise CannotReadHere(str(problem)) from problem
        partition = partition_of(self.source, path)
        hashed, position = (column.name for column in self.identity.columns)
        keys = {hashed: f"CAST('{file_hash}' AS BIGINT)", position: POSITION}
        own = {one: _value(column, self.types[one]) for one, column in zip(self.in_files.columns, found, strict=True)}
        own |= {one: partition.sql(one, self.types[one]) for one in self.asked if one in partition}
        listed = ", ".join(f"{(keys | own)[one]} AS {name(one)}" for one in self.columns)
        return f"SELECT {listed} FROM {scan([path])}"

    def _columns(self, file: pq.ParquetFile, path: Path) -> list[FileColumn]:
        found, calendar = self.footers.columns(file), self.footers.calendars(file)
        problem = file_problem(file, path)
        if problem:
            raise CannotReadHere(f"{path}: {problem}")
        for column in found:
            if problem := problem_of(file, column, calendar):
                raise CannotReadHere(f"column {column.name} of {path}: {problem}")
        return found


def _value(column: FileColumn, kind: str) -> str:
    """A column's values as the table's; for real numbers it is an error that one is NaN or -0.0.

    Spark skips rows by a file's statistics and dictionaries, which have their own idea of both: it does not find NaN where x > 5 or x <> 5
    is asked for. What the run read by such a condition only Spark tells.
    """
    value = f"CAST({name(column.name)} AS {kind})"
    if getattr(column.type, "name", "") not in FLOATS:
        return value
    odd = f"ISNAN({value}) OR ({value} = 0 AND SIGNBIT({value}))"
    return f"CASE WHEN {odd} THEN ERROR({text(f'column {column.name} has NaN or -0.0, which Spark may skip')}) ELSE {value} END"


def problem_of(file: pq.ParquetFile, column: FileColumn, calendar: calendars.Calendars) -> str:
    """What keeps a query from reading a column of a file as Spark does, and from computing with it; empty when nothing does."""
    problem = column_problem(file, column) or _value_problem(column)
    if not problem and not _in_todays_calendar(file, column, calendar):
        problem = "it may have dates or timestamps of another calendar than today's"
    return problem


def _in_todays_calendar(file: pq.ParquetFile, column: FileColumn, calendar: calendars.Calendars) -> bool:
    if isinstance(column.type, ScalarType):
        return in_todays_calendar(file, column, calendar)
    told = {calendar.int96 if leaf.physical == "INT96" else calendar.datetime for leaf in column.leaves if _is_of_calendar(leaf)}
    return told <= {"gregorian"}


def _is_of_calendar(leaf: Leaf) -> bool:
    return leaf.physical == "INT96" or leaf.kind in ("Date", "Timestamp")


def _value_problem(column: FileColumn) -> str:
    """What keeps a query from computing with a column, beside reading it."""
    # DuckDB writes bytes as text in a way of its own.
    is_text = getattr(column.type, "name", "") != "binary"
    untold = is_text and any(leaf.physical == "BYTE_ARRAY" and leaf.kind == "None" for leaf in column.leaves)
    return "it does not say that its bytes are text" if untold else ""
