"""Rows of results that descend from source rows, of one run or of later ones, too, as they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_lineage_provider.answers.descendants import Descendants
from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.deriving.kept.parts import KeptTables, details_of, of_lines
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.store import DerivationRecord, DerivationTable
from airflow_lineage_provider.typed_json import written


@dataclass(frozen=True, kw_only=True)
class RowsDetails:
    """Rows of one run's result but for the rows."""

    run: RunSummary
    guarantee: Guarantee
    engine: str
    stale: tuple[str, ...]
    asked_rows: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class FollowedDetails:
    """`LineageRows`, or `Descendants`, but for their tables: ``later`` is None of rows that were not followed on."""

    table: str
    here: RowsDetails
    later: tuple[RowsDetails, ...] | None = None
    deciding: tuple[str, ...] = ()
    remarks: tuple[Guarantee, ...] = ()
    remarked: tuple[str, ...] = ()


def record_of(found: LineageRows | Descendants) -> DerivationRecord:
    """What is kept of an answer as it was found, without anything withheld."""
    here = found.here if isinstance(found, Descendants) else found
    every = tuple(found.parts())
    return DerivationRecord(
        run_id=here.run.id,
        question="forward",
        target=here.asked,
        seconds=sum(one.seconds for one in every),
        counts=found.counts(),
        guarantees={"result": here.guarantee} | {f"result.{one.run.id}": one.guarantee for one in every[1:]},
        details=written(_details(found, here)),
        tables={name: table for one in every for name, table in _tables(one)},
    )


def restored(record: DerivationRecord, run: RunSummary) -> LineageRows | Descendants:
    """The answer that was kept.

    :raises RecordDamaged: what is kept of it cannot be read.
    """
    details, tables = details_of(record, FollowedDetails), KeptTables(record.id, record.tables)
    here = _restored(record, details.table, details.here, run, tables)
    if details.later is None:
        return replace(here, id=record.id)
    return Descendants(
        id=record.id,
        here=here,
        later={one.run.id: _restored(record, details.table, one, one.run, tables) for one in details.later},
        deciding=frozenset(details.deciding),
        remarks=details.remarks,
        remarked=frozenset(details.remarked),
    )


def _details(found: LineageRows | Descendants, here: LineageRows) -> FollowedDetails:
    if not isinstance(found, Descendants):
        return FollowedDetails(table=here.asked_table, here=_of(here))
    return FollowedDetails(
        table=here.asked_table, here=_of(here), later=tuple(map(_of, found.later.values())), deciding=tuple(sorted(found.deciding)),
        remarks=found.remarks, remarked=tuple(sorted(found.remarked)),
    )  # fmt: skip


def _of(one: LineageRows) -> RowsDetails:
    return RowsDetails(
        run=one.run, guarantee=one.guarantee, engine=one.engine, stale=one.stale, asked_rows=one.asked_rows, seconds=one.seconds
    )  # fmt: skip


def _tables(one: LineageRows) -> Iterator[tuple[str, DerivationTable]]:
    import numpy as np

    worth, run_id = one.guarantee, one.run.id
    yield f"result:{run_id}", DerivationTable("result", one.rows, worth.level, worth.cause or None)
    yield f"numbers:{run_id}", DerivationTable("result", of_lines(np.array([one.numbers], np.int64)), "exact")
    yield f"links:{run_id}", DerivationTable("links", one.links, worth.level, worth.cause or None)


def _restored(record: DerivationRecord, table: str, kept: RowsDetails, run: RunSummary, tables: KeptTables) -> LineageRows:
    run_id = kept.run.id
    return LineageRows(
        run=replace(run, zone=kept.run.zone),
        asked=record.target,
        asked_table=table,
        table="result",
        rows=tables[f"result:{run_id}"],
        links=tables[f"links:{run_id}"],
        guarantee=kept.guarantee,
        engine=kept.engine,
        stale=kept.stale,
        asked_rows=kept.asked_rows,
        numbers=tuple(tables.line(f"numbers:{run_id}").tolist()),
        seconds=kept.seconds,
    )
