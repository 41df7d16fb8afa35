"""What the footers of Parquet files tell of sources before a run: how many rows there are, and how large their whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING
from urllib.parse import quote

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.magnitudes import SourceMagnitudes
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.rewrite.exact_averages import leaves_to_know
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.sources.row_groups import in_footers

if TYPE_CHECKING:
    from airflow_lineage_provider.records.versions import SourceVersion

_MOST_FILES = 100
"""About a millisecond each, and a run of ten rows waits for it."""
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


def source_magnitudes(
    plan: o.Plan, version_of: Callable[[o.Source], SourceVersion], without: Collection[int] = ()
) -> dict[int, SourceMagnitudes]:
    """Of those sources of a captured plan where it matters, by leaf: what the files of the version that the run reads tell.

    :param without: leaves of which nothing is said.
    """
    wanted = leaves_to_know(plan).difference(without)
    leaves = {node.leaf: node for node in all_operators(plan) if isinstance(node, o.Source) and node.leaf in wanted}
    found = {leaf: _in_files(source, version_of(source)) for leaf, source in leaves.items() if source.relation.format == "parquet"}
    return {leaf: told for leaf, told in found.items() if told is not None}


def _in_files(source: o.Source, version: SourceVersion) -> SourceMagnitudes | None:
    if not isinstance(version, FilesVersion) or not version.files or len(version.files) > _MOST_FILES or version.kept_rows is not None:
        return None
    footers = in_footers(source, (quote(path, safe=":/") for path in version.files))
    if footers.rows is None or not _are_as_read(version):
        return None
    kinds = {name: a.type for name, a in zip(source.columns, source.output, strict=True)}
    columns = {name: max(abs(end) for one in bounds for end in one) for name, bounds in footers.bounds.items() if kinds[name] in _WHOLE}
    return SourceMagnitudes(footers.rows, columns)


def _are_as_read(version: FilesVersion) -> bool:
    """Whether what was looked into are the files of that version: none was put in the place of another meanwhile."""
    assert version.files is not None
    places = {path: local_path(path) for path in version.files}
    try:
        now = {path: place.stat() for path, place in places.items() if place is not None}
    except OSError:
        return False
    return {path: (one.st_size, one.st_mtime_ns // 1_000_000) for path, one in now.items()} == dict(version.files)
