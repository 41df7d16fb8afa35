"""What a plan computes, as a short text: two runs of the same pipeline over the same tables have the same digest, whatever their session.

A session numbers attributes, lambda functions' parameters and calls of Python functions as it likes: here they are numbered in the order
in which the plan has them, and attributes' names, which may have such a number in them, are left out (those of tables' columns are not).
Where a table lies is left out, too (the name of a table is not): a pipeline that reads another folder each day is the same pipeline. So
are the session's settings. A field that has its default is left out, too, so that an operator that gets a further one in a later release
keeps the digests of plans that do not use it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.expressions import Attribute, LambdaVariable
from airflow_lineage_provider.plan.operators import Plan
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import SegmentedPlan

_NUMBERED = {(Attribute, "id"): "attribute", (LambdaVariable, "name"): "parameter"}
_CALLS = ("call", "calls")
_NOT_THE_PLAN = {(Relation, "paths"), (Relation, "options"), (Attribute, "name")}

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def plan_digest(plan: SegmentedPlan) -> str:
    """The digest of a plan's segments: the same in every process, and in every version of Python.

    :raises UnsupportedOperator: a node has a value that plans do not have.
    """
    return digest_of(_Numbering().json(plan.segments))


def tree_digest(plan: Plan) -> str:
    """The same of one operator tree.

    :raises UnsupportedOperator: a node has a value that plans do not have.
    """
    return digest_of(_Numbering().json(plan))


def digest_of(document: object) -> str:
    """The digest of what JSON can say: of its text, whatever the order of names in it."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class _Numbering:
    """Gives each of the session's numbers the number of its first occurrence."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, object], int] = {}

    def json(self, value: object) -> Json:
        if is_dataclass(value) and not isinstance(value, type):
            return {"is": type(value).__name__} | dict(self._fields(value))
        if isinstance(value, tuple):
            return [self.json(item) for item in value]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise UnsupportedOperator(f"the digest of a plan has no rule for {type(value).__name__}")

    def _fields(self, node: object) -> Iterator[tuple[str, Json]]:
        for one in fields(node):  # type: ignore[arg-type]
            value = getattr(node, one.name)
            if (type(node), one.name) in _NOT_THE_PLAN or _is_default(one, value):
                continue
            kind = "call" if one.name in _CALLS else _NUMBERED.get((type(node), one.name))
            yield one.name, self.json(value) if kind is None else self._number(kind, value)

    def _number(self, kind: str, value: object) -> Json:
        if isinstance(value, tuple):
            return [self._number(kind, item) for item in value]
        return self._known.setdefault((kind, value), len(self._known))


def _is_default(one: Field[object], value: object) -> bool:
    default = one.default if one.default_factory is MISSING else one.default_factory()
    return default is not MISSING and type(value) is type(default) and value == default
