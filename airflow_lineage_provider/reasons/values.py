"""Values of a UDF as Arrow arrays of the declared type, never silently changed; and when two values are the same."""

from __future__ import annotations

import datetime as dt
import math
import numbers
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from airflow_lineage_provider.reasons.variants import from_variants, has_variant

NOT_OF_THE_TYPE = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
"""What a conversion raises."""


def same_values(left: pa.Array, right: pa.Array) -> list[bool]:
    """Row by row: are the values the same? NaN equals NaN; floating-point numbers may differ by rounding (1 part in 10⁹, in
    10⁵ for single precision), because vectorised arithmetic rounds by the batch's shape."""
    if left.equals(right):
        return [True] * len(left)
    return [same_value(one, other, left.type) for one, other in zip(left.to_pylist(), right.to_pylist(), strict=True)]


def same_value(one: Any, other: Any, kind: pa.DataType) -> bool:
    """The same of two Python values of a type."""
    return _same(one, other, 1e-5 if pa.types.is_float32(kind) else 1e-9)


def _same(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key], tolerance) for key in one)
    return bool(one == other)


def converted(result: Any, kind: pa.DataType) -> pa.Array:
    """What a vectorised function returned (an array, Series or sequence), as an array of the declared type."""
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if isinstance(result, pa.Array):
        return result if result.type == kind else result.cast(kind)
    if not hasattr(result, "dtype"):
        return from_python(list(result), kind)
    if result.dtype == object:
        _check_all([each for each in result if not (isinstance(each, float) and math.isnan(each))], kind)  # NaN is NULL here
    found = pa.Array.from_pandas(result, type=kind)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def from_python(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Python values as an array of the declared type."""
    if has_variant(kind):
        values = [from_variants(value, kind) for value in values]
    _check_all(values, kind)
    return pa.array(values, type=kind)


def _check_all(values: Any, kind: pa.DataType) -> None:
    if _needs_check(kind):
        for value in values:
            _check(value, kind)


def _needs_check(kind: pa.DataType) -> bool:
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    return pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or any(_needs_check(each) for each in inner)


def _check(value: Any, kind: pa.DataType) -> None:
    """Refuse what Arrow would convert silently: it cuts 1.5 to 1, and takes a naive datetime for UTC, where Spark's own row
    UDFs take it for local time."""
    if value is None:
        return
    if pa.types.is_integer(kind) and isinstance(value, numbers.Real) and not _whole(value):
        raise ValueError("it is not a whole number")
    if pa.types.is_timestamp(kind) and isinstance(value, dt.datetime) and (value.tzinfo is None) != (kind.tz is None):
        raise ValueError(f"a timestamp{'' if kind.tz else '_ntz'} needs a datetime {'with' if kind.tz else 'without'} a time zone")
    for part, inner in _parts(value, kind):
        if _needs_check(inner):
            _check(part, inner)


def _whole(number: numbers.Real) -> bool:
    return isinstance(number, int) or (math.isfinite(number) and number == math.floor(number))


def _parts(value: Any, kind: pa.DataType) -> Iterator[tuple[Any, pa.DataType]]:
    if pa.types.is_map(kind):
        for key, item in value.items() if isinstance(value, dict) else value:
            yield from ((key, kind.key_type), (item, kind.item_type))
    elif pa.types.is_list(kind):
        yield from ((each, kind.value_type) for each in value)
    elif pa.types.is_struct(kind):
        places = zip(kind, value, strict=False) if isinstance(value, tuple) else ((field, value.get(field.name)) for field in kind)
        yield from ((part, field.type) for field, part in places)
