"""An explanation as a JSON document with stable keys.

::

    {"document": "airflow_lineage.explanation", "version": 1, "id", "asked", "answer", "headline", "result_rows",
     "seconds",
     "run":       {"id", "pipeline", "status", "started", "seconds", "strategy", "reasons", "rows", "error", "airflow", "params"},
     "guarantee": {"level", "cause", "origin"},                                                    the weakest of all tables
     "target":    {"columns": [{"name", "type"}], "rows": [[…]], "links": [LINK]},
     "source":    {NAME: {"columns", "rows", "guarantee"}},
     "intermediate": {NAME: {"columns", "rows", "guarantee", "run", "links": [LINK], "queries"}},      outputs of other runs on the way
     "reasons":   {UDF: {"guarantee", "decisions": [DECISION], "names"}},        names: what its author calls arguments and values
     "controls":  [{"segment", "kind", "operator", "sources", "rows", "run", "text"}],         tables that decided as a whole
     "runs":      {NAME: RUN ID},                                   which run made an intermediate table, and which called a UDF
     "stale": […], "verified", "verification",
     "blanked":   [{"udf", "row", "argument", "position", "path", "left", "cells", "stays", "value", "cause"}],    (`answers.blanked`)
     "segments":  [{"number", "kind", "materialized", "because", "pinned", "operators"}],          operators: indented lines
     "queries":   [{"segment", "engine", "sql", "seconds", "rows"}],
     "cells":     {UDF: {"columns", "rows"}}}                            where they were asked for (`answers.cells`)

A DECISION is ``{"row", "arguments": [{"name", "type", "value"}], "value", "reason", "links": [LINK]}``.
``because`` says why a segment is stored or not, null for runs of releases that did not record it.
The run's ``params`` are as recorded: ``withheld:…`` and ``secret:…`` are digests.
A LINK is ``{"source", "source_row"}`` (the target's and those of intermediate tables also have ``row``), rows counted from 0.
Rows are arrays, because a result's column names may repeat.
``reason`` is the payload as stored (its own schema and version), null where there is none (the guarantee says why).
Decimals, dates and times are strings (ISO 8601), binary is base64, a map is an array of [key, value], and NaN and the infinities are
``"NaN"``, ``"Infinity"`` and ``"-Infinity"``: the document is JSON to the letter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import jsonable, links_by_row, rows_of
from airflow_lineage_provider.render.sentence import answer
from airflow_lineage_provider.render.wording import control_text, headline

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.answers.decided import Reasons
    from airflow_lineage_provider.answers.explanation import Explanation, RunSummary
    from airflow_lineage_provider.answers.tables import Intermediate
    from airflow_lineage_provider.plan.guarantees import Guarantee

NAME = "airflow_lineage.explanation"
VERSION = 1


def to_dict(explanation: Explanation, *, cells: bool = False) -> dict[str, Any]:
    """The whole explanation, nothing left out, as values that ``json.dumps(…, allow_nan=False)`` takes.

    :param cells: whether the cells behind reasons are told one by one, besides the relations that the reasons have.
    """
    told = {"cells": {name: table_dict(table) for name, table in explanation.cells.items()}} if cells else {}
    return told | {
        "document": NAME,
        "version": VERSION,
        "id": explanation.id,
        "asked": explanation.asked,
        "answer": answer(explanation),
        "headline": headline(explanation),
        "result_rows": explanation.result_rows,
        "seconds": explanation.seconds,
        "run": run_dict(explanation.run),
        "guarantee": guarantee_dict(explanation.guarantee),
        "target": table_dict(explanation.target) | {"links": _row_links(explanation.target_links)},
        "source": {
            name: table_dict(one.rows) | {"guarantee": guarantee_dict(one.guarantee), "stale": list(one.stale)}
            for name, one in explanation.sources.items()
        },
        "intermediate": {name: _intermediate(one) for name, one in explanation.intermediate.items()},
        "reasons": {name: _reasons(one) for name, one in explanation.reasons.items()},
        "controls": [
            {
                **asdict(one),
                "sources": list(one.sources),
                "intermediate": list(one.intermediate),
                "rows": list(one.rows),
                "text": control_text(one),
            }
            for one in explanation.controls
        ],
        "runs": {name: one.run.id for name, one in explanation.intermediate.items()}
        | {name: one.run_id for name, one in explanation.reasons.items()},
        "stale": list(explanation.stale),
        "verified": explanation.verified,
        "verification": explanation.verification,
        "blanked": [asdict(one) | {"path": list(one.path)} for one in explanation.blanked],
        "segments": _segments(explanation),
        "queries": [asdict(query) for query in explanation.queries],
    }


def run_dict(run: RunSummary) -> dict[str, Any]:
    """A run as JSON-able values."""
    cost = None if run.lineage_cost is None else asdict(run.lineage_cost)
    told = {name: value for name, value in vars(run).items() if name != "zone"}
    found: dict[str, Any] = jsonable({**told, "airflow": dict(run.airflow), "params": dict(run.params), "lineage_cost": cost})
    return found


def guarantee_dict(guarantee: Guarantee) -> dict[str, str]:
    """A guarantee as JSON-able values."""
    return {"level": guarantee.level, "cause": guarantee.cause, "origin": guarantee.origin}


def _columns(schema: pa.Schema) -> list[dict[str, str]]:
    return [{"name": field.name, "type": str(field.type)} for field in schema]


def table_dict(table: pa.Table) -> dict[str, Any]:
    """A table as JSON-able values: columns with their Arrow types, and rows as arrays."""
    return {"columns": _columns(table.schema), "rows": [[jsonable(value) for value in row] for row in rows_of(table)]}


def _intermediate(one: Intermediate) -> dict[str, Any]:
    return table_dict(one.rows) | {
        "guarantee": guarantee_dict(one.guarantee),
        "run": run_dict(one.run),
        "links": _row_links(one.links),
        "queries": [asdict(query) for query in one.queries],
    }


def _row_links(links: pa.Table | None) -> list[dict[str, Any]]:
    behind = links_by_row(links)
    return [{"row": row, **link} for row in sorted(behind) for link in _links(behind[row])]


def _links(tables: Mapping[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    return [{"source": source, "source_row": row} for source, rows in tables.items() for row in rows]


def _reasons(decided: Reasons) -> dict[str, Any]:
    behind = links_by_row(decided.links)
    arguments = _columns(decided.rows.schema)[1:-2]
    made = [
        {
            "row": row[0],
            "arguments": [{**argument, "value": jsonable(value)} for argument, value in zip(arguments, row[1:-2], strict=True)],
            "value": jsonable(row[-2]),
            "reason": _reason(row[-1]),
            "links": _links(behind.get(row[0], {})),
        }
        for row in rows_of(decided.rows)
    ]
    worth = guarantee_dict(decided.guarantee)
    return {"guarantee": worth, "decisions": made, "names": decided.names.describe(), "run": decided.run_id}


def _reason(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return jsonable(json.loads(text))
    except ValueError:
        return text


def _segments(explanation: Explanation) -> list[dict[str, Any]]:
    from airflow_lineage_provider.plan.text import plan_text

    because = {choice.segment: choice.because for choice in explanation.choices}
    return [
        {
            "number": segment.number,
            "kind": segment.kind,
            "materialized": segment.number in explanation.materialized,
            "because": because.get(segment.number),
            "pinned": segment.pinned,
            "operators": [explanation.redaction.text(line) for line in plan_text(segment.plan).splitlines()],
        }
        for segment in (explanation.plan.segments if explanation.plan is not None else ())
    ]
