"""Spark's types: the JSON form of a schema to DDL text (``{"type": "array", …}`` to ``array<int>``).

Nullability inside a type is left out: it is no part of what a value is, and a cast could not change it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_lineage_provider.errors import UnsupportedOperator

_SHORT = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "timestamp_ltz": "timestamp", "null": "void"}
_UNORDERED = re.compile(r"\b(?:map<|variant\b|geometry|geography|interval\b(?! (?:year|month|day|hour|minute|second)))")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def ddl(type_json: str | Mapping[str, Any], collations: Mapping[str, str] | None = None, path: str = "") -> str:
    """The DDL text of a type.

    The collations of a field's strings are told beside its type, by their paths in it (``name``, ``name.element``, ``name.key`` …).

    :raises UnsupportedOperator: a user-defined type, which no DDL text can say.
    """
    told = collations or {}
    if isinstance(type_json, str):
        if type_json == "string" and path in told:
            return f"string collate {str(told[path]).rsplit('.', 1)[-1]}"
        if type_json.startswith(("geometry", "geography")):
            return _geospatial(type_json)
        return _SHORT.get(type_json, type_json)
    match type_json["type"]:
        case "array":
            return f"array<{ddl(type_json['elementType'], told, f'{path}.element')}>"
        case "map":
            return f"map<{ddl(type_json['keyType'], told, f'{path}.key')},{ddl(type_json['valueType'], told, f'{path}.value')}>"
        case "struct":
            return f"struct<{','.join(_field(field) for field in type_json['fields'])}>"
        case other:
            known = type_json.get("class") or type_json.get("pyClass") or other
            raise UnsupportedOperator(f"a column has the user-defined type {known}: turn it into an array or a struct first")


_SRIDS = {"EPSG:3857": "3857", "OGC:CRS84": "4326"}


def _geospatial(text: str) -> str:
    found = re.fullmatch(r"(geometry|geography)\((?:SRID:)?(ANY|\d+|[A-Z]+:\w+)(?:,.*)?\)", text, re.IGNORECASE)
    srid = None if found is None else _SRIDS.get(found[2].upper(), found[2])
    if found is None or srid is None or ":" in srid:
        raise UnsupportedOperator(f"a column has the type {text}: turn it into binary with st_asbinary first")
    return f"{found[1]}({srid.lower()})"


def struct_ddl(fields: list[tuple[str, str]]) -> str:
    """The DDL text of a struct with plain field names."""
    return f"struct<{','.join(f'{name}:{type_text}' for name, type_text in fields)}>"


def is_orderable(type_text: str) -> bool:
    """Whether values of the type can be compared: not those with a map, a variant, a shape or an interval of no fixed length inside."""
    return _UNORDERED.search(type_text) is None


def schema_ddl(columns: list[tuple[str, str]]) -> str:
    """The DDL text of a table's schema: names, always quoted, and DDL types."""
    return ", ".join(f"{quote(name)} {type_text}" for name, type_text in columns)


def quote(name: str) -> str:
    """A name in back quotes."""
    return "`" + name.replace("`", "``") + "`"


def _field(field: Mapping[str, Any]) -> str:
    name = field["name"]
    type_text = ddl(field["type"], field.get("metadata", {}).get("__COLLATIONS"), name)
    return f"{name if _PLAIN_NAME.fullmatch(name) else quote(name)}:{type_text}"
