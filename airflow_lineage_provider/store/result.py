"""The result of a SQL query as Arrow: the Spark types that the caller names, and plain types for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.store.types import decode, storage_type

if TYPE_CHECKING:
    import pyarrow as pa


def typed_result(table: pa.Table, types: Mapping[str, str]) -> pa.Table:
    """The table with the named columns as their exact Spark types and PostgreSQL's own types made plain.

    :raises StoreError: a value does not fit the Spark type that the caller named.
    """
    import pyarrow as pa

    fields: list[pa.Field] = []
    arrays: list[pa.Array] = []
    for field, column in zip(table.schema, table.columns, strict=True):
        array = column.combine_chunks()
        array = _as_spark(array, field.name, types[field.name]) if field.name in types else _plain(array, field)
        arrays.append(array)
        fields.append(pa.field(field.name, array.type, field.nullable))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _as_spark(array: pa.Array, name: str, spark: str) -> pa.Array:
    import pyarrow as pa

    try:
        return decode(array, storage_type(spark))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise StoreError(f"column {name!r} of the query's result cannot be read as {spark}: {error}") from error


def _plain(array: pa.Array, field: pa.Field) -> pa.Array:
    """Without extension types: numeric as a decimal, json and others as text."""
    import pyarrow as pa

    storage = getattr(array, "storage", array)
    name = (field.metadata or {}).get(b"POSTGRESQL:type")
    return _decimals(storage) if name == b"numeric" and pa.types.is_string(storage.type) else storage


def _decimals(texts: pa.Array) -> pa.Array:
    """Decimals with the largest scale in the result; text where one is NaN, infinite or too long for 38 digits."""
    import pyarrow as pa

    values = [text for text in texts.to_pylist() if text is not None]
    scale = max((len(text.partition(".")[2]) for text in values), default=0)
    whole = max((len(text.partition(".")[0].lstrip("-")) for text in values), default=1)
    if whole + scale > 38 or any(text in ("nan", "NaN", "inf", "-inf", "Infinity", "-Infinity") for text in values):
        return texts
    return texts.cast(pa.decimal128(38, scale))
