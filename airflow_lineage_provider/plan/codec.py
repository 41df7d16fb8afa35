"""Plans as JSON, with a version: a run's plan is stored with the run and must be readable years later.

Every node is ``{"is": <class name>, <field>: …}``; tuples are lists. `VERSION` grows when a stored plan would be misread.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from airflow_lineage_provider.errors import PlanVersionError
from airflow_lineage_provider.plan import expressions, lineage_keys, operators, relation, segments
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
        operators.Pipeline,
        segments.Segment,
        segments.SegmentedPlan,
    )
}


def to_json(node: Any) -> str:
    """A plan, pipeline or segmented plan as JSON text.

    :raises UnsupportedOperator: it holds a class that `from_json` would not know.
    """
    return json.dumps({"version": VERSION, "plan": _encode(node)}, separators=(",", ":"), ensure_ascii=False)


def from_json(text: str) -> Any:
    """What `to_json` wrote.

    :raises PlanVersionError: the text is of another version, or is not a plan.
    """
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise PlanVersionError(f"the stored plan is not JSON ({problem})") from problem
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise PlanVersionError(f"the stored plan has version {version!r}; this release reads version {VERSION}")
    return _decode(document["plan"])


def _encode(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        if type(value) is not _CLASSES.get(type(value).__name__):
            raise unknown(value, "storing a plan")
        return {"is": type(value).__name__} | {f.name: _encode(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    cls = _CLASSES.get(value.get("is", ""))
    if cls is None:
        raise PlanVersionError(f"the stored plan has a node {value.get('is')!r}, which this release does not know")
    unknown = sorted(set(value) - {"is"} - {f.name for f in fields(cls)})
    if unknown:
        raise PlanVersionError(f"the stored plan has a {value['is']} with {', '.join(unknown)}, which this release does not know")
    return cls(**{name: _decode(item) for name, item in value.items() if name != "is"})
