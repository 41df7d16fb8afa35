"""What the footers of Parquet files on this machine certainly say of what Spark reads: how many rows there are, a column's bounds, that it
has no NULL.

Only of columns whose values here are Spark's, to the last bit (`parquet_types`), and of kinds whose statistics every writer writes alike:
whole numbers, decimals, dates, texts. Texts may be cut: the least then stands before the values, the most after them, so both are bounds.
Statistics of floating-point numbers leave NaN out, which Spark has as the largest of all, and moments may be told in other zones: of these
nothing is said. What is missing in one footer is not known of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.datatypes import ScalarType, parse_type
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from airflow_lineage_provider.sources.calendars import FIRST_GREGORIAN_DAY
from airflow_lineage_provider.sources.files import CannotReadHere, FileColumn, Footers, check_source, local_path, opened

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from airflow_lineage_provider.plan.expressions import Attribute

_CLASSES: Mapping[str, type] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int), "decimal": Decimal, "date": date, "string": str,
}  # fmt: skip
_EPOCH = date(1970, 1, 1).toordinal()
MOST_FILES = 1_000


@dataclass(frozen=True)
class FileStatistics:
    """What is known of the rows in files: how many there are, None where nobody knows, and between what values, by column."""

    rows: int | None = None
    bounds: Mapping[str, ColumnBounds] = field(default_factory=dict)


def file_statistics(source: Source, paths: Iterable[str], settings: Mapping[str, str]) -> FileStatistics:
    """What all footers say; nothing of a column of which one does not tell, and nothing at all where there are no files, they are
    not on this machine, or are too many. ``settings`` are those of the session that reads them.
    """
    listed = list(paths)
    if source.relation.format != "parquet" or not 0 < len(listed) <= MOST_FILES:
        return FileStatistics()
    try:
        check_source(replace(source, relation=replace(source.relation, partition_columns=())), settings)
        return _in_all(source, listed, settings)
    except (CannotReadHere, SourceUnavailable):
        return FileStatistics()


def _in_all(source: Source, paths: list[str], settings: Mapping[str, str]) -> FileStatistics:
    rows, found = 0, {column.name: column for column in _columns(source)}
    for path in paths:
        with opened(source, local_path(source, path)) as file:
            rows += file.metadata.num_rows
            certain = _certain(source, list(found.values()), file, settings)
            found = {name: found[name].with_file(file, one) for name, one in certain.items()}
    return FileStatistics(rows, {name: one.bounds for name, one in found.items()})


def _certain(source: Source, columns: list[_Column], file: pq.ParquetFile, settings: Mapping[str, str]) -> dict[str, FileColumn]:
    """The columns that certainly have the values in the file that Spark reads."""
    together = replace(source, columns=tuple(one.name for one in columns), output=tuple(one.attribute for one in columns))
    try:
        return dict(zip(together.columns, Footers(together, settings).columns(file), strict=True))
    except CannotReadHere:
        if len(columns) < 2:
            return {}
        half = len(columns) // 2
        return _certain(source, columns[:half], file, settings) | _certain(source, columns[half:], file, settings)


def _columns(source: Source) -> Iterator[_Column]:
    """Those that bounds may be known of. The values of partitions are in the names of folders, whatever a file has of that name."""
    partitions = {name.lower() for name in source.relation.partition_columns}
    for name, attribute in zip(source.columns, source.output, strict=True):
        kind = parse_type(attribute.type)
        if isinstance(kind, ScalarType) and kind.name in _CLASSES and name.lower() not in partitions:
            yield _Column(name, attribute, kind.name)


@dataclass(frozen=True)
class _Column:
    """A column, and what the footers of some files say of it."""

    name: str
    attribute: Attribute
    kind: str
    least: Any = None
    most: Any = None
    has_null: bool = False
    bounded: bool = True

    @property
    def bounds(self) -> ColumnBounds:
        if not self.bounded or self.least is None:
            return ColumnBounds(has_null=self.has_null)
        return ColumnBounds(_text(self.least), _text(self.most), self.has_null)

    def with_file(self, file: pq.ParquetFile, found: FileColumn) -> _Column:
        """With what a further file says, in which the column is ``found``."""
        (at,) = [number for number in range(len(file.schema)) if file.schema.column(number).path == found.name]
        made = self if found.leaves[0].annotation.get("isSigned", True) else replace(self, bounded=False)
        for group in range(file.num_row_groups):
            made = made._with_group(file.metadata.row_group(group).column(at))
        return made

    def _with_group(self, chunk: pq.ColumnChunkMetaData) -> _Column:
        if not chunk.num_values:
            return self
        told = chunk.statistics
        nulls = told.null_count if told is not None and told.has_null_count else None
        made = replace(self, has_null=self.has_null or nulls != 0)
        if nulls == chunk.num_values:
            return made
        ends = self._ends(told)
        if ends is None:
            return replace(made, bounded=False)
        least = ends[0] if made.least is None else min(made.least, ends[0], key=_in_order)
        most = ends[1] if made.most is None else max(made.most, ends[1], key=_in_order)
        return replace(made, least=least, most=most)

    def _ends(self, told: pq.Statistics | None) -> tuple[Any, Any] | None:
        """The least and the most value of a row group; None where they are not told, or are no values of the type."""
        if told is None or not told.has_min_max:
            return None
        try:
            ends = (told.min, told.max)
        except (ValueError, OverflowError):  # a text that is none, a day that Python has not
            return None
        return ends if all(map(self._is_known, ends)) else None

    def _is_known(self, value: Any) -> bool:
        """Whether it is a value of the type. Days of the calendar before today's Spark may move."""
        if not isinstance(value, _CLASSES[self.kind]) or isinstance(value, bool | datetime):
            return False
        return not isinstance(value, date) or value.toordinal() - _EPOCH >= FIRST_GREGORIAN_DAY


def _in_order(value: Any) -> Any:
    """Texts as Spark orders them, by their bytes."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else format(value, "f") if isinstance(value, Decimal) else str(value)
