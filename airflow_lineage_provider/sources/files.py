"""Parquet files on this machine, and what is certain of their columns before a row is read: this much is told by their footers.

What is read here is what Spark would read, to the last bit; where that is not certain of a file, it is left to Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.datatypes import DataType, parse_type
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources import calendars
from airflow_lineage_provider.sources.parquet_types import Leaf, leaves_of, same_values

if TYPE_CHECKING:
    import pyarrow.parquet as pq


class CannotReadHere(Exception):
    """This source needs Spark to be read as the run read it; the text says why."""


def check_source(source: Source, settings: Mapping[str, str]) -> None:
    """What is known of a source without its files. ``settings`` are those of the run's session.

    :raises CannotReadHere: its columns are not those of its files.
    """
    relation = source.relation
    if relation.partition_columns and relation.kind != "files" and not relation.partitions_in_folders:
        columns = ", ".join(relation.partition_columns)
        raise CannotReadHere(f"{relation.name} is a table partitioned by {columns}, and it is not known that its folders have their names")
    if settings.get("spark.sql.parquet.fieldId.read.enabled", "false").lower() == "true":
        raise CannotReadHere(f"the columns of {source.relation.name} are found by field id")


def local_path(source: Source, recorded: str) -> Path:
    """The place of a file that a run read.

    :raises CannotReadHere: it is not on this machine.
    :raises SourceUnavailable: it is gone.
    """
    parsed = urlparse(recorded)
    if parsed.scheme not in ("", "file"):
        raise CannotReadHere(f"{source.relation.name} is read from {parsed.scheme}")
    path = Path(unquote(parsed.path)) if parsed.scheme else Path(recorded)
    if not path.exists():
        raise SourceUnavailable(f"{source.relation.name}: {path} is gone")
    return path


@dataclass(frozen=True)
class FileColumn:
    """A column of a file: its name there, the table's type, and its primitive columns (one, unless it is nested)."""

    name: str
    type: DataType
    leaves: tuple[Leaf, ...]

    @property
    def int96(self) -> bool:
        return any(leaf.physical == "INT96" for leaf in self.leaves)


class Footers:
    """What the footers of a source's files say."""

    def __init__(self, source: Source, settings: Mapping[str, str]) -> None:
        self.source = source
        self.settings = settings
        self.table = source.relation.name
        # The reader options of a catalog table are in the catalog.
        self.options = dict(source.relation.options) if source.relation.kind == "files" else None

    def calendars(self, file: pq.ParquetFile) -> calendars.Calendars:
        return calendars.calendars_of(file.metadata.metadata or {}, self.settings, self.options)

    def columns(self, file: pq.ParquetFile) -> list[FileColumn]:
        """The file's columns of the table's.

        :raises CannotReadHere: one is missing or ambiguous, or may not have the values that Spark reads.
        """
        arrow, leaves = file.schema_arrow, leaves_of(file)
        sensitive = self.settings.get("spark.sql.caseSensitive", "false").lower() == "true"
        found = []
        for column, attribute in zip(self.source.columns, self.source.output, strict=False):
            name = _name_in_file(column, arrow.names, sensitive)
            if name is None:
                raise CannotReadHere(f"column {column} of {self.table} is not in every file as it is in the table")
            kind, wanted = arrow.field(name).type, parse_type(attribute.type)
            if not same_values(wanted, kind, name, leaves):
                raise CannotReadHere(f"column {column} of {self.table} is {attribute.type} in the table and {kind} in a file")
            inside = (leaf for path, of in leaves.items() if path == name or path.startswith(f"{name}.") for leaf in of)
            found.append(FileColumn(name, wanted, self._checked(tuple(inside))))
        return found

    def _checked(self, leaves: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
        zoned = self.settings.get("spark.sql.parquet.int96TimestampConversion", "false").lower() == "true"
        if zoned and any(leaf.physical == "INT96" for leaf in leaves):
            raise CannotReadHere(f"{self.table} has INT96 timestamps, which are read in a time zone (int96TimestampConversion)")
        return leaves


def _name_in_file(column: str, names: list[str], sensitive: bool) -> str | None:
    """The file's name of a column as Spark finds it; None where there is none, or more than one."""
    same = [name for name in names if name == column or (not sensitive and name.lower() == column.lower())]
    if len(same) != 1:
        return None
    # Java and Python agree on the case of these letters.
    return same[0] if same[0] == column or (same[0] + column).isascii() else None


@contextmanager
def opened(source: Source, path: Path) -> Iterator[pq.ParquetFile]:
    """A file, by its footer.

    :raises CannotReadHere: Arrow cannot read it.
    :raises SourceUnavailable: it is no Parquet file any more.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # INT96 reaches further than 64 bits of nanoseconds do.
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        text = f"{path} cannot be read: {first_line(error)}"
        if _is_parquet(path):  # encrypted, say, or compressed as Arrow cannot undo
            raise CannotReadHere(f"{source.relation.name}: {text}") from error
        raise SourceUnavailable(f"{source.relation.name}: {text}") from error


def _is_parquet(path: Path) -> bool:
    """Whether the file ends as Parquet files do, plain or with an encrypted footer."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PAR1", b"PARE") and file.seek(-4, 2) > 0 and file.read(4) in (b"PAR1", b"PARE")
    except OSError:
        return False
