"""Intervals in Arrow tables, as Spark shows them: pyarrow holds months as plain numbers, and durations without their units.

So a column with intervals in it says its type in Spark, in the field's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan import intervals
from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType, parse_type

if TYPE_CHECKING:
    import pyarrow as pa

SPARK_TYPE = b"spark_type"
_INTERVALS = re.compile(r"interval\s+\w+(?:\s+to\s+\w+)?", re.IGNORECASE)
_WIDEST = {True: ("year", "month"), False: ("day", "second")}


def with_interval_types(table: pa.Table, types: Sequence[str]) -> pa.Table:
    """The table whose columns with intervals in them know their types in Spark; ``types`` are those of all columns."""
    import pyarrow as pa

    if not any(map(_has_units, types)):
        return table
    fields = [
        field.with_metadata({**(field.metadata or {}), SPARK_TYPE: text}) if _has_units(text) else field
        for field, text in zip(table.schema, types, strict=True)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, metadata=table.schema.metadata))


def spark_type_of(field: pa.Field) -> str | None:
    """The type that a column says it has in Spark."""
    found = (field.metadata or {}).get(SPARK_TYPE)
    return None if found is None else found.decode()


def shown_as(type_text: str) -> Callable[[Any], Any]:
    """How values of a type are shown: intervals as Spark writes them, everything else as it is."""
    if not _has_units(type_text):
        return lambda value: value
    try:
        kind = parse_type(type_text)
    except PlanError:
        return lambda value: value
    units = _units(type_text)
    return lambda value: _shown(kind, units, value)


def _has_units(type_text: str) -> bool:
    return any(intervals.units_of(found) is not None for found in _INTERVALS.findall(type_text))


def _units(type_text: str) -> dict[bool, tuple[str, str]]:
    """The units of the year-month (True) and of the day-time intervals of a type; the widest where it has several."""
    found: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for text in _INTERVALS.findall(type_text):
        units = intervals.units_of(text)
        if units is not None:
            found[intervals.is_year_month(units[0])].add(units)
    return {months: next(iter(some)) if len(some) == 1 else _WIDEST[months] for months, some in found.items()}


def _shown(kind: DataType, units: dict[bool, tuple[str, str]], value: Any) -> Any:
    if value is None:
        return None
    match kind:
        case ArrayType(element):
            return [_shown(element, units, one) for one in value]
        case MapType(key, item):
            return [(_shown(key, units, one), _shown(item, units, other)) for one, other in value]
        case StructType(fields) if isinstance(value, dict):
            return {field.name: _shown(field.type, units, value.get(field.name)) for field in fields}
        case ScalarType("interval year to month") if isinstance(value, int):
            return intervals.shown(value, *units[True])
        case ScalarType("interval day to second") if isinstance(value, timedelta):
            return intervals.shown(intervals.micros_of(value), *units[False])
    return value
