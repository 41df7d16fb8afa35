"""A run that is asked for provenance sketches: its sources, and what it does with each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.records.versions import FilesVersion, SourceVersion
from airflow_lineage_provider.sketches.choice import ChosenColumn
from airflow_lineage_provider.sketches.column_text import columns_in, of_columns
from airflow_lineage_provider.sketches.composite import MOST_COLUMNS
from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.sketches.statistics import Bounds
from airflow_lineage_provider.sketches.template import Instance

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.operators import Source
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.running.source_statistics import SourceStatistics
    from airflow_lineage_provider.sketches.use import Selection
    from airflow_lineage_provider.sketches.wanted import SketchOn
    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline


@dataclass(frozen=True, kw_only=True)
class Sketching:
    """``uses`` says of each source what became of it.

    By leaf: ``selections`` are those of the sketches that are used, ``in_full`` files that are read whole, whatever these say, and
    ``capture`` the columns that are to be captured, of which those of ``tied`` leaves are good only if no rows tie at the limit.
    ``versions`` are digests of the versions of the sources that the run reads, ``because`` is why some are captured, where it was decided.
    ``witness``: one row of a group may stand for all (`sketches.witness`); ``no_witness`` says why it does not, whatever the group.
    """

    uses: tuple[SketchUse, ...] = ()
    selections: Mapping[int, Selection] = field(default_factory=dict)
    in_full: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    capture: Mapping[int, ChosenColumn] = field(default_factory=dict)
    tied: frozenset[int] = frozenset()
    instance: Instance | None = None
    versions: Mapping[int, str] = field(default_factory=dict)
    because: str = ""
    witness: bool = False
    no_witness: str = ""

    @property
    def used(self) -> tuple[str, ...]:
        """The ids of the sketches that are used."""
        return tuple(one.sketch for one in self.uses if one.state == "used")


@dataclass(frozen=True)
class Asked:
    """A run that may use sketches, or capture them; ``versions`` are digests of the versions of its sources."""

    request: Request
    captured: CapturedPipeline
    recorded: RecordedPlan
    named: Mapping[int, SketchOn]
    instance: Instance
    versions: Mapping[int, str]
    statistics: SourceStatistics

    @property
    def sources(self) -> list[RecordedSource]:
        """The sources, in the order of their leaves."""
        return sources_of(self.recorded)

    @property
    def keys(self) -> dict[int, tuple[str, ...]]:
        """The primary keys that are known, by leaf."""
        return primary_keys(self.recorded)

    @cached_property
    def bounds(self) -> Bounds:
        """What is known of the values of its sources."""
        return bounds_of(self.recorded, self.statistics)

    def unused(self, because: str) -> Sketching:
        """No source is read through a sketch."""
        return self.sketching(tuple(unused(one, because) for one in self.sources))

    def sketching(self, uses: tuple[SketchUse, ...], **what: Any) -> Sketching:
        """What the run does."""
        return Sketching(uses=uses, instance=self.instance, versions=self.versions, **what)


def sources_of(recorded: RecordedPlan) -> list[RecordedSource]:
    """The sources of a run, in the order of their leaves."""
    return [recorded.sources[leaf] for leaf in sorted(recorded.sources)]


def named_columns(sketch_on: Mapping[str, SketchOn], recorded: RecordedPlan) -> dict[int, SketchOn]:
    """What ``sketch_on`` says, by leaf, with the columns in the table's own letters.

    :raises PlanError: there is no such table or column.
    """
    found: dict[int, SketchOn] = {}
    for table, on in sketch_on.items():
        read = [one for one in sources_of(recorded) if one.source.relation.name.lower() == table.lower()]
        if not read:
            tables = ", ".join(sorted({one.source.relation.name for one in sources_of(recorded)}))
            raise PlanError(f"sketch_on names table {table}, which the pipeline does not read; it reads {tables}")
        found |= {one.source.leaf: replace(on, column=_column_of(one, on)) for one in read}
    return found


def _column_of(one: RecordedSource, on: SketchOn) -> str:
    """:raises PlanError: there is no such column, or nobody knows the files of its rows."""
    if on.name.lower() != FILE_PATH:
        return column_of(one.source, on.name)
    if not one.files or FILE_PATH in one.source.columns:
        raise PlanError(
            f"sketch_on names {FILE_PATH}, the file of each row, and rows of {one.source.relation.name} are not known by their files: "
            "Parquet files are, unless a primary key is named (keys=)"
        )
    if on.cuts is not None:
        raise PlanError(f"sketch_on names {FILE_PATH} of {one.source.relation.name} and cuts: each file is a fragment")
    return FILE_PATH


def unused(one: RecordedSource, because: str, column: str = "") -> SketchUse:
    """That a source is not read through a sketch, and why."""
    return SketchUse(leaf=one.source.leaf, table=one.source.relation.name, column=column, state="unused", because=because)


def bytes_of(version: SourceVersion) -> int | None:
    """The bytes of a source's files; None where it is not files."""
    return version.bytes if isinstance(version, FilesVersion) else None


def bytes_in(version: SourceVersion, rows: int, total: int, files: tuple[str, ...] | None = None) -> int | None:
    """The bytes that so many rows of a source are in: those of ``files``, as Spark names them, where these are read and the size of each is
    recorded; else the share that the rows are of all."""
    sizes = version.files or {} if isinstance(version, FilesVersion) else {}
    named = None if files is None else [unquote(file) for file in files]
    if named is not None and all(file in sizes for file in named):
        return sum(sizes[file][0] for file in named)
    whole = bytes_of(version)
    return None if whole is None else round(whole * rows / max(1, total))


def primary_keys(recorded: RecordedPlan) -> dict[int, tuple[str, ...]]:
    """The primary keys of a run's sources, by leaf."""
    return {one.source.leaf: one.primary_key for one in sources_of(recorded) if one.primary_key}


def bounds_of(recorded: RecordedPlan, statistics: SourceStatistics) -> Bounds:
    """What is known of the values of a run's sources, by leaf and column."""
    return statistics.bounds((one.source, one.version) for one in sources_of(recorded))


def column_of(source: Source, name: str) -> str:
    """A column of a source, in the table's own letters; or several in one text (`column_text`), which a command has with commas between
    them.

    :raises PlanError: there is none of this name, or one is named twice.
    """
    found = _column_called(source, name)
    if found is not None:
        return found
    names = columns_in(name, source.columns)
    names = tuple(one.strip() for one in name.split(",")) if len(names) == 1 else names
    columns = [_column_called(source, one) for one in names]
    missing = next((one for one, column in zip(names, columns, strict=True) if column is None), None)
    if missing is not None:
        raise PlanError(f"sketch_on names column {missing} of {source.relation.name}; the table has {', '.join(source.columns)}")
    if not len(set(columns)) == len(columns) <= MOST_COLUMNS:
        raise PlanError(f"sketch_on names {name} of {source.relation.name}: there can be up to {MOST_COLUMNS} columns, each once")
    return of_columns([one for one in columns if one is not None])


def _column_called(source: Source, name: str) -> str | None:
    same = [one for one in source.columns if one == name] or [one for one in source.columns if one.lower() == name.lower()]
    return same[0] if len(same) == 1 else None
