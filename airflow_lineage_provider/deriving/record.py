"""Derivations kept in the store: an answer can be read again as it was given."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Control, Explanation, Image, RunSummary
from airflow_lineage_provider.answers.tables import UNRECORDED, AnswerTable, Intermediate, SourceTable
from airflow_lineage_provider.deriving.reasons import worth_of
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.reasons.features import Names
from airflow_lineage_provider.recording import choices_document, choices_of
from airflow_lineage_provider.store import DerivationRecord, DerivationTable, Store
from airflow_lineage_provider.tracing.trace import TracingQuery

if TYPE_CHECKING:
    import pyarrow as pa


def saved(explanation: Explanation, store: Store, airflow: Mapping[str, Any]) -> Explanation:
    """Keep an explanation; the same one with its id."""
    record = DerivationRecord(
        run_id=explanation.run.id,
        target=explanation.asked,
        seconds=explanation.seconds,
        counts=explanation.counts(),
        guarantees={name: asdict(one.guarantee) for name, one in explanation.tables.items()},
        details=_details(explanation),
        tables=dict(_tables(explanation)),
        airflow=dict(airflow) or None,
    )
    return replace(explanation, id=store.save_derivation(record))


def restored(record: DerivationRecord, run: RunSummary) -> Explanation:
    """The explanation that was kept."""
    details = record.details
    of_kind: dict[str, dict[str, pa.Table]] = {"source": {}, "intermediate": {}, "reasons": {}, "links": {}, "target": {}}
    for name, one in record.tables.items():
        of_kind[one.kind][name.partition(":")[2]] = one.table
    kept = _Kept(record, of_kind, run)
    return Explanation(
        id=record.id,
        run=run,
        asked=record.target,
        target=of_kind["target"]["rows"],
        result_rows=details["result_rows"],
        sources={name: kept.source(name, table) for name, table in kept.in_order("source")},
        reasons={name: kept.reasons(name, table) for name, table in kept.in_order("reasons")},
        intermediate={name: kept.intermediate(name, table) for name, table in kept.in_order("intermediate")},
        target_links=of_kind["links"]["target"],
        controls=tuple(
            Control(**one | {name: tuple(one[name]) for name in ("sources", "intermediate", "rows") if name in one})
            for one in details.get("controls", ())
        ),
        stale=tuple(details["stale"]),
        verified=details["verified"],
        verification=details["verification"],
        queries=tuple(TracingQuery(**one) for one in details["queries"]),
        plan=codec.from_json(details["plan"]) if details["plan"] else None,
        materialized=frozenset(details["materialized"]),
        choices=choices_of(details.get("choices")),
        images={one["path"]: _image(one) for one in details.get("images", ())},
        seconds=record.seconds or 0.0,
    )


class _Kept:
    """The tables of an answer that was kept.

    Releases before this one wrote guarantees and links under the names of the tables alone, whatever their kind.
    """

    def __init__(self, record: DerivationRecord, tables: Mapping[str, Mapping[str, pa.Table]], run: RunSummary) -> None:
        self.guarantees = record.guarantees
        self.details = record.details
        self.tables = tables
        self.run = run

    def in_order(self, kind: str) -> list[tuple[str, pa.Table]]:
        return [(name, self.tables[kind][name]) for name in dict.fromkeys(self.details["order"]) if name in self.tables[kind]]

    def source(self, name: str, table: pa.Table) -> SourceTable:
        early = [text for text in self.details["stale"] if text.startswith(f"{name}: ")]
        stale = self.details.get("stale_of", {}).get(name, early)
        return SourceTable(table, guarantee=self._worth("source", name), stale=tuple(stale))

    def reasons(self, name: str, table: pa.Table) -> Reasons:
        names = Names.of(self.details.get("names", {}).get(name, {}))
        run_id = self.details.get("called_by", self.details.get("runs", {})).get(name, self.run.id)
        worth = _guarantee(self._worth("reasons", name), table)
        return Reasons(table, guarantee=worth, links=self._links("reasons", name), names=names, run_id=run_id)

    def intermediate(self, name: str, table: pa.Table) -> Intermediate:
        known = self.details["intermediate"][name]
        queries = tuple(TracingQuery(**query) for query in known["queries"])
        worth, links = self._worth("intermediate", name), self._links("intermediate", name)
        return Intermediate(table, run=RunSummary(**known["run"]), queries=queries, guarantee=worth, links=links)

    def _worth(self, kind: str, name: str) -> Guarantee:
        found = self.guarantees.get(f"{kind}.{name}", self.guarantees.get(name))
        return UNRECORDED if found is None else Guarantee(**found)

    def _links(self, kind: str, name: str) -> pa.Table | None:
        links = self.tables["links"]
        return links.get(f"{kind}.{name}", links.get(name))


def _guarantee(kept: Guarantee, reasons: pa.Table) -> Guarantee:
    """Earlier releases called decisions without a reason exactly explained."""
    if kept.level == "unavailable":
        return kept
    now = worth_of(reasons.column(reasons.num_columns - 1), reasons.column(reasons.num_columns - 2), kept.cause or "no reason was given")
    return kept if now.level == "exact" else now


def _details(explanation: Explanation) -> dict[str, Any]:
    return {
        "result_rows": explanation.result_rows,
        "order": ["target", *explanation.sources, *explanation.intermediate, *explanation.reasons],
        "intermediate": {
            name: {"run": asdict(one.run), "queries": [asdict(query) for query in one.queries]}
            for name, one in explanation.intermediate.items()
        },
        "called_by": {name: one.run_id for name, one in explanation.reasons.items()},
        "stale_of": {name: list(one.stale) for name, one in explanation.sources.items()},
        "names": {name: made.names.describe() for name, made in explanation.reasons.items()},
        "controls": [asdict(one) for one in explanation.controls],
        "stale": list(explanation.stale),
        "verified": explanation.verified,
        "verification": explanation.verification,
        "queries": [asdict(query) for query in explanation.queries],
        "plan": codec.to_json(explanation.plan) if explanation.plan is not None else "",
        "materialized": sorted(explanation.materialized),
        "choices": choices_document(explanation.choices),
        "images": [_image_document(path, one) for path, one in explanation.images.items()],
    }


def _image_document(path: str, image: Image) -> dict[str, str]:
    data = {} if image.data is None else {"data": base64.b64encode(image.data).decode("ascii")}
    return {"path": path, "problem": image.problem} | data


def _image(document: Mapping[str, str]) -> Image:
    return Image(data=base64.b64decode(document["data"]) if "data" in document else None, problem=document["problem"])


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
