"""Python values of a column's type as constants of a plan."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from airflow_lineage_provider.plan import intervals
from airflow_lineage_provider.plan.datatypes import ScalarType, parse_type
from airflow_lineage_provider.plan.expressions import Literal

_CONSTANTS = frozenset({
    *("boolean", "tinyint", "smallint", "int", "bigint", "decimal", "float", "double"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz", "interval day to second", "interval year to month"),
})  # fmt: skip


def has_literals(type_text: str) -> bool:
    """Whether values of the type can be written as constants that compare equal; the others are compared in this process."""
    kind = parse_type(type_text)
    return isinstance(kind, ScalarType) and kind.name in _CONSTANTS


def literal_of(type_text: str, value: Any) -> Literal:
    """A constant; ``value`` is what Arrow gives for the type: `values.Column.typed` makes it of anything else."""
    if value is None:
        return Literal(value=None, type=type_text)
    units = intervals.units_of(type_text)
    if units is not None:
        amount = intervals.micros_of(value) if isinstance(value, dt.timedelta) else int(value)
        return Literal(value=intervals.text_of(amount, *units), type=type_text)
    return Literal(value=_text(value), type=type_text)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    return value if isinstance(value, str) else format(value, "f") if hasattr(value, "as_tuple") else str(value)
