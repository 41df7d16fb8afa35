"""Answers to why-not questions as they are kept: by whole columns, so that words are made of a row when it is looked at, as ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.fates import Drops, Fates, Way
from airflow_lineage_provider.answers.why_not import Reason, WhyNot
from airflow_lineage_provider.deriving.kept.parts import KeptTables, details_of, of_lines
from airflow_lineage_provider.deriving.why_not.drops import DroppedBy
from airflow_lineage_provider.deriving.why_not.evidence import Evidence, Others, PartnersMet
from airflow_lineage_provider.deriving.why_not.rows_behind import RowsBehind
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.store import DerivationRecord, DerivationTable
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class WayDetails:
    """A `Way` but for its counts: ``drops`` has for places of its operators which drops (by number) they are."""

    leaf: int
    first: int
    operators: tuple[tuple[int, str], ...]
    drops: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class OthersDetails:
    """`Others` but for its tables: ``behind`` names the source tables behind them."""

    shown: tuple[Attribute, ...]
    behind: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PartnersDetails:
    """`PartnersMet` but for its counts."""

    terms: tuple[str, ...]
    conditional: bool
    others: OthersDetails | None = None


@dataclass(frozen=True, kw_only=True)
class EvidenceDetails:
    """`Evidence` but for its rows."""

    read: tuple[Attribute, ...]
    terms: tuple[str, ...]
    one_by_one: bool
    partners: PartnersDetails | None = None


@dataclass(frozen=True, kw_only=True)
class DropDetails:
    """`DroppedBy` but for its tables."""

    reason: Reason
    says: str
    evidence: EvidenceDetails | None = None


@dataclass(frozen=True, kw_only=True)
class WhyNotDetails:
    """A `WhyNot` but for its tables."""

    table: str
    guarantee: Guarantee
    stale: tuple[str, ...]
    ways: tuple[WayDetails, ...]
    drops: tuple[DropDetails, ...]


def record_of(found: WhyNot) -> DerivationRecord:
    """What is kept of an answer as it was found, without anything withheld."""
    assert not found.fates.told
    drops = _each_once(found.fates)
    details = WhyNotDetails(
        table=found.table, guarantee=found.guarantee, stale=found.stale, ways=tuple(_way(one, drops) for one in found.fates.ways),
        drops=tuple(map(_drop, drops)),
    )  # fmt: skip
    return DerivationRecord(
        run_id=found.run.id,
        question="why_not",
        target=found.asked,
        seconds=found.seconds,
        counts=found.counts(),
        guarantees={"rows": found.guarantee},
        details=written(details),
        tables=dict(_tables(found, drops)),
    )


def restored(record: DerivationRecord, run: RunSummary) -> WhyNot:
    """The answer that was kept.

    :raises RecordDamaged: what is kept of it cannot be read.
    """
    details, tables = details_of(record, WhyNotDetails), KeptTables(record.id, record.tables)
    drops = [_restored_drop(f"evidence:{at}", one, tables) for at, one in enumerate(details.drops)]
    ways = tuple(
        Way(
            leaf=one.leaf, operators=one.operators, descendants=tables.lines(f"evidence:way {at}"), first=one.first,
            drops={place: drops[number] for place, number in one.drops},
        )
        for at, one in enumerate(details.ways)
    )  # fmt: skip
    rows = tables["asked:rows"]
    return WhyNot(
        id=record.id,
        run=run,
        asked=record.target,
        table=details.table,
        rows=rows,
        copies=tuple(tables.line("asked:copies").tolist()),
        fates=Fates(ways=ways, rows=rows.num_rows),
        guarantee=details.guarantee,
        stale=details.stale,
        seconds=record.seconds or 0.0,
    )


def _each_once(fates: Fates) -> list[DroppedBy]:
    """A self-join drops rows of several ways, all of which know of it."""
    found = [*dict.fromkeys(one for way in fates.ways for one in way.drops.values())]
    made = [one for one in found if isinstance(one, DroppedBy)]
    assert len(made) == len(found)
    return made


def _way(one: Way, drops: list[DroppedBy]) -> WayDetails:
    number: dict[Drops, int] = {dropped: at for at, dropped in enumerate(drops)}
    places = tuple((place, number[dropped]) for place, dropped in one.drops.items())
    return WayDetails(leaf=one.leaf, first=one.first, operators=one.operators, drops=places)


def _drop(one: DroppedBy) -> DropDetails:
    if one.evidence is None:
        return DropDetails(reason=one.reason, says=one.says)
    found, met = one.evidence, one.evidence.partners
    partners = None if met is None else PartnersDetails(terms=met.terms, conditional=met.conditional, others=_others(met.others))
    evidence = EvidenceDetails(read=found.read, terms=found.terms, one_by_one=found.one_by_one, partners=partners)
    return DropDetails(reason=one.reason, says=one.says, evidence=evidence)


def _others(found: Others | None) -> OthersDetails | None:
    return None if found is None else OthersDetails(shown=found.shown, behind=tuple(name for name, _, _ in found.behind.sources))


def _tables(found: WhyNot, drops: list[DroppedBy]) -> Iterator[tuple[str, DerivationTable]]:
    import numpy as np

    worth = found.guarantee
    yield "asked:rows", DerivationTable("asked", found.rows, worth.level, worth.cause or None)
    yield "asked:copies", DerivationTable("asked", of_lines(np.array([found.copies], np.int64)), "exact")
    evidence = [(f"evidence:way {at}", of_lines(way.descendants)) for at, way in enumerate(found.fates.ways)]
    evidence += [one for at, drop in enumerate(drops) if drop.evidence is not None for one in _evidence(f"evidence:{at}", drop.evidence)]
    for name, table in evidence:
        yield name, DerivationTable("evidence", table, worth.level, worth.cause or None)


def _evidence(name: str, found: Evidence) -> Iterator[tuple[str, pa.Table]]:
    yield name, found.rows
    if found.partners is None:
        return
    yield f"{name} met", of_lines(found.partners.counts.T)
    others = found.partners.others
    if others is not None:
        yield f"{name} taken", of_lines(others.taken[None])
        yield f"{name} numbers", of_lines(others.number[None])
        yield f"{name} others", others.rows
        for at, (_, table, places) in enumerate(others.behind.sources):
            yield f"{name} behind {at}", table
            yield f"{name} places {at}", of_lines(places[None])


def _restored_drop(name: str, kept: DropDetails, tables: KeptTables) -> DroppedBy:
    known = kept.evidence
    if known is None:
        return DroppedBy(reason=kept.reason, says=kept.says, evidence=None)
    partners = None if known.partners is None else _restored_partners(name, known.partners, tables)
    evidence = Evidence(rows=tables[name], read=known.read, terms=known.terms, one_by_one=known.one_by_one, partners=partners)
    return DroppedBy(reason=kept.reason, says=kept.says, evidence=evidence)


def _restored_partners(name: str, kept: PartnersDetails, tables: KeptTables) -> PartnersMet:
    others = None if kept.others is None else _restored_others(name, kept.others, tables)
    return PartnersMet(counts=tables.lines(f"{name} met").T, terms=kept.terms, conditional=kept.conditional, others=others)


def _restored_others(name: str, kept: OthersDetails, tables: KeptTables) -> Others:
    behind = [(table, tables[f"{name} behind {at}"], tables.line(f"{name} places {at}")) for at, table in enumerate(kept.behind)]
    return Others(
        taken=tables.line(f"{name} taken"), number=tables.line(f"{name} numbers"), rows=tables[f"{name} others"], shown=kept.shown,
        behind=RowsBehind(behind),
    )  # fmt: skip
