"""Plans as JSON, with a version: a run's plan is stored with the run and must be readable years later.

Every node is ``{"is": <class name>, <field>: …}``; tuples are lists. `VERSION` grows when a stored plan would be misread.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from airflow_lineage_provider.errors import PlanVersionError
from airflow_lineage_provider.plan import expressions, lineage_keys, operators, pipeline, relation, segments
from airflow_lineage_provider.plan.base import unknown

VERSION = 1

_CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        lineage_keys.KeyColumn,
        lineage_keys.SourceIdentity,
        lineage_keys.InputIdentity,
        lineage_keys.MaterializedSegment,
        *expressions.EXPRESSION_CLASSES,
        expressions.Alias,
        expressions.SortKey,
        expressions.WindowFrame,
        *operators.OPERATOR_CLASSES,
        relation.Relation,
        pipeline.Pipeline,
        segments.Segment,
        segments.SegmentedPlan,
    )
}


NODES: tuple[type, ...] = tuple(_CLASSES.values())
"""What `to_json` takes."""


def to_json(node: Any) -> str:
    """A plan, pipeline or segmented plan as JSON text.

    :raises UnsupportedOperator: it holds a class that `from_json` would not know.
    """
    return json.dumps(to_document(node), separators=(",", ":"), ensure_ascii=False)


def to_document(node: Any) -> dict[str, Any]:
    """The same, as a part of a larger JSON document."""
    return {"version": VERSION, "plan": _encode(node)}


def from_json(text: str) -> Any:
    """What `to_json` wrote.

    :raises PlanVersionError: the text is of another version, or is not a plan.
    """
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise PlanVersionError(f"the stored plan is not JSON ({problem})") from problem
    return from_document(document)


def from_document(document: object) -> Any:
    """What `to_document` wrote.

    :raises PlanVersionError: it is of another version, or is not a plan.
    """
    version = document.get("version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or version != VERSION:
        raise PlanVersionError(f"the stored plan has version {version!r}; this release reads version {VERSION}")
    if "plan" not in document:
        raise PlanVersionError("the stored plan has a version, and no plan")
    return _decode(document["plan"])


def _encode(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        if type(value) is not _CLASSES.get(type(value).__name__):
            raise unknown(value, "storing a plan")
        written = [(f.name, getattr(value, f.name)) for f in fields(value) if not f.metadata or getattr(value, f.name) != f.default]
        return {"is": type(value).__name__} | {name: _encode(one) for name, one in written}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple([_decode(item) if isinstance(item, _NESTED) else item for item in value])
    if not isinstance(value, dict):
        return value
    cls = _CLASSES.get(value.get("is", ""))
    if cls is None:
        raise PlanVersionError(f"the stored plan has a node {value.get('is')!r}, which this release does not know")
    known, required = _names(cls)
    given = value.keys()
    if not given <= known:
        unknown = ", ".join(sorted(given - known))
        raise PlanVersionError(f"the stored plan has a {value['is']} with {unknown}, which this release does not know")
    if not given >= required:
        missing = ", ".join(sorted(required - given))
        raise PlanVersionError(f"the stored plan has a {value['is']} without {missing}: it is damaged")
    # (Most values are names and numbers, for which a call each would be half of the time.)
    return cls(**{name: _decode(item) if isinstance(item, _NESTED) else item for name, item in value.items() if name != "is"})


_NESTED = (list, dict)


@cache
def _names(cls: type) -> tuple[frozenset[str], frozenset[str]]:
    """What a node of a class may have, and the fields without a default, which it must have."""
    required = frozenset(f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING)
    return frozenset({"is", *(f.name for f in fields(cls))}), required
