"""What a run stored, how large it is, and why; and what it did not store. Read from the catalog: no Spark, no rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.segments import SegmentKind
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.reasons.description import UdfDescription, UdfPlace
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource

if TYPE_CHECKING:
    from airflow_lineage_provider.store import Materialization, RunRecord, Store

SNAPSHOT = "only the run's session held its rows"
ROWS_OF_LINEAGE = "the lineage keys of the rows that alone the run read of it"


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """The stored output of a segment; or, where ``segment`` is None, the copy of a source table that only the session held, or the lineage
    keys of the rows that alone were read of one.

    ``operator`` is the segment's top operator as people read it, or the source's name; ``bytes`` are those on disk, with indexes;
    ``because`` is empty for runs of releases that did not record it. ``folder`` is the URI of the files that have the rows; None where
    PostgreSQL has them.
    """

    segment: int | None
    kind: SegmentKind | None
    name: str
    operator: str
    rows: int | None
    bytes: int
    because: str
    folder: str | None = None


@dataclass(frozen=True, kw_only=True)
class SegmentNotStored:
    """A segment whose output is made again, or read through, when it is asked about; ``because`` is as in `StoredTable`."""

    segment: int
    kind: SegmentKind
    operator: str
    because: str


@dataclass(frozen=True, kw_only=True)
class RecordedUdf:
    """A UDF of a run, and where a derivation finds it.

    ``found_in`` is ``module``, which must be importable there; ``store``: it is kept with the run, in ``bytes`` of code and data; or
    ``nowhere``, for the reason in ``because``, unless the process that asks declares it. ``version`` is empty for what is no reasoned UDF.
    """

    name: str
    version: str
    module: str
    found_in: UdfPlace
    bytes: int | None = None
    because: str = ""


def recorded_udfs(record: RunRecord) -> tuple[RecordedUdf, ...]:
    """The UDFs of a run, each version once."""
    made = [_recorded_udf(one) for one in record.udfs]
    return tuple({(one.name, one.version): one for one in made}.values())


def _recorded_udf(one: UdfDescription) -> RecordedUdf:
    unknown: UdfPlace = "nowhere" if not one.version or one.module in ("", "__main__") else "module"  # of a release that did not say it
    return RecordedUdf(
        name=one.name, version=one.version, module=one.module, found_in=one.found_in or unknown,
        bytes=None if one.kept is None else one.kept.bytes,
        because=one.not_kept or ("" if one.version else "it is not a reasoned UDF"),
    )  # fmt: skip


def stored_tables(store: Store, record: RunRecord, recorded: RecordedPlan) -> tuple[StoredTable, ...]:
    """The root segment's first, copies of sources last.

    :raises RunNotComplete: the run failed, was dropped, or is still going.
    """
    tables, sizes = store.materializations(record.id), store.table_sizes(record.id)
    because = _because(record)
    made = [
        StoredTable(
            segment=number, kind=recorded.plan.segments[number].kind, name=one.name,
            operator=operator_text(recorded.plan.segments[number].plan), because=because.get(number, ""),
            rows=tables[one.name].rows, bytes=sizes.get(one.name, 0), folder=tables[one.name].folder,
        )
        for number, one in sorted(recorded.materialized.items())
    ]  # fmt: skip
    held = [one for _, one in sorted(recorded.sources.items()) if one.identity.kind == "snapshot"]
    copies = [_beside(f"source_{one.source.leaf}", one, SNAPSHOT, tables, sizes) for one in held]
    read = {one.rows_of.stored: one for _, one in sorted(recorded.sources.items()) if one.rows_of is not None}
    return (*made, *copies, *(_beside(name, one, ROWS_OF_LINEAGE, tables, sizes) for name, one in read.items()))


def segments_not_stored(record: RunRecord, recorded: RecordedPlan) -> tuple[SegmentNotStored, ...]:
    """The others, by number."""
    because = _because(record)
    return tuple(
        SegmentNotStored(segment=one.number, kind=one.kind, operator=operator_text(one.plan), because=because.get(one.number, ""))
        for one in recorded.plan.segments
        if one.number not in recorded.materialized
    )


def _beside(name: str, one: RecordedSource, because: str, tables: dict[str, Materialization], sizes: dict[str, int]) -> StoredTable:
    return StoredTable(
        segment=None, kind=None, name=name, operator=one.source.relation.name, rows=tables[name].rows, bytes=sizes.get(name, 0),
        because=because, folder=tables[name].folder,
    )  # fmt: skip


def _because(record: RunRecord) -> dict[int, str]:
    return {choice.segment: choice.because for choice in record.choices}
