"""A source that was only appended to since a sketch of it was captured: its new files, and what a run reads of it beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.records.versions import FilesVersion, SourceVersion
from airflow_lineage_provider.sketches.appends import AppendRule
from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.composite import AnyPartition
from airflow_lineage_provider.sketches.files import FILE_PATH, sketched_attributes
from airflow_lineage_provider.sketches.sketch import WORTH, Sketch
from airflow_lineage_provider.sketches.use import Selection, selection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.plan.expressions import Attribute
    from airflow_lineage_provider.plan.operators import Source
    from airflow_lineage_provider.records.sketches import StoredSketch
    from airflow_lineage_provider.spark.local_files import Files

MOST_VALUES = 1_000_000
"""So many different values of the column are fetched of new files, to know the fragments that they are in."""


MOST_NEW_FILES = 1_000
"""So many new files are named to Spark in a condition."""


def added_files(then: SourceVersion, now: SourceVersion, listing: Callable[[], Files]) -> tuple[str, ...] | str:
    """The files that came since, where all others are there as they were; else why it was not only appended to, or nobody can tell.

    ``listing`` lists the files of ``now``; it is asked where that version has a digest alone.
    """
    from airflow_lineage_provider.spark.local_files import files_digest

    if not isinstance(then, FilesVersion) or not isinstance(now, FilesVersion) or not (then.complete and now.complete):
        return "a version does not tell which of its rows are new"
    if then.partitions != now.partitions:
        return "its partitions are in other folders"
    files = listing() if now.files is None else now.files
    if now.files is None and files_digest(files) != now.digest:
        return "its files change at this very time"
    old = _oldest(files, then.count) if then.files is None else then.files
    if then.files is None and files_digest(old) != then.digest:
        return "of its files then only a digest is recorded, and those that changed first have another: some are gone, or came again"
    if any(files.get(file) != status for file, status in old.items()):
        return "files are gone, or were written again"
    new = tuple(sorted(file for file in files if file not in old))
    return f"more than {MOST_NEW_FILES:,} files are new" if len(new) > MOST_NEW_FILES else new


def _oldest(files: Files, count: int) -> Files:
    """So many files that changed before the others. (Of files that changed in one millisecond it may be any; their digest tells.)"""
    return dict(sorted(files.items(), key=lambda one: (one[1][1], one[0]))[:count])


@dataclass(frozen=True)
class AppendedRead:
    """What is read of a source: the rows that are selected, and all of the files ``in_full``, where it does not have all new rows.

    ``fragments`` are those that are read of the old files, ``rows`` of ``total`` the rows that are read; ``new`` rows came since.
    """

    selection: Selection
    in_full: tuple[str, ...]
    fragments: int
    rows: int
    total: int
    new: int


@dataclass(frozen=True)
class AppendedSource:
    """A source as the run reads it, the files that came since, and a sketch from before.

    Spark's errors come out as they are.

    :ivar counted: how many rows each fragment had before, where they were counted.
    """

    source: Source
    frame: DataFrame
    files: tuple[str, ...]
    stored: StoredSketch
    sketch: Sketch
    partition: AnyPartition
    counted: tuple[int, ...] | None = None

    def read(self, rule: AppendRule) -> AppendedRead:
        """What is read by a rule.

        :raises SketchError: new files cannot be told from the others, or have too many values, or what is read is not worth it.
        """
        from airflow_lineage_provider.spark.executing.new_files import named_as_read

        files = named_as_read(self.frame, self.files)
        if files is None:
            raise SketchError("Spark lists its files by other names")
        if rule.fragments and self.sketch.column == FILE_PATH:
            raise SketchError("new files are fragments of their own, and nobody knows in which others their groups have rows")
        found = self._with_fragments(files) if rule.fragments else self._beside_the_sketch(files)
        if found.rows > WORTH * found.total:
            raise SketchError(f"{found.rows:,} of {found.total:,} rows would be read: too many to be worth it")
        return found

    def _beside_the_sketch(self, files: tuple[str, ...]) -> AppendedRead:
        """The new files, whatever their rows are, and the sketch of the old ones."""
        from airflow_lineage_provider.spark.executing.new_files import of_files

        new = of_files(self.frame, files).count()
        return self._of(self.sketch.fragments, files, new, self.stored.rows)

    def _with_fragments(self, files: tuple[str, ...]) -> AppendedRead:
        """The sketch with the fragments that new rows are in, of all files: so all new rows are in it, and one scan reads them."""
        from airflow_lineage_provider.spark.executing.new_files import counted_values, of_files

        found = counted_values(of_files(self.frame, files), self._columns, MOST_VALUES)
        if found is None:
            raise SketchError(f"its new rows have more than {MOST_VALUES:,} different values of {self.sketch.column}")
        values, new = found
        more = self.partition.fragments_of(values) - self.sketch.fragments
        old = self.stored.rows + self._rows_in(more, files)
        return self._of(self.sketch.fragments | more, (), new, old)

    def _rows_in(self, fragments: frozenset[int], new: tuple[str, ...]) -> int:
        """The rows of the files that are not new which are read beside the sketch's, which were counted when it was captured."""
        from airflow_lineage_provider.spark.executing.new_files import of_other_files
        from airflow_lineage_provider.spark.selected import selected

        if not fragments:
            return 0
        if self.counted is not None:
            return sum(self.counted[fragment] for fragment in fragments)
        return selected(of_other_files(self.frame, new), selection(self.partition, fragments, *self._attributes), *self._columns).count()

    def _of(self, fragments: frozenset[int], in_full: tuple[str, ...], new: int, old: int) -> AppendedRead:
        found = selection(self.partition, fragments, *self._attributes)
        if found is None:
            raise SketchError("all fragments would be read: it is not worth it")
        return AppendedRead(found, in_full, len(fragments), old + new, self.stored.total + new, new)

    @property
    def _attributes(self) -> tuple[Attribute, ...]:
        return sketched_attributes(self.source, self.sketch.column)

    @property
    def _columns(self) -> tuple[str, ...]:
        return columns_in(self.sketch.column, self.source.columns)
