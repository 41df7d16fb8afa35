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

MOST_FILES = 20_000
# Files of one form are a scan of their own, with its own types.
MOST_FORMS = 1_000


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
    alike: dict[_Form, list[_File]] = {}
    for file_hash, path in paths.items():
        form, file = reader.read(int(file_hash), path)
        alike.setdefault(form, []).append(file)
    if len(alike) > MOST_FORMS:
        raise CannotReadHere(f"the files of {source.relation.name} have {len(alike):,} different forms; DuckDB is asked for {MOST_FORMS:,}")
    query = "\nUNION ALL\n".join(reader.query(form, found) for form, found in alike.items())
    return DuckDbSource(query=query, paths=tuple(paths.values()))


def _path(source: Source, recorded: str) -> Path:
    try:
        return local_path(source, recorded)
    except SourceUnavailable as problem:
        raise CannotReadHere(str(problem)) from problem


@dataclass(frozen=True)
class _Form:
    """What files have alike that one scan reads: all that their footers say of their columns, and how the columns asked for are read."""

    schema: str
    own: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _File:
    """A file with what its rows have in common: its hash, and its partition's values (by column), as SQL."""

    path: Path
    common: tuple[tuple[str, str], ...]


_UNKNOWN = "ERROR('rows of a file that was not asked for')"


class _Writer:
    """Writes the queries over the files of a source."""

    def __init__(self, source: Source, identity: SourceIdentity, columns: Sequence[str], settings: Mapping[str, str]) -> None:
        self.hashed, self.position = (column.name for column in identity.columns)
        typed = dict(zip(source.columns, source.output, strict=False))
        own = [one for one in columns if one in typed]
        if len({one.lower() for one in columns}) < len(columns):
            raise CannotReadHere(f"columns of {source.relation.name} have names that differ in case alone")
        self.columns = columns
        self.asked = own
        self.types = {one: duckdb_type(typed[one].type, f"the column {one}") for one in own}
        self.source = replace(source, columns=tuple(own), output=tuple(typed[one] for one in own))
        self.in_files = without_partitions(self.source)
        self.footers = Footers(self.in_files, settings)

    def read(self, file_hash: int, path: Path) -> tuple[_Form, _File]:
        """What a file's footer, and the names of its folders, say."""
        try:
            with opened(self.source, path) as file:
                found, schema = self._columns(file, path), str(file.schema).partition("\n")[2]
        except SourceUnavailable as problem:
            raise CannotReadHere(str(problem)) from problem
        partition = partition_of(self.source, path)
        own = tuple((one, _value(column, self.types[one])) for one, column in zip(self.in_files.columns, found, strict=True))
        common = {self.hashed: f"CAST('{file_hash}' AS BIGINT)"}
        common |= {one: partition.sql(one, self.types[one]) for one in self.asked if one in partition}
        return _Form(schema, own), _File(path, tuple(common.items()))

    def query(self, form: _Form, files: Sequence[_File]) -> str:
        """The rows of files of one form: of several, what the rows of each have in common is looked up by its path."""
        scanned = scan((file.path for file in files), with_path=len(files) > 1)
        known = dict(form.own) | {self.position: f"f.{POSITION}"}
        if len(files) == 1:
            known |= dict(files[0].common)
            return f"SELECT {self._listed(known)} FROM {scanned} AS f"
        names = [f"c{number}" for number in range(len(files[0].common))]
        # A row of which nothing is known is an error: it must not be left out.
        known |= {
            one: f"CASE WHEN n.path IS NULL THEN {_UNKNOWN} ELSE n.{at} END" for (one, _), at in zip(files[0].common, names, strict=True)
        }
        rows = ", ".join(f"({text(str(file.path))}, {', '.join(value for _, value in file.common)})" for file in files)
        looked_up = f"(VALUES {rows}) AS n (path, {', '.join(names)})"
        return f"SELECT {self._listed(known)} FROM {scanned} AS f LEFT JOIN {looked_up} ON f.filename = n.path"

    def _listed(self, known: Mapping[str, str]) -> str:
        return ", ".join(f"{known[one]} AS {name(one)}" for one in self.columns)

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
    value = f"CAST(f.{name(column.name)} AS {kind})"
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
