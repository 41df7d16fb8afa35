"""Which columns of a source's files DuckDB certainly reads as Spark did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.sources.duckdb_source import problem_of
from airflow_lineage_provider.sources.files import CannotReadHere, Footers, opened

if TYPE_CHECKING:
    from airflow_lineage_provider.sources.view_values import Version


@lru_cache(maxsize=32)
def certain_columns(source: Source, versions: Sequence[Version], settings: Sequence[tuple[str, str]]) -> frozenset[str]:
    """The columns of a source, in lower case, that are read the same of each of the files (as `ParquetRows` has them; as they are now).

    ``settings`` are those of the session that read it.

    :raises SourceUnavailable: a file is gone, or is no Parquet file any more.
    """
    session = dict(settings)
    if session.get("spark.sql.parquet.fieldId.read.enabled", "false").lower() == "true":
        return frozenset()
    alone = [replace(source, columns=(name,), output=(one,)) for name, one in zip(source.columns, source.output, strict=True)]
    for path, _, _ in versions:
        alone = [one for one in alone if _is_certain(one, Path(path), session)]
    return frozenset(one.columns[0].lower() for one in alone)


def _is_certain(column: Source, path: Path, settings: dict[str, str]) -> bool:
    footers = Footers(column, settings)
    try:
        with opened(column, path) as file:
            (found,) = footers.columns(file)
            return not problem_of(file, found, footers.calendars(file))
    except CannotReadHere:
        return False
