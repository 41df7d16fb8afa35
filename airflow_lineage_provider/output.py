"""Where a run's result is written, besides the results store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from airflow_lineage_provider.errors import InvalidOutput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Mode = OneOf["error", "overwrite", "append"]


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

    def write(self, frame: DataFrame) -> None:
        """Write the result.

        :raises LoadFailed, StoreUnavailable: a PostgreSQL table could not be written; what was there before is unchanged. Spark
            raises its own errors for files and catalog tables (the place exists and the mode is ``error``, say).
        """
        writer = frame.write.mode(self.mode)
        if self.kind == "path":
            writer.format(self.format).save(self.target)
        elif self.kind == "table":
            writer.saveAsTable(self.target)
        else:
            from airflow_lineage_provider.spark.run import write_postgres

            write_postgres(frame, self.url, self.target, self.mode)

    def describe(self) -> dict[str, Any]:
        """What is recorded with the run: never a password."""
        from airflow_lineage_provider.store.connection import redact

        return {"kind": self.kind, "target": redact(self.target), "format": self.format, "mode": self.mode}
