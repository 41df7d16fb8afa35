"""Which columns of a Parquet file certainly give the values that Spark reads of them: everything else is left to Spark.

A type of the table is told with the types that Spark itself writes for it, or takes for it from other writers, and no others: where Arrow
and Spark may convert differently (a text read as a number, nanoseconds, a decimal of another scale), Spark must convert.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LIST_GROUPS = ("list", "bag")
"""What the repeated group of a list is called by the format's rules, and by Spark before it followed them."""


@dataclass(frozen=True)
class Leaf:
    """A primitive column of a file: its physical type, and what its annotation says (``Type`` among others; see the format's rules)."""

    physical: str
    annotation: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.annotation.get("Type", ""))


def leaves_of(file: pq.ParquetFile) -> dict[str, list[Leaf]]:
    """The primitive columns of a file by their paths. A dot in a name may give two of them one path."""
    found: dict[str, list[Leaf]] = {}
    for number in range(len(file.schema)):
        column = file.schema.column(number)
        found.setdefault(column.path, []).append(Leaf(column.physical_type, json.loads(column.logical_type.to_json())))
    return found


def same_values(table: DataType, arrow: pa.DataType, path: str, leaves: dict[str, list[Leaf]]) -> bool:
    """Whether a column (``path``) that Arrow reads as ``arrow`` certainly has the values that Spark reads as the table's type."""
    from pyarrow import types

    match table:
        case ScalarType():
            found = leaves.get(path, [])
            return len(found) == 1 and not types.is_nested(arrow) and _scalar(table, found[0])
        case ArrayType(element):
            inside = _only_child(path, leaves)
            below = _only_child(inside, leaves)
            is_list = types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow)
            known = any(inside == f"{path}.{name}" for name in _LIST_GROUPS)
            return is_list and known and bool(below) and same_values(element, arrow.value_type, below, leaves)
        case MapType(key, value):
            pairs = f"{path}.key_value"
            # Nothing but the two of them, whatever they are.
            known = types.is_map(arrow) and _children(pairs, leaves) == {"key", "value"} and _only_child(path, leaves) == pairs
            return (
                known
                and same_values(key, arrow.key_type, f"{pairs}.key", leaves)
                and same_values(value, arrow.item_type, f"{pairs}.value", leaves)
            )
        case StructType(fields):
            names = [field.name for field in fields]
            if not types.is_struct(arrow) or [field.name for field in arrow] != names or len(set(names)) < len(names):
                return False
            return all(same_values(f.type, arrow.field(f.name).type, f"{path}.{f.name}", leaves) for f in fields)


def _children(path: str, leaves: dict[str, list[Leaf]]) -> set[str]:
    return {one[len(path) + 1 :].split(".")[0] for one in leaves if one.startswith(f"{path}.")}


def _only_child(path: str, leaves: dict[str, list[Leaf]]) -> str:
    """The path of the one child of a group; empty where it has more or none."""
    found = _children(path, leaves) if path else set()
    return f"{path}.{found.pop()}" if len(found) == 1 else ""


def _scalar(table: ScalarType, leaf: Leaf) -> bool:
    physical, kind = leaf.physical, leaf.kind
    match table.name:
        case "boolean":
            return (physical, kind) == ("BOOLEAN", "None")
        case "tinyint" | "smallint" | "int" | "bigint":
            return _integer({"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}[table.name], leaf)
        case "float":
            return (physical, kind) == ("FLOAT", "None")
        case "double":
            return physical in ("DOUBLE", "FLOAT") and kind == "None"
        case "decimal":
            return _decimal(table.parameters, leaf)
        case "string":
            return physical == "BYTE_ARRAY" and kind in ("String", "Enum", "JSON", "None")
        case "binary":
            return physical == "BYTE_ARRAY" and kind in ("None", "BSON")
        case "date":
            return (physical, kind) == ("INT32", "Date")
        case "timestamp":
            return physical == "INT96" or _timestamp(leaf, in_utc=True)
        case "timestamp_ntz":
            return _timestamp(leaf, in_utc=False)
        case "interval day to second":
            return (physical, kind) == ("INT64", "None")
        case "interval year to month":
            return (physical, kind) == ("INT32", "None")
    return False


def _integer(bits: int, leaf: Leaf) -> bool:
    """Signed integers as wide as the table's or narrower; unsigned ones where the table's is the next wider one, as Spark takes them."""
    if leaf.physical not in ("INT32", "INT64"):
        return False
    plain = 32 if leaf.physical == "INT32" else 64
    if leaf.kind == "None":
        return plain <= bits
    if leaf.kind != "Int":
        return False
    width = int(leaf.annotation["bitWidth"])
    return width <= bits if leaf.annotation["isSigned"] else 2 * width == bits


def _decimal(parameters: tuple[int, ...], leaf: Leaf) -> bool:
    if leaf.kind == "Int":
        return parameters == (20, 0) and leaf.physical == "INT64" and not leaf.annotation["isSigned"] and leaf.annotation["bitWidth"] == 64
    if leaf.kind != "Decimal" or (leaf.annotation["precision"], leaf.annotation["scale"]) != parameters:
        return False
    most = {"INT32": 9, "INT64": 18, "FIXED_LEN_BYTE_ARRAY": 38, "BYTE_ARRAY": 38}
    return parameters[0] <= most.get(leaf.physical, 0)


def _timestamp(leaf: Leaf, *, in_utc: bool) -> bool:
    if (leaf.physical, leaf.kind) != ("INT64", "Timestamp"):
        return False
    return leaf.annotation["isAdjustedToUTC"] == in_utc and leaf.annotation["timeUnit"] in ("milliseconds", "microseconds")
