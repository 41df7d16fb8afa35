"""Where a run's result is written, besides the results store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from airflow_lineage_provider.errors import InvalidOutput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Mode = OneOf["error", "overwrite", "append"]


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a write made: places (a file's URI, a database table) with their versions, and the version as the run's record keeps it."""

    places: Mapping[str, str]
    version: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Output:
    """A place for the result: files at a path, a table of Spark's catalog, or a PostgreSQL table."""

    kind: OneOf["path", "table", "postgres"]
    target: str
    format: str = "parquet"
    mode: Mode = "error"
    url: str = field(default="", repr=False)  # it may hold a password

    def __post_init__(self) -> None:
        if self.mode not in ("error", "overwrite", "append"):
            raise InvalidOutput(f"output mode {self.mode!r} is not known; it can be error, overwrite or append")

    @classmethod
    def path(cls, path: str, format: str = "parquet", mode: Mode = "error") -> Output:
        return cls(kind="path", target=path, format=format, mode=mode)

    @classmethod
    def table(cls, name: str, mode: Mode = "error") -> Output:
        return cls(kind="table", target=name, mode=mode)

    @classmethod
    def postgres(cls, url: str, table: str, mode: Mode = "error") -> Output:
        return cls(kind="postgres", target=table, mode=mode, url=url)

    @classmethod
    def parse(cls, text: str | Output) -> Output:
        """``/some/path``, ``parquet:/some/path`` (or ``csv:``, ``json:``, ``orc:``), ``table:db.name``, ``postgresql://…/db#schema.table``;
        with ``+overwrite`` or ``+append`` at the end.

        :raises InvalidOutput: for anything else.
        """
        if isinstance(text, Output):
            return text
        place, mode = text, "error"
        for one in ("overwrite", "append"):
            if text.endswith(f"+{one}"):
                place, mode = text.removesuffix(f"+{one}"), one
        kind, colon, rest = place.partition(":")
        if kind == "table" and rest:
            return cls(kind="table", target=rest, mode=mode)  # type: ignore[arg-type]
        if kind in ("postgresql", "postgres", "postgresql+psycopg2"):
            url, sharp, name = place.rpartition("#")
            if sharp and name:
                return cls(kind="postgres", target=name, mode=mode, url=url)  # type: ignore[arg-type]
        elif colon and kind in ("parquet", "csv", "json", "orc") and rest:
            return cls(kind="path", target=rest, format=kind, mode=mode)  # type: ignore[arg-type]
        elif "/" in place:
            return cls(kind="path", target=place, mode=mode)  # type: ignore[arg-type]
        from airflow_lineage_provider.store.connection import redact

        raise InvalidOutput(
            f"output {redact(text)!r} is not understood; write a path, parquet:PATH, table:NAME or postgresql://…#TABLE, "
            "with +overwrite or +append at the end"
        )

    def write(self, frame: DataFrame) -> Written:
        """Write the result; which version of the output that made.

        What cannot be known of it (a catalog table that is not of files, another job that wrote there at the same time) is said in the
        version, and runs that read the output are then not traced through it.

        :raises LoadFailed, StoreUnavailable: a PostgreSQL table could not be written; what was there before is unchanged. Spark
            raises its own errors for files and catalog tables (the place exists and the mode is ``error``, say).
        """
        if self.kind == "postgres":
            return self._write_postgres(frame)
        spark = frame.sparkSession
        before = self._files(spark) if self.mode == "append" else {}
        writer = frame.write.mode(self.mode)
        if self.kind == "path":
            writer.format(self.format).save(self.target)
        else:
            writer.saveAsTable(self.target)
        try:
            return _written_files(before, self._files(spark))
        except Exception as problem:  # the result is written: that its files could not be listed is no failure of the run
            return _not_known(f"the files that were written could not be listed: {problem}")

    def _files(self, spark: SparkSession) -> Mapping[str, tuple[int, int]] | None:
        from airflow_lineage_provider.spark.outputs import files_at, files_of_table

        return files_at(spark, self.target) if self.kind == "path" else files_of_table(spark, self.target)

    def _write_postgres(self, frame: DataFrame) -> Written:
        from airflow_lineage_provider.spark.run import write_postgres
        from airflow_lineage_provider.store.fingerprint import table_fingerprint

        before = None
        if self.mode == "append":
            try:
                found = table_fingerprint(self.url, self.target)
                before = found[1] if found else None
            except Exception:  # the write itself will say what is wrong with the database
                before = "unknown"
        write_postgres(frame, self.url, self.target, self.mode)
        try:
            made = table_fingerprint(self.url, self.target)
        except Exception as problem:
            return _not_known(f"the table could not be read: {str(problem).strip()}")
        if made is None:
            return _not_known("the table was dropped by somebody else")
        return Written(
            places={made[0]: made[1]},
            version={"kind": "rows", "place": made[0], "version": made[1], "before": before},
        )

    def describe(self) -> dict[str, Any]:
        """What is recorded with the run: never a password."""
        from airflow_lineage_provider.store.connection import redact

        return {"kind": self.kind, "target": redact(self.target), "format": self.format, "mode": self.mode}


def _written_files(before: Mapping[str, tuple[int, int]] | None, after: Mapping[str, tuple[int, int]] | None) -> Written:
    from airflow_lineage_provider.spark.local_files import files_version
    from airflow_lineage_provider.spark.outputs import new_files, write_jobs

    if before is None or after is None:
        return _not_known("the table does not consist of files")
    made = new_files(before, after)
    if len(write_jobs(made)) > 1 or "" in write_jobs(made):
        return _not_known("other files than the run's were written there at the same time")
    return Written(places={uri: file_version(*status) for uri, status in made.items()}, version=files_version(made))


def file_version(size: int, modified: int) -> str:
    """A file's version as runs and readers compare it."""
    return f"{size}:{modified}"


def _not_known(cause: str) -> Written:
    return Written(places={}, version={"kind": "none", "cause": cause})
