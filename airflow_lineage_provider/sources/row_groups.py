"""What the footers of Parquet files on this machine say: the smallest and largest value of each row group, and how many rows there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sources.files import CannotReadHere, local_path, opened

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Bounds = tuple[Any, Any]
_MOST_FILES = 1_000
_SAMPLE = 20


@dataclass(frozen=True)
class InFooters:
    """What the footers of all files of a source say.

    :ivar bounds: for each column those of all row groups that have values; columns of which a footer does not tell are left out. They may
        be wider than the values, and are none of them where a writer has cut long texts.
    :ivar rows: how many rows there are; None where that is not known.
    :ivar in_no_file: columns that no file has: their values are in the names of folders, or NULL.
    """

    bounds: Mapping[str, list[Bounds]] = field(default_factory=dict)
    rows: int | None = None
    in_no_file: frozenset[str] = frozenset()


def in_footers(source: Source, paths: Iterable[str]) -> InFooters:
    """What the footers say, each opened once; nothing where there are no files, they are not on this machine, or are too many."""
    listed = list(paths)
    if not 0 < len(listed) <= _MOST_FILES:
        return InFooters()
    found: dict[str, list[Bounds] | None] = {name: [] for name in source.columns}
    rows, nowhere = 0, set(source.columns)
    try:
        for path in listed:
            with opened(source, local_path(source, path)) as file:
                _add(file, source, found)
                nowhere -= {file.schema.column(at).path.split(".")[0] for at in range(len(file.schema))}
                rows += file.metadata.num_rows
    except (CannotReadHere, SourceUnavailable):
        return InFooters()
    return InFooters({name: bounds for name, bounds in found.items() if bounds}, rows, frozenset(nowhere))


def about_rows(source: Source, paths: Iterable[str]) -> int | None:
    """How many rows there are, by the footers of some files, here and there; None where they are not on this machine."""
    listed = sorted(paths)
    asked = listed[:: max(1, len(listed) // _SAMPLE)]
    rows = _rows(source, asked)
    return None if rows is None else rows * len(listed) // len(asked) if asked else 0


def _rows(source: Source, paths: Iterable[str]) -> int | None:
    rows = 0
    try:
        for path in paths:
            with opened(source, local_path(source, path)) as file:
                rows += file.metadata.num_rows
    except (CannotReadHere, SourceUnavailable):
        return None
    return rows


def _add(file: pq.ParquetFile, source: Source, found: dict[str, list[Bounds] | None]) -> None:
    places = {file.schema.column(at).path: at for at in range(len(file.schema))}
    kinds = {name: a.type for name, a in zip(source.columns, source.output, strict=True)}
    for name, so_far in found.items():
        if so_far is None:
            continue
        at = places.get(name)
        bounds = None if at is None else _bounds(file, at, kinds[name])
        found[name] = None if bounds is None else so_far + bounds


def _bounds(file: pq.ParquetFile, column: int, kind: str) -> list[Bounds] | None:
    told = list(bounds_in_footer(file, column, raw=False))
    if None in told:
        return None
    return [(_value(one[0], kind), _value(one[1], kind)) for one in told if one is not None]


def bounds_in_footer(file: pq.ParquetFile, column: int, *, raw: bool) -> Iterator[Bounds | None]:
    """The least and the largest value of each row group that has values; None where its statistics do not tell."""
    for group in range(file.num_row_groups):
        chunk = file.metadata.row_group(group).column(column)
        found = chunk.statistics
        if found is not None and found.has_null_count and found.null_count == chunk.num_values:
            continue
        if found is None or not found.has_min_max:
            yield None
        else:
            yield (found.min_raw, found.max_raw) if raw else (found.min, found.max)


def _value(value: Any, kind: str) -> Any:
    """Instants have a zone."""
    return value.replace(tzinfo=UTC) if kind == "timestamp" and isinstance(value, datetime) and value.tzinfo is None else value
