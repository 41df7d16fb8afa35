"""Where a run's result is written, besides the results store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_lineage_provider.errors import InvalidOutput, StoreError
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.records.run import RecordedOutput
from airflow_lineage_provider.records.versions import OutputVersion, UnknownVersion, WrittenRows
from airflow_lineage_provider.secrecy import shown_text
from airflow_lineage_provider.secrecy.urls import database_url, odd_store_url, shown_place
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.typed_json import written
from airflow_lineage_provider.words import OutputKind, OutputMode, check_word, words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.running.journal import Journal
    from airflow_lineage_provider.store.note import Note

FORMATS = ("parquet", "csv", "json", "orc")

_FORMS = (
    "write a path with a / in it (./NAME), parquet:PATH (or csv:, json:, orc:), table:NAME or postgresql://…#TABLE, "
    "with +overwrite or +append at the end"
)
# File systems whose paths are written with one slash, too.
_FILE_SYSTEMS = ("file", "hdfs", "viewfs", "dbfs", "maprfs")
# What looks like a file system's address and is none.
_NOT_FILES = (
    "jdbc", "http", "https", "mysql", "mariadb", "oracle", "db2", "sqlserver", "mssql", "sqlite", "redshift", "snowflake", "bigquery",
    "mongodb", "delta", "iceberg", "hudi", "avro", "text", "xml", "table", *FORMATS,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a write made: places (a file's URI, a database table) with their versions, and the version as the run's record keeps it."""

    places: Mapping[str, str]
    version: OutputVersion


@dataclass(frozen=True, kw_only=True)
class Output:
    """A place for the result: files at a path, a table of Spark's catalog, or a PostgreSQL table."""

    kind: OutputKind
    target: str = field(repr=False)  # a path may be a URL with a password, too
    format: str = "parquet"
    mode: OutputMode = "error"
    url: str = field(default="", repr=False)  # it may hold a password
    cluster_by: tuple[str, ...] = ()
    """The columns by whose ranges files are made, and sorted: Spark reads few of them where it is asked for some of the values."""

    def __post_init__(self) -> None:
        check_word("output kind", self.kind, OutputKind, InvalidOutput)
        check_word("output mode", self.mode, OutputMode, InvalidOutput)
        for name, value in (("target", self.target), ("format", self.format)):
            if not isinstance(value, str) or not value.strip():
                raise InvalidOutput(f"the {name} of an output is {shown(value)}; it must be a text")
        object.__setattr__(self, "cluster_by", columns_to_cluster_by(self.cluster_by))
        if self.kind == "postgres":
            _check_table(self.url, self.target)
            if self.cluster_by:
                raise InvalidOutput("cluster_by is of files; rows of a PostgreSQL table have no order: make an index on them")

    @classmethod
    def path(cls, path: str, format: str = "parquet", mode: OutputMode = "error", cluster_by: Sequence[str] = ()) -> Output:
        return cls(kind="path", target=path, format=format, mode=mode, cluster_by=tuple_of(cluster_by))

    @classmethod
    def table(cls, name: str, mode: OutputMode = "error", cluster_by: Sequence[str] = ()) -> Output:
        return cls(kind="table", target=name, mode=mode, cluster_by=tuple_of(cluster_by))

    @classmethod
    def postgres(cls, url: str, table: str, mode: OutputMode = "error") -> Output:
        return cls(kind="postgres", target=table, mode=mode, url=url)

    @classmethod
    def parse(cls, text: str | os.PathLike[str] | Output) -> Output:
        """``/some/path``, ``parquet:/some/path`` (or ``csv:``, ``json:``, ``orc:``), ``table:db.name``, ``postgresql://…/db#schema.table``;
        with ``+overwrite`` or ``+append`` at the end, and ``+cluster_by:COLUMN,COLUMN`` before or after it.

        :raises InvalidOutput: for anything else.
        """
        if isinstance(text, Output):
            return text
        if not isinstance(text, str | os.PathLike):
            raise InvalidOutput(f"output is {shown(text)}; {_FORMS}")
        place, mode, columns = with_suffixes(os.fspath(text))
        kind, colon, rest = place.partition(":")
        if kind == "table" and rest:
            return cls(kind="table", target=rest, mode=mode, cluster_by=columns)
        if kind in ("postgresql", "postgres", "postgresql+psycopg2"):
            url, sharp, name = place.rpartition("#")
            odd = odd_store_url(url) or ("its password has a #, which is written %23" if "@" in name and "@" not in url else None)
            if odd is not None:
                raise InvalidOutput(f"output {shown_place(place)!r} is not understood: {odd}")
            if sharp and name:
                return cls(kind="postgres", target=name, mode=mode, url=url, cluster_by=columns)
        elif colon and kind in FORMATS and rest:
            return cls(kind="path", target=rest, format=kind, mode=mode, cluster_by=columns)
        elif "/" in place:
            _check_scheme(place)
            return cls(kind="path", target=place, mode=mode, cluster_by=columns)
        raise InvalidOutput(f"output {shown(shown_place(str(text)))} is not understood; {_FORMS}")

    def check(self, frame: DataFrame) -> None:
        """Can this frame be written here? Nothing is computed; what is tried is undone.

        :raises InvalidOutput: the place exists and the mode is ``error``, it cannot be reached or written, the format is not known or
            cannot hold a column, rows of other columns are there and the mode is ``append``, or ``cluster_by`` names what is no column,
            or has no order.
        :raises StoreUnavailable: the PostgreSQL server does not answer.
        """
        from airflow_lineage_provider.spark.executing.clustering import check_clustering
        from airflow_lineage_provider.spark.executing.output_check import check_path, check_postgres, check_table

        if self.cluster_by:
            check_clustering(frame, self.cluster_by)
        match self.kind:
            case "path":
                check_path(frame, self.target, self.format, self.mode)
            case "table":
                check_table(frame, self.target, self.mode)
            case "postgres":
                check_postgres(frame, self.url, self.target, self.mode)

    def write(self, frame: DataFrame, journal: Journal | None = None) -> Written:
        """Write the result; which version of the output that made. ``journal`` makes an append and the run's record one step.

        What cannot be known of it (a catalog table that is not of files, another job that wrote there at the same time) is said in the
        version, and runs that read the output are then not traced through it. With a journal, runs of one store that write to one folder
        take turns.

        :raises LoadFailed, StoreUnavailable: a PostgreSQL table could not be written; what was there before is unchanged. Spark
            raises its own errors for files and catalog tables (the place exists and the mode is ``error``, say).
        """
        if self.kind == "postgres":  # whose tables are replaced by a transaction
            if self.mode == "append" and journal is not None:
                self.take_back(frame.sparkSession, journal)
            return self._write_postgres(frame, journal)
        places = self._places(frame.sparkSession)
        with nullcontext() if journal is None else journal.turn(places):
            if self.mode == "append" and journal is not None:
                self._take_back(frame.sparkSession, journal, places)
            return self._write_files(frame, journal, places)

    def _write_files(self, frame: DataFrame, journal: Journal | None, places: Sequence[str]) -> Written:
        spark = frame.sparkSession
        before = self._files(spark, places) if self.mode == "append" else {}
        self._save(frame, journal if self.mode == "append" else None, places)
        try:
            return written_files(before, self._files(spark, places))
        except Exception as problem:  # the result is written: that its files could not be listed is no failure of the run
            return not_known(f"the files that were written could not be listed: {problem}")

    def _save(self, frame: DataFrame, appending: Journal | None, places: Sequence[str]) -> None:
        """Write files. What is appended is known as the run's by its files' names; what it replaces is removed when it is there."""
        from airflow_lineage_provider.spark.executing.appended_files import file_names, files_named, naming
        from airflow_lineage_provider.spark.executing.clustering import clustered
        from airflow_lineage_provider.spark.writing.watching import unwatched

        rows = clustered(frame, self.cluster_by) if self.cluster_by else frame
        names = file_names(None if appending is None else appending.run_id, bool(self.cluster_by))
        writer, replaced = rows.write.mode(self.mode), list["Note"]()
        if appending is not None:
            replaced = appending.intend(places, KnownBy())
        if self.kind == "path":
            with unwatched():
                writer.format(self.format).options(**naming(names)).save(self.target)
        elif names is None:
            with unwatched():
                writer.saveAsTable(self.target)
        else:  # no option: the table would keep it, and the files of later writers would bear this run's name
            with unwatched(), files_named(frame.sparkSession, names):
                writer.saveAsTable(self.target)
        if appending is not None and replaced:
            self._remove_replaced(frame.sparkSession, appending, replaced)

    def _remove_replaced(self, spark: SparkSession, appending: Journal, replaced: Sequence[Note]) -> None:
        """Remove the files of earlier runs whose rows are appended again."""
        from airflow_lineage_provider.spark.executing.appended_files import remove_files

        root = self._places(spark)[0]
        appending.replaced(replaced, sum(remove_files(spark, root, note.run_id) for note in replaced))
        self._refresh(spark)

    def _places(self, spark: SparkSession) -> list[str]:
        """The names of the place that a journal may know it by, the one of now first: a table has no folder before it is there."""
        from airflow_lineage_provider.spark.executing.appended_files import root_of_path, root_of_table
        from airflow_lineage_provider.store.fingerprint import table_place

        if self.kind == "path":
            return [root_of_path(spark, self.target)]
        if self.kind == "postgres":
            place = table_place(self.url, self.target)
            return [] if place is None else [place]
        root = root_of_table(spark, self.target)
        return [f"table {self.target}"] if root is None else [root, f"table {self.target}"]

    def take_back(self, spark: SparkSession, journal: Journal, *, own: bool = False) -> None:
        """Take out what runs that failed have appended here, or the journal's ``own`` run alone.

        :raises LoadFailed: somebody has changed their rows since, so that it is not known which they are.
        :raises StoreError: the store fails, and the result is not to be kept without it.
        """
        self._take_back(spark, journal, self._places(spark), own=own)

    def _take_back(self, spark: SparkSession, journal: Journal, places: Sequence[str], *, own: bool = False) -> None:
        from airflow_lineage_provider.spark.executing.appended_files import remove_files
        from airflow_lineage_provider.store.appended_rows import undo_append

        def undo(note: Note) -> int:
            if self.kind == "postgres":
                return undo_append(self.url, self.target, note)
            return remove_files(spark, places[0], note.run_id)

        if own:
            journal.settle_own(undo)
        else:
            journal.settle(places, undo)
        self._refresh(spark)

    def _refresh(self, spark: SparkSession) -> None:
        if self.kind == "table" and spark.catalog.tableExists(self.target):
            spark.catalog.refreshTable(self.target)

    def _files(self, spark: SparkSession, places: Sequence[str]) -> Mapping[str, tuple[int, int]] | None:
        from airflow_lineage_provider.spark.executing.outputs import files_in, files_of_table

        return files_in(spark, places[0]) if self.kind == "path" else files_of_table(spark, self.target)

    def _write_postgres(self, frame: DataFrame, journal: Journal | None) -> Written:
        from airflow_lineage_provider.spark.executing.run import write_postgres
        from airflow_lineage_provider.store.fingerprint import table_fingerprint

        before = None
        if self.mode == "append":
            try:
                found = table_fingerprint(self.url, self.target)
                before = found[1] if found else None
            except Exception:  # the write itself will say what is wrong with the database
                before = "unknown"
        write_postgres(frame, self.url, self.target, self.mode, journal)
        instead_of = [] if journal is None else journal.instead_of
        try:
            made = table_fingerprint(self.url, self.target)
        except Exception as problem:
            return not_known(f"the table could not be read: {str(problem).strip()}")
        if made is None:
            return not_known("the table was dropped by somebody else")
        return Written(
            places={made[0]: made[1]},
            version=WrittenRows(place=made[0], version=made[1], before=before, instead_of=tuple(instead_of)),
        )

    def recorded(self, version: OutputVersion | None = None) -> RecordedOutput:
        """What is recorded with the run: never a password."""
        database = database_url(f"jdbc:postgresql://{self.url.partition('://')[2]}")[0] if self.url else None
        return RecordedOutput(
            kind=self.kind, target=self.shown, format=self.format, mode=self.mode, version=version, database=database or None
        )

    def describe(self) -> dict[str, str]:
        """The same as JSON has it, for those who only tell where the result goes."""
        found: dict[str, str] = written(self.recorded())
        return found

    @property
    def reads_twice(self) -> bool:
        """Whether rows are computed twice to be written, where Spark does not keep them."""
        return bool(self.cluster_by)

    @property
    def shown(self) -> str:
        """Where the result goes, as it may be told."""
        return shown_place(self.target)


def tuple_of(names: Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple; one text is a mistake that would be taken for its letters.

    :raises InvalidOutput: they are no names.
    """
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidOutput(f"cluster_by={shown(names)} is not understood; it can be a list of the names of columns")
    return tuple(names)


def columns_to_cluster_by(given: Sequence[str]) -> tuple[str, ...]:
    """:raises InvalidOutput: these are no names of columns."""
    names = tuple_of(given)
    if not all(isinstance(name, str) and name for name in names):
        raise InvalidOutput(f"cluster_by={shown(given)} is not understood; it can be a list of the names of columns")
    return names


def with_suffixes(text: str) -> tuple[str, OutputMode, tuple[str, ...]]:
    """The place, and at its end the mode and the columns that its files are clustered by."""
    found = re.search(r"\+cluster_by:([^+]*)(\+[A-Za-z_]+)?$", text)
    if found is None:
        return (*_with_mode(text), ())
    place, mode = _with_mode(text[: found.start()] + (found[2] or ""))
    names = tuple(name.strip() for name in found[1].split(","))
    if not all(names):
        raise InvalidOutput(f"output {shown(shown_place(text))}: after +cluster_by: stand the names of columns, with commas between them")
    return place, mode, names


def _with_mode(text: str) -> tuple[str, OutputMode]:
    """The place, and the mode at its end."""
    found = re.search(r"\+([A-Za-z_]+)$", text)
    if found is None:
        return text, "error"
    mode: OutputMode
    for mode in words(OutputMode):
        if found[1] == mode:
            return text[: found.start()], mode
    raise InvalidOutput(
        f"output {shown(shown_place(text))}: mode {shown(found[1])} is not known; it can be {', '.join(words(OutputMode))} "
        f"(a path that ends with {shown(found[0])} itself is written Output.path(…))"
    )


def _check_scheme(place: str) -> None:
    """A path may begin with its file system's name, which Spark knows; with a format's name it would be a folder of that name."""
    scheme, colon, rest = place.partition(":")
    if not colon or "/" in scheme or len(scheme) == 1:
        return
    if scheme == "jdbc":
        raise InvalidOutput(
            "a jdbc: address is not an output; write a table of PostgreSQL as postgresql://user@host/database#table, "
            "and to other databases in a task of their own, from files or from a table of Spark's catalog"
        )
    if scheme in _NOT_FILES or not (rest.startswith("//") or scheme in _FILE_SYSTEMS):
        raise InvalidOutput(f"output format {shown(scheme)} is not known; it can be {', '.join(FORMATS)}: {_FORMS}")


def _check_table(url: str, name: str) -> None:
    """Address and name of a PostgreSQL table, before anybody connects."""
    from airflow_lineage_provider.store.connection import normalise

    try:
        normalise(url)
        urlsplit(url).port  # noqa: B018  (a port that is no number is found when it is read)
    except (StoreError, ValueError):  # which would tell pieces of an address that can be read in several ways
        given = shown(shown_place(url))
        raise InvalidOutput(f"the output's address {given} is not of PostgreSQL: postgresql://user@host:5432/database") from None
    if not 1 <= len(name.split(".")) <= 2 or not all(name.split(".")):
        raise InvalidOutput(f"the output's table {shown(name)} is not TABLE or SCHEMA.TABLE")


def written_files(before: Mapping[str, tuple[int, int]] | None, after: Mapping[str, tuple[int, int]] | None) -> Written:
    """What a write made of the files that were there, where it is of files."""
    from airflow_lineage_provider.spark.executing.outputs import new_files, write_jobs
    from airflow_lineage_provider.spark.local_files import files_version

    if before is None or after is None:
        return not_known("the table does not consist of files")
    made = new_files(before, after)
    if len(write_jobs(made)) > 1 or "" in write_jobs(made):
        return not_known("other files than the run's were written there at the same time")
    return Written(places={uri: file_version(*status) for uri, status in made.items()}, version=files_version(made))


def file_version(size: int, modified: int) -> str:
    """A file's version as runs and readers compare it."""
    return f"{size}:{modified}"


def not_known(cause: str) -> Written:
    """A write of which nobody can say what it made."""
    return Written(places={}, version=UnknownVersion(cause=shown_text(cause)))
