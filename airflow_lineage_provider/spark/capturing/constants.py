"""Constants that a plan's text does not say: nested values, session variables, and numbers that are said by an expression."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.catalyst.literals import instant

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_LITERAL = "org.apache.spark.sql.catalyst.expressions.Literal"
NESTED = ("array", "map", "struct")
_DAYS_TO_1970 = date(1970, 1, 1).toordinal()


def number(value: int) -> list[dict[str, Any]]:
    """The tree of an integer's literal."""
    return [{"class": _LITERAL, "num-children": 0, "value": str(value), "dataType": "integer"}]


def current_value(variable: JavaObject) -> tuple[dict[str, Any], JavaObject]:
    """What a session variable holds: the literal's node, and the literal. The analyzer took it from the session when it read the query."""
    literal = variable.varDef().currentValue()
    return json.loads(literal.toJSON())[0], literal


def parts(value: JavaObject, kind: JavaObject) -> list[dict[str, Any]]:
    """The items of an array, of a map (key, value, key, value, …) or of a struct, each as the node of a literal.

    Items that are nested have ``parts`` of their own; those whose value has no text have ``None`` as such.
    """
    match str(kind.typeName()):
        case "array":
            return [_item(value, i, kind.elementType()) for i in range(value.numElements())]
        case "map":
            keys, values = value.keyArray(), value.valueArray()
            pairs = ((_item(keys, i, kind.keyType()), _item(values, i, kind.valueType())) for i in range(value.numElements()))
            return [item for pair in pairs for item in pair]
    return [_item(value, i, field.dataType()) for i, field in enumerate(kind.fields())]


def _item(holder: JavaObject, at: int, kind: JavaObject) -> dict[str, Any]:
    node: dict[str, Any] = {"class": _LITERAL, "num-children": 0, "value": None, "dataType": json.loads(kind.json())}
    if holder.isNullAt(at):
        return node
    value, name = holder.get(at, kind), str(kind.typeName())
    if name in NESTED:
        return {**node, "value": "…", "parts": parts(value, kind)}
    text = text_of(value, name)
    return {**node, "value": text, "unknown": text is None}


def text_of(value: Any, name: str) -> str | None:
    """The text of one of Catalyst's values, as `toJSON` writes a literal's."""
    match name:
        case "date":
            ordinal = int(value) + _DAYS_TO_1970
            return date.fromordinal(ordinal).isoformat() if 1 <= ordinal <= date.max.toordinal() else None
        case "timestamp":
            return instant(int(value), "Z")
        case "binary":
            return bytes(value).hex()
        case "boolean":
            return str(value).lower()
        case "float" | "double":
            return _floating(float(value))
    if isinstance(value, int):
        return str(value)
    plain = name in ("string", "interval") or name.startswith(("decimal", "string "))
    return str(value.toString()) if plain and hasattr(value, "toString") else str(value) if plain else None


def _floating(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return repr(value) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
