"""Arrays, maps, structs and variants as JSON text, losslessly.

Numbers stay numbers; what JSON cannot say is text: NaN and infinities (``"NaN"``, ``"Infinity"``, ``"-Infinity"``), decimals,
binary (base64). Dates are days and timestamps microseconds since 1970. A map is a list of pairs, in its order; a struct is an object,
or a list when field names repeat.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


def encode(array: pa.Array, type_: DataType) -> pa.Array:
    """A string array of JSON, one text per value; null stays null."""
    import pyarrow as pa

    plain = _to_plain(array, type_)
    valid = array.is_valid().to_pylist()
    texts = [_dumps(value) if is_valid else None for value, is_valid in zip(plain, valid, strict=True)]
    return pa.array(texts, pa.string())


def decode(array: pa.Array, type_: DataType) -> pa.Array:
    """The inverse of `encode`; the type is exactly `to_arrow` of the Spark type."""
    plain = [None if text is None else json.loads(text) for text in array.to_pylist()]
    return _from_plain(plain, type_, to_arrow(type_))


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _to_plain(array: pa.Array, type_: DataType) -> list[Any]:
    array = _compact(array)
    match type_:
        case ArrayType(element):
            return _slices(array, _to_plain(array.values, element))
        case MapType(key, value):
            pairs = zip(_to_plain(array.keys, key), _to_plain(array.items, value), strict=True)
            return _slices(array, [list(pair) for pair in pairs])
        case StructType(fields):
            return _structs_to_plain(array, [f.name for f in fields], [f.type for f in fields])
        case ScalarType("variant" | "geometry" | "geography"):
            inner = [ScalarType("int" if field.name == "srid" else "binary") for field in array.type]
            return _structs_to_plain(array, [field.name for field in array.type], inner)
        case ScalarType(name):
            return _scalars_to_plain(array, name)


def _compact(array: pa.Array) -> pa.Array:
    """Copy a slice, so that offsets start at 0 and children hold only its values."""
    import numpy as np
    import pyarrow as pa

    return array.take(pa.array(np.arange(len(array)))) if len(array) else array


def _slices(array: pa.Array, values: list[Any]) -> list[Any]:
    offsets = array.offsets.to_pylist() if len(array) else [0]
    return [
        values[start:end] if valid else None
        for start, end, valid in zip(offsets[:-1], offsets[1:], array.is_valid().to_pylist(), strict=True)
    ]


def _structs_to_plain(array: pa.Array, names: Sequence[str], types: Sequence[DataType]) -> list[Any]:
    columns = [_to_plain(child, type_) for child, type_ in zip(array.flatten(), types, strict=True)]
    rows = [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(len(array))]
    make: Callable[[list[Any]], Any] = (lambda row: dict(zip(names, row, strict=True))) if len(set(names)) == len(names) else list
    return [make(row) if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]


def _scalars_to_plain(array: pa.Array, name: str) -> list[Any]:
    import pyarrow as pa

    match name:
        case "float" | "double":
            return [_float_to_plain(value) for value in array.to_pylist()]
        case "decimal":
            return list(array.cast(pa.string()).to_pylist())
        case "binary":
            return [None if value is None else base64.b64encode(value).decode() for value in array.to_pylist()]
        case "date":
            return list(array.cast(pa.int32()).to_pylist())
        case "timestamp" | "timestamp_ntz" | "time" | "interval day to second":
            return list(array.cast(pa.int64()).to_pylist())
        case _:
            return list(array.to_pylist())


def _float_to_plain(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _from_plain(values: list[Any], type_: DataType, arrow: pa.DataType) -> pa.Array:
    import pyarrow as pa

    match type_:
        case ArrayType(element):
            inner = _from_plain([item for value in values if value is not None for item in value], element, arrow.value_type)
            return pa.ListArray.from_arrays(_offsets(values), inner, type=arrow, mask=_nulls(values))
        case MapType(key, value):
            pairs = [pair for entries in values if entries is not None for pair in entries]
            keys = _from_plain([pair[0] for pair in pairs], key, arrow.key_type)
            items = _from_plain([pair[1] for pair in pairs], value, arrow.item_type)
            return _maps(values, keys, items, arrow)
        case StructType(fields):
            return _structs_from_plain(values, [f.type for f in fields], arrow)
        case ScalarType("variant" | "geometry" | "geography"):
            inner_types = [ScalarType("int" if field.name == "srid" else "binary") for field in arrow]
            return _structs_from_plain(values, inner_types, arrow)
        case ScalarType(name):
            return _scalars_from_plain(values, name, arrow)


def _offsets(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    return pa.array([0, *accumulate(0 if value is None else len(value) for value in values)], pa.int32())


def _nulls(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    return pa.array([value is None for value in values], pa.bool_())


def _maps(values: list[Any], keys: pa.Array, items: pa.Array, arrow: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.MapArray.from_arrays(_offsets(values), keys, items, type=arrow, mask=_nulls(values))


def _structs_from_plain(values: list[Any], types: Sequence[DataType], arrow: pa.DataType) -> pa.Array:
    import pyarrow as pa

    # An object keeps the order in which its fields were written.
    rows = [None if value is None else list(value.values()) if isinstance(value, dict) else value for value in values]
    fields = list(arrow)
    columns = [
        _from_plain([None if row is None else row[position] for row in rows], type_, fields[position].type)
        for position, type_ in enumerate(types)
    ]
    if not columns:
        return pa.array([None if row is None else {} for row in rows], arrow)
    return pa.StructArray.from_arrays(columns, fields=fields, mask=_nulls(values))


def _scalars_from_plain(values: list[Any], name: str, arrow: pa.DataType) -> pa.Array:
    import pyarrow as pa

    match name:
        case "float" | "double":
            return pa.array([None if value is None else float(value) for value in values], pa.float64()).cast(arrow)
        case "decimal":
            return pa.array(values, pa.string()).cast(arrow)
        case "binary":
            return pa.array([None if value is None else base64.b64decode(value) for value in values], arrow)
        case "date":
            return pa.array(values, pa.int32()).cast(arrow)
        case "timestamp" | "timestamp_ntz" | "time" | "interval day to second":
            return pa.array(values, pa.int64()).cast(arrow)
        case _:
            return pa.array(values, arrow)
