"""Hypothesis strategies for values of every Spark type, as Arrow arrays of the exact type."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType, parse_type, to_arrow

SCALARS = [
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,38)", "decimal(38,0)"),
    *("string", "binary", "date", "timestamp", "timestamp_ntz", "time(6)", "time(9)", "interval day to second", "interval year to month"),
    *("interval", "variant", "geometry(4326)", "void"),
]
NESTED = [
    "array<int>",
    "array<double>",
    "array<array<decimal(10,2)>>",
    "map<string,binary>",
    "map<int,array<timestamp>>",
    "struct<a:int,b:string>",
    "struct<a:struct<a:date,`x y`:float>,b:map<string,timestamp_ntz>>",
    "struct<a:int,a:string>",
    "struct<>",
    "array<struct<v:variant,i:interval,d:interval day to second,t:time(6)>>",
    "array<void>",
]
TYPES = SCALARS + NESTED

_DAY = 86_400_000_000
# PostgreSQL's own range of dates and timestamps, which is Spark's documented one and much more.
_DATES = st.integers(-2_440_588, 106_751_000)
_MICROS = st.integers(-2_440_588 * _DAY, 106_751_000 * _DAY)
_TEXT = st.text(max_size=12)


def plain(type_: DataType) -> st.SearchStrategy[Any]:
    """Values of a type in a plain form that `build` understands; None for null."""
    return st.none() | _not_null(type_)


def _not_null(type_: DataType) -> st.SearchStrategy[Any]:
    match type_:
        case ArrayType(element):
            return st.lists(plain(element), max_size=3)
        case MapType(key, value):
            return st.lists(st.tuples(_not_null(key), plain(value)), max_size=3, unique_by=lambda pair: repr(pair[0]))
        case StructType(fields):
            return st.tuples(*(plain(field.type) for field in fields))
        case ScalarType(name, parameters):
            return _scalar(name, parameters)


def _scalar(name: str, parameters: tuple[int, ...]) -> st.SearchStrategy[Any]:
    match name:
        case "void":
            return st.none()
        case "boolean":
            return st.booleans()
        case "tinyint" | "smallint" | "int" | "bigint" | "interval year to month" | "interval day to second":
            bits = {"tinyint": 7, "smallint": 15, "bigint": 63, "interval day to second": 63}.get(name, 31)
            return st.integers(-(1 << bits), (1 << bits) - 1)
        case "float" | "double":
            return st.floats(width=32 if name == "float" else 64)
        case "decimal":
            return st.integers(-(10 ** parameters[0]) + 1, 10 ** parameters[0] - 1)
        case "string":
            return _TEXT | st.sampled_from(
                ["", "\x00", "a\x00\U0010ffff0b", "\U0010ffff", "it's", '"\\', "NULL", "\\N", "\\.", "{}", "\r\n"]
            )
        case "binary":
            return st.binary(max_size=12)
        case "date":
            return _DATES
        case "timestamp" | "timestamp_ntz":
            return _MICROS
        case "time":
            return st.integers(0, 86_399_999_999).map(lambda micros: micros * 1000 + (7 if parameters[0] > 6 else 0))
        case "interval":
            return st.integers(-(1 << 31), (1 << 31) - 1).map(lambda days: f"{days} days 1 hours")
        case _:
            return st.tuples(st.integers(0, 5) if name != "variant" else st.binary(max_size=5), st.binary(max_size=5))


def build(values: list[Any], text: str) -> pa.Array:
    """An Arrow array of the exact type, built without the code under test: through a pyarrow conversion of Python objects."""
    arrow = to_arrow(text)
    return _build(values, parse_type(text), arrow)


def _build(values: list[Any], type_: DataType, arrow: pa.DataType) -> pa.Array:
    valid = pa.array([value is None for value in values], pa.bool_())
    match type_:
        case ArrayType(element):
            inner = _build([item for value in values for item in value or ()], element, arrow.value_type)
            return pa.ListArray.from_arrays(_offsets(values), inner, type=arrow, mask=valid)
        case MapType(key, item):
            pairs = [pair for value in values for pair in value or ()]
            keys, items = _build([p[0] for p in pairs], key, arrow.key_type), _build([p[1] for p in pairs], item, arrow.item_type)
            return pa.MapArray.from_arrays(_offsets(values), keys, items, type=arrow, mask=valid)
        case StructType(fields) if not fields:
            return pa.array([None if value is None else {} for value in values], arrow)
        case StructType(fields):
            columns = [_build([None if v is None else v[i] for v in values], f.type, arrow.field(i).type) for i, f in enumerate(fields)]
            return pa.StructArray.from_arrays(columns, fields=list(arrow), mask=valid)
        case ScalarType("variant" | "geometry"):
            columns = [pa.array([None if v is None else v[i] for v in values], arrow.field(i).type) for i in range(2)]
            return pa.StructArray.from_arrays(columns, fields=list(arrow), mask=valid)
        case ScalarType("decimal", (_, scale)):
            return pa.array([None if value is None else _decimal_text(value, scale) for value in values], pa.string()).cast(arrow)
        case ScalarType("date"):
            return pa.array(values, pa.int32()).view(arrow)
        case ScalarType("timestamp" | "timestamp_ntz" | "time" | "interval day to second"):
            return pa.array(values, pa.int64()).view(arrow)
    return pa.array(values, arrow)


def _offsets(values: list[Any]) -> pa.Array:
    offsets = [0]
    for value in values:
        offsets.append(offsets[-1] + len(value or ()))
    return pa.array(offsets, pa.int32())


def _decimal_text(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    text = f"{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}" if scale else digits
    return f"-{text}" if unscaled < 0 else text


def same(left: pa.Array, right: pa.Array) -> bool:
    """Equality down to the type, nullness, NaN and the sign of zero."""
    return left.type == right.type and image(left) == image(right)


def image(array: pa.Array) -> str:
    """Everything there is to see in an array, as text."""
    valid = array.is_valid().to_pylist()
    if pa.types.is_map(array.type) or pa.types.is_list(array.type):
        children = (array.keys, array.items) if pa.types.is_map(array.type) else (array.values,)
        offsets = array.offsets.to_pylist() if len(array) else [0]
        spans = zip(offsets[:-1], offsets[1:], valid, strict=True)
        rows = [[json.loads(image(child.slice(a, b - a))) for child in children] if ok else None for a, b, ok in spans]
    elif pa.types.is_struct(array.type):
        columns = [json.loads(image(child)) for child in array.flatten()]
        rows = [[column[i] for column in columns] if ok else None for i, ok in enumerate(valid)]
    else:
        return json.dumps([_scalar_image(value) if ok else None for value, ok in zip(array, valid, strict=True)])
    return json.dumps(rows)


def _scalar_image(value: pa.Scalar) -> str:
    if pa.types.is_temporal(value.type):
        return str(value.value)
    found = value.as_py()
    return base64.b64encode(found).decode() if isinstance(found, bytes) else repr(found)
