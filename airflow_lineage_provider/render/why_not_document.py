"""What became of source rows, as a JSON document with stable keys.

::

    {"document": "airflow_lineage.why_not", "version": 1, "id", "asked", "table", "seconds", "stale": […],
     "run", "guarantee": {"level", "cause"},
     "rows":  {"columns": [{"name", "type"}], "rows": [[…]], "copies": […]},
     "fates": [{"row", "leaf", "survived", "path": [STEP], "last": STEP, "first_without": STEP or null, "drop": DROP or null}]}

A STEP is ``{"segment", "operator", "descendants"}``. A DROP is ``{"reason", "text", "rows": [DESCENDANT]}``, a DESCENDANT
``{"values": {…}, "terms": [{"text", "value", "met"}], "others": [{…}],
"other_rows": [{TABLE: {…}}], "others_count", "others_total"}``: see `why_not`. ``row`` counts
the rows from 0; values are as in `document`; ``id`` is that of an answer that is kept (else it is empty).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.values import jsonable
from airflow_lineage_provider.render.document import run_dict, table_dict

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.why_not import Descendant, Drop, Fate, Step, WhyNot

NAME = "airflow_lineage.why_not"
VERSION = 1


def to_dict(found: WhyNot) -> dict[str, Any]:
    """The whole answer as JSON-able values."""
    return {
        "document": NAME,
        "version": VERSION,
        "id": found.id,
        "asked": found.asked,
        "table": found.table,
        "seconds": found.seconds,
        "stale": list(found.stale),
        "run": run_dict(found.run),
        "guarantee": {"level": found.guarantee.level, "cause": found.guarantee.cause},
        "rows": table_dict(found.rows) | {"copies": list(found.copies)},
        "fates": [_fate(fate) for fate in found.fates],
    }


def _fate(fate: Fate) -> dict[str, Any]:
    return {
        "row": fate.row,
        "leaf": fate.leaf,
        "survived": fate.survived,
        "path": [_step(step) for step in fate.path],
        "last": _step(fate.last),
        "first_without": None if fate.first_without is None else _step(fate.first_without),
        "drop": None if fate.drop is None else _drop(fate.drop),
    }


def _step(step: Step) -> dict[str, Any]:
    return {"segment": step.segment, "operator": step.operator, "descendants": step.descendants}


def _drop(drop: Drop) -> dict[str, Any]:
    return {"reason": drop.reason, "text": drop.text, "rows": [_descendant(row) for row in drop.rows]}


def _descendant(row: Descendant) -> dict[str, Any]:
    return {
        "values": jsonable(row.values),
        "terms": [{"text": term.text, "value": term.value, "met": term.met} for term in row.terms],
        "others": [jsonable(other) for other in row.others],
        "other_rows": [jsonable(tables) for tables in row.other_rows],
        "others_count": row.others_count,
        "others_total": row.others_total,
    }
