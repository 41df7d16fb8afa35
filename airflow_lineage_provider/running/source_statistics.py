"""What the footers of Parquet files tell of a pipeline's sources before it runs: how many rows there are, and between what values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.magnitudes import SourceMagnitudes
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.records.versions import FilesVersion
from airflow_lineage_provider.rewrite.exact_averages import leaves_to_know
from airflow_lineage_provider.running.files_as_read import files_now, files_read
from airflow_lineage_provider.sketches.statistics import Bounds
from airflow_lineage_provider.sources.file_statistics import FileStatistics, file_statistics
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.sources.view_values import file_version

if TYPE_CHECKING:
    from airflow_lineage_provider.records.versions import SourceVersion

_MOST_WAITED_FOR = 100
"""So many files are looked into for averages, whatever a run asks for: about a millisecond each, and a run of ten rows waits for it."""
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


class SourceStatistics:
    """Of the sources of one run, each looked into when it is first asked for, and once. ``conf`` is the session's that reads them."""

    def __init__(self, conf: Mapping[str, str]) -> None:
        self._conf = dict(conf)
        self._known: dict[tuple[int, tuple[str, ...]], FileStatistics] = {}

    def of(self, source: o.Source, version: SourceVersion) -> FileStatistics:
        """What the very files of the version say; nothing where they are not known one by one, or are others now.

        (That they stay what they are is looked at when the run is complete, and before a sketch is kept.)
        """
        at = (source.leaf, source.columns)
        if at not in self._known:
            self._known[at] = self._looked_at(source, version)
        return self._known[at]

    def _looked_at(self, source: o.Source, version: SourceVersion) -> FileStatistics:
        if not isinstance(version, FilesVersion) or not version.files or version.kept_rows is not None:
            return FileStatistics()
        paths = [str(local_path(uri) or uri) for uri in version.files]
        found = file_statistics(source, paths, self._conf)
        return found if found.rows is not None and _are_as_read(version, paths) else FileStatistics()

    def bounds(self, sources: Iterable[tuple[o.Source, SourceVersion]]) -> Bounds:
        """The bounds of the values in all sources whose files are all that there are of them."""
        read = [(source, version) for source, version in sources if isinstance(version, FilesVersion) and version.complete]
        return {(source.leaf, name): one for source, version in read for name, one in self.of(source, version).bounds.items()}

    def magnitudes(
        self, plan: o.Plan, version_of: Callable[[o.Source], SourceVersion], without: Collection[int] = ()
    ) -> dict[int, SourceMagnitudes]:
        """Of those sources of a captured plan where it matters, by leaf, how large their whole numbers are.

        :param without: leaves of which nothing is said.
        """
        wanted = leaves_to_know(plan).difference(without)
        leaves = {node.leaf: node for node in all_operators(plan) if isinstance(node, o.Source) and node.leaf in wanted}
        found = {leaf: self._magnitudes(source, version_of) for leaf, source in leaves.items() if source.relation.format == "parquet"}
        return {leaf: told for leaf, told in found.items() if told is not None}

    def _magnitudes(self, source: o.Source, version_of: Callable[[o.Source], SourceVersion]) -> SourceMagnitudes | None:
        version = version_of(source)
        if not isinstance(version, FilesVersion) or len(version.files or ()) > _MOST_WAITED_FOR:
            return None
        found = self.of(source, version)
        if found.rows is None:
            return None
        whole = {name for name, a in zip(source.columns, source.output, strict=True) if a.type in _WHOLE}
        ends = {name: (one.least, one.most) for name, one in found.bounds.items() if name in whole}
        columns = {name: max(abs(int(least)), abs(int(most))) for name, (least, most) in ends.items() if least and most}
        return SourceMagnitudes(found.rows, columns)


def _are_as_read(version: FilesVersion, paths: Iterable[str]) -> bool:
    """Whether what was looked into are the files of that version: none was put in the place of another meanwhile."""
    try:
        return files_now(map(file_version, paths)) == files_read(version)
    except SourceUnavailable:
        return False
