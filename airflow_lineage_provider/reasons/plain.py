"""Values of rows and reasons as plain JSON values, and the encoding of those that JSON lacks (NaN, infinities)."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import enum
import json
import math
from collections.abc import Mapping
from typing import Any

from airflow_lineage_provider.errors import PayloadError

_NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def plain(value: Any, what: str) -> Any:
    """`value` with only None, bool, int, float, str, lists and dicts with str keys in it.

    A set becomes a sorted list; dates become ISO 8601 text, decimals text, bytes base64 text; numpy scalars and arrays
    become numbers and lists.

    :raises PayloadError: `value` has something else in it; `what` says where.
    """
    if value is None or type(value) in (bool, str):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value, what)
    if isinstance(value, Mapping):
        return _mapping(value, what)
    if isinstance(value, (list, tuple)):
        return [plain(each, what) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(each, what) for each in value), key=lambda each: json.dumps(encode(each), sort_keys=True))
    return _scalar(value, what)


def _mapping(value: Mapping[Any, Any], what: str) -> dict[str, Any]:
    wrong = [key for key in value if not isinstance(key, str)]
    if wrong:
        raise PayloadError(f"{what} has the key {wrong[0]!r} of type {type(wrong[0]).__name__}; JSON keys are strings")
    return {str(key.value if isinstance(key, enum.Enum) else key): plain(each, what) for key, each in value.items()}


def _scalar(value: Any, what: str) -> Any:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat() if value == value else None  # pandas.NaT is a datetime that is not itself
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if hasattr(value, "tolist"):  # numpy scalars and arrays, pandas Series, without importing either
        listed = _in_microseconds(value).tolist()
        return float(listed) if type(listed) is type(value) else plain(listed, what)  # Python has no longer float
    if type(value).__name__ == "NAType":  # pandas.NA
        return None
    raise PayloadError(
        f"{what} is of type {type(value).__name__}, which JSON cannot hold: use a payload, or a dict, list, set, str, number, bool or None"
    )


def _in_microseconds(value: Any) -> Any:
    """numpy's times in a unit that Python's have: of a finer one it lists bare numbers."""
    kind = getattr(getattr(value, "dtype", None), "str", "")[1:]
    finer = kind[:1] in ("M", "m") and kind.endswith(("[ns]", "[ps]", "[fs]", "[as]")) and type(value).__module__ == "numpy"
    return value.astype(f"{kind[:2]}[us]") if finer else value


def encode(value: Any) -> Any:
    """A plain value with the numbers that JSON lacks written as ``{"$float": …}``."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, (list, tuple)):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        coded = {key: encode(each) for key, each in value.items()}
        return {"$object": coded} if any(key.startswith("$") for key in coded) else coded
    return value


def decode(value: Any) -> Any:
    """The plain value that `encode` wrote."""
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$float"}:
        return _named_float(value["$float"])
    inner = value["$object"] if value.keys() == {"$object"} else value
    return {key: decode(each) for key, each in inner.items()}


def _named_float(name: Any) -> float:
    if name not in _NAMES:
        raise PayloadError(f"a number is written as {name!r}; the names are {', '.join(_NAMES)}")
    return _NAMES[name]
