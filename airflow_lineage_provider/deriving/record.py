"""Derivations kept in the store: an answer can be read again as it was given."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.decided import Reasons
from airflow_lineage_provider.answers.explanation import Control, Explanation, Image, Intermediate, RunSummary
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
        guarantees={name: asdict(one) for name, one in explanation.guarantees.items()},
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
    return Explanation(
        id=record.id,
        run=run,
        asked=record.target,
        target=of_kind["target"]["rows"],
        result_rows=details["result_rows"],
        source=_in_order(of_kind["source"], details["order"]),
        reasons={
            name: Reasons(table, names=Names.of(details.get("names", {}).get(name, {})))
            for name, table in _in_order(of_kind["reasons"], details["order"]).items()
        },
        links=_in_order(of_kind["links"], details["order"]),
        guarantees={name: _guarantee(Guarantee(**one), of_kind["reasons"].get(name)) for name, one in record.guarantees.items()},
        controls=tuple(
            Control(**one | {"sources": tuple(one["sources"]), "rows": tuple(one["rows"])}) for one in details.get("controls", ())
        ),
        intermediate=_intermediates(of_kind["intermediate"], details),
        runs=details.get("runs", {}),
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


def _guarantee(kept: Guarantee, reasons: pa.Table | None) -> Guarantee:
    """Earlier releases called decisions without a reason exactly explained."""
    if reasons is None or kept.level == "unavailable":
        return kept
    now = worth_of(reasons.column(reasons.num_columns - 1), reasons.column(reasons.num_columns - 2), kept.cause or "no reason was given")
    return kept if now.level == "exact" else now


def _details(explanation: Explanation) -> dict[str, Any]:
    return {
        "result_rows": explanation.result_rows,
        "order": ["target", *explanation.source, *explanation.intermediate, *explanation.reasons],
        "intermediate": {
            name: {"run": asdict(one.run), "queries": [asdict(query) for query in one.queries]}
            for name, one in explanation.intermediate.items()
        },
        "runs": dict(explanation.runs),
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
    def worth(name: str) -> tuple[str, str | None]:
        guarantee = explanation.guarantees.get(name, Guarantee(level="exact"))
        return guarantee.level, guarantee.cause or None

    rows = [("target:rows", DerivationTable("target", explanation.target, "exact"))]
    rows += [(f"source:{name}", DerivationTable("source", table, *worth(name))) for name, table in explanation.source.items()]
    rows += [
        (f"intermediate:{name}", DerivationTable("intermediate", one.rows, *worth(name))) for name, one in explanation.intermediate.items()
    ]
    rows += [(f"reasons:{name}", DerivationTable("reasons", made.rows, *worth(name))) for name, made in explanation.reasons.items()]
    rows += [(f"links:{name}", DerivationTable("links", table, "exact")) for name, table in explanation.links.items()]
    return rows


def _intermediates(rows: dict[str, pa.Table], details: dict[str, Any]) -> dict[str, Intermediate]:
    known = details.get("intermediate", {})
    return {
        name: Intermediate(
            run=RunSummary(**known[name]["run"]), rows=table, queries=tuple(TracingQuery(**query) for query in known[name]["queries"])
        )
        for name, table in _in_order(rows, details["order"]).items()
    }


def _in_order(tables: dict[str, pa.Table], order: list[str]) -> dict[str, pa.Table]:
    return {name: tables[name] for name in order if name in tables}
