"""Explanations as they are kept in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
from airflow_lineage_provider.answers.explanation_set import ExplanationSet
from airflow_lineage_provider.answers.tables import UNRECORDED, AnswerTable, Intermediate, SourceTable
from airflow_lineage_provider.deriving.kept.details import AnswerDetails
from airflow_lineage_provider.deriving.kept.parts import details_of
from airflow_lineage_provider.deriving.reasons import worth_of
from airflow_lineage_provider.errors import RecordDamaged
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.reasons.apart import Relations, named_by
from airflow_lineage_provider.reasons.features import Names
from airflow_lineage_provider.records.derivation_sets import DerivationSetRecord
from airflow_lineage_provider.store import DerivationRecord, DerivationTable
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    import pyarrow as pa


def record_of(explanation: Explanation) -> DerivationRecord:
    """What is kept of an explanation."""
    return DerivationRecord(
        run_id=explanation.run.id,
        target=explanation.asked,
        seconds=explanation.seconds,
        counts=explanation.counts(),
        guarantees={name: one.guarantee for name, one in explanation.tables.items()},
        details=written(AnswerDetails.of(explanation)),
        tables=dict(_tables(explanation)),
        relations={name: content for one in explanation.reasons.values() for name, content in one.relations.items()},
    )


def restored(record: DerivationRecord, run: RunSummary) -> Explanation:
    """The explanation that was kept.

    :raises RecordDamaged: what is kept of it cannot be read.
    """
    details = details_of(record, AnswerDetails)
    of_kind: dict[str, dict[str, pa.Table]] = {"source": {}, "intermediate": {}, "reasons": {}, "links": {}, "target": {}}
    for name, one in record.tables.items():
        of_kind[one.kind][name.partition(":")[2]] = one.table
    kept = _Kept(record.guarantees, details, of_kind, run, record.relations)
    return Explanation(
        id=record.id,
        run=run,
        asked=record.target,
        target=of_kind["target"]["rows"],
        result_rows=details.result_rows,
        sources={name: kept.source(name, table) for name, table in kept.in_order("source")},
        reasons={name: kept.reasons(name, table) for name, table in kept.in_order("reasons")},
        intermediate={name: kept.intermediate(name, table) for name, table in kept.in_order("intermediate")},
        target_links=of_kind["links"]["target"],
        controls=details.controls,
        stale=details.stale,
        verified=details.verified,
        verification=details.verification,
        blanked=details.blanked,
        queries=details.queries,
        plan=codec.from_json(details.plan) if details.plan else None,
        materialized=frozenset(details.materialized),
        choices=details.choices,
        images={one.path: one.image for one in details.images},
        seconds=record.seconds or 0.0,
    )


def restored_set(record: DerivationSetRecord, stored: Sequence[DerivationRecord], run: RunSummary) -> ExplanationSet:
    """A set of explanations at a glance, as far as it was kept.

    :raises RecordDamaged: what is kept of one of them cannot be read.
    """
    details = [details_of(one, AnswerDetails) for one in stored]
    return ExplanationSet(
        id=record.id,
        run=run,
        asked=record.target,
        since=record.since,
        rows=record.rows,
        chunk_rows=record.chunk_rows,
        chunks=record.chunks,
        ids=tuple(one.id for one in stored),
        counts=stored[0].counts if record.chunks == 1 and stored else {"target": sum(one.counts.get("target", 0) for one in stored)},
        guarantees=_weakest_of(stored),
        stale=tuple(dict.fromkeys(text for one in details for text in one.stale)),
        verified=_all_verified([one.verified for one in details]),
        seconds=sum(one.seconds or 0.0 for one in stored),
    )


def _weakest_of(stored: Sequence[DerivationRecord]) -> dict[str, Guarantee]:
    names = dict.fromkeys(name for one in stored for name in one.guarantees)
    return {name: weakest(*(one.guarantees[name] for one in stored if name in one.guarantees)) for name in names}


def _all_verified(verdicts: Sequence[bool | None]) -> bool | None:
    """Whether every answer was verified; False where one was refuted, None where one was not verified."""
    return False if False in verdicts else None if None in verdicts or not verdicts else True


@dataclass(frozen=True)
class _Kept:
    """The tables of an answer that was kept.

    Releases before this one wrote guarantees and links under the names of the tables alone, whatever their kind.
    """

    guarantees: Mapping[str, Guarantee]
    details: AnswerDetails
    tables: Mapping[str, Mapping[str, pa.Table]]
    run: RunSummary
    relations: Relations

    def in_order(self, kind: str) -> list[tuple[str, pa.Table]]:
        return [(name, self.tables[kind][name]) for name in dict.fromkeys(self.details.order) if name in self.tables[kind]]

    def source(self, name: str, table: pa.Table) -> SourceTable:
        return SourceTable(table, guarantee=self._worth("source", name), stale=self.details.stale_source(name))

    def reasons(self, name: str, table: pa.Table) -> Reasons:
        worth, names = _guarantee(self._worth("reasons", name), table), Names.of(self.details.names.get(name, {}))
        run_id = self.details.caller(name, self.run.id)
        links, relations = self._links("reasons", name), named_by(table.column(table.num_columns - 1).to_pylist(), self.relations)
        return Reasons(table, guarantee=worth, links=links, names=names, run_id=run_id, relations=relations)

    def intermediate(self, name: str, table: pa.Table) -> Intermediate:
        if name not in self.details.intermediate:
            raise RecordDamaged(f"what is kept of the answer about run {self.run.id} does not say which run wrote {name}")
        known = self.details.intermediate[name]
        worth, links = self._worth("intermediate", name), self._links("intermediate", name)
        return Intermediate(table, run=known.run, queries=known.queries, guarantee=worth, links=links)

    def _worth(self, kind: str, name: str) -> Guarantee:
        return self.guarantees.get(f"{kind}.{name}", self.guarantees.get(name, UNRECORDED))

    def _links(self, kind: str, name: str) -> pa.Table | None:
        links = self.tables["links"]
        return links.get(f"{kind}.{name}", links.get(name))


def _guarantee(kept: Guarantee, reasons: pa.Table) -> Guarantee:
    """Earlier releases called decisions without a reason exactly explained."""
    if kept.level == "unavailable":
        return kept
    now = worth_of(reasons.column(reasons.num_columns - 1), reasons.column(reasons.num_columns - 2), kept.cause or "no reason was given")
    return kept if now.level == "exact" else now


def _tables(explanation: Explanation) -> list[tuple[str, DerivationTable]]:
    def kept(kind: Literal["source", "intermediate", "reasons"], name: str, one: AnswerTable) -> tuple[str, DerivationTable]:
        return f"{kind}:{name}", DerivationTable(kind, one.rows, one.guarantee.level, one.guarantee.cause or None)

    links = {"target": explanation.target_links}
    links |= {f"intermediate.{name}": one.links for name, one in explanation.intermediate.items() if one.links is not None}
    links |= {f"reasons.{name}": made.links for name, made in explanation.reasons.items() if made.links is not None}
    return [
        ("target:rows", DerivationTable("target", explanation.target, "exact")),
        *(kept("source", name, one) for name, one in explanation.sources.items()),
        *(kept("intermediate", name, one) for name, one in explanation.intermediate.items()),
        *(kept("reasons", name, one) for name, one in explanation.reasons.items()),
        *((f"links:{name}", DerivationTable("links", table, "exact")) for name, table in links.items()),
    ]
