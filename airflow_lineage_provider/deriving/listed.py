"""Rows that are at hand, as a condition that they meet and few others: what goes down the plan where segments are made again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.literals import literal_of
from airflow_lineage_provider.plan.expressions import TRUE, Attribute, Call, Expression, conjunction, disjunction

if TYPE_CHECKING:
    import pyarrow as pa

_LISTED = 1_000
_LIKE = 50
_LISTABLE = ("boolean", "tinyint", "smallint", "int", "bigint", "string", "date")


def listed(columns: Sequence[tuple[Attribute, pa.ChunkedArray]]) -> Expression:
    """Columns with few values must have one of them; whatever else the rows have in common is left out."""
    terms = [_listed(a, column) for a, column in columns if a.type in _LISTABLE]
    return conjunction(tuple(term for term in terms if term is not None)) or TRUE


def _listed(attribute: Attribute, column: pa.ChunkedArray) -> Expression | None:
    unique = column.unique()
    if len(unique) > _LISTED:
        return None
    values = unique.to_pylist()
    terms: list[Expression] = []
    known = [value for value in values if value is not None]
    if known:
        constants = (literal_of(attribute.type, value) for value in known)
        terms.append(Call(function="in", arguments=(attribute, *constants), type="boolean"))
    if len(known) < len(values):
        terms.append(Call(function="isnull", arguments=(attribute,), type="boolean"))
    return disjunction(tuple(terms))


def any_like(attribute: Attribute, column: pa.ChunkedArray) -> Expression | None:
    """That a string has one of few others in it; None: they are many, or no pattern can tell one."""
    values = column.unique()
    if attribute.type != "string" or len(values) > _LIKE or values.null_count:
        return None
    texts = values.to_pylist()
    if any("\0" in text or "\n" in text for text in texts):
        return None
    patterns = (literal_of("string", "%" + re.sub(r"([%_\\])", r"\\\1", text) + "%") for text in texts)
    return disjunction(tuple(Call(function="like", arguments=(attribute, one), type="boolean") for one in patterns))
