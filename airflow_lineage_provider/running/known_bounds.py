"""What is known of the values in a pipeline's sources, as it reads them: the statistics of their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.records.versions import FilesVersion, SourceVersion
from airflow_lineage_provider.sketches.statistics import Bounds, ColumnBounds
from airflow_lineage_provider.sources.column_bounds import column_bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow_lineage_provider.plan.operators import Source


def known_bounds(sources: Iterable[tuple[Source, SourceVersion]], conf: Mapping[str, str]) -> Bounds:
    """What the footers of the very files of each source's version say, by leaf and column; ``conf`` is the session's.

    (That a source still is of this version is looked at when the run is complete, and before a sketch is kept.)
    """
    found: dict[tuple[int, str], ColumnBounds] = {}
    for source, version in sources:
        if isinstance(version, FilesVersion) and version.complete and version.files:
            told = column_bounds(source, version.files, conf)
            found |= {(source.leaf, name): one for name, one in told.items()}
    return found
