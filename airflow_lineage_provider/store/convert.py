"""Batches to what COPY takes (`to_storage`), and what PostgreSQL gave to the exact Spark types (`from_storage`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.store import types as storage
from airflow_lineage_provider.store.layout import PACKED, PARTITION, Column, Layout
from airflow_lineage_provider.store.textform import from_text, to_text

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """The exact Arrow schema of columns."""
    import pyarrow as pa

    return pa.schema([pa.field(column.name, to_arrow(column.type), column.nullable) for column in columns])


def storage_schema(layout: Layout) -> pa.Schema:
    """The Arrow schema that COPY takes."""
    import pyarrow as pa

    own = [
        pa.field(place.physical, storage.storage_type(column.type).arrow)
        for column, place in zip(layout.columns, layout.places, strict=True)
        if place.physical is not None
    ]
    packed = [pa.field(PACKED, pa.list_(pa.string()))] if layout.packed else []
    return pa.schema([pa.field(PARTITION, pa.int32()), *own, *packed])


def to_storage(batch: pa.RecordBatch | pa.Table, layout: Layout, partition: int) -> tuple[pa.RecordBatch, list[str]]:
    """One batch as COPY takes it, and the names of the columns in which text had to be escaped.

    :raises LoadFailed: the batch has other columns than the materialization, or a value is not of its column's type, which the message
        names.
    """
    import pyarrow as pa

    _check_names(batch.schema.names, layout)
    escaped: list[str] = []
    own: list[pa.Array] = []
    packed: list[pa.Array] = []
    for column, place in zip(layout.columns, layout.places, strict=True):
        array, has_escapes = _encode(batch.column(column.name), column)
        if has_escapes:
            escaped.append(column.name)
        if place.physical is None:
            packed.append(to_text(array))
        else:
            own.append(array)
    number = pa.repeat(pa.scalar(partition, pa.int32()), batch.num_rows)
    arrays = [number, *own, *([_pack(packed, batch.num_rows)] if packed else [])]
    return pa.RecordBatch.from_arrays(arrays, schema=storage_schema(layout)), escaped


def _check_names(names: Sequence[str], layout: Layout) -> None:
    expected = [column.name for column in layout.columns]
    if len(names) != len(set(names)) or set(names) != set(expected):
        missing = [name for name in expected if name not in set(names)]
        extra = [name for name in names if name not in set(expected)]
        raise LoadFailed(f"the batch's columns are not the materialization's: missing {missing}, not expected {extra}, or one comes twice")


def _encode(array: pa.Array | pa.ChunkedArray, column: Column) -> tuple[pa.Array, bool]:
    import pyarrow as pa

    whole = _whole(array)
    try:
        return storage.encode(whole, storage.storage_type(column.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError, ValueError) as error:
        raise LoadFailed(f"column {column.name!r} of type {column.type} cannot be stored from Arrow's {array.type}: {error}") from error


def _whole(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


def _pack(columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """Many string columns as one column of lists: the values, column by column, are put into the order of rows."""
    import numpy as np
    import pyarrow as pa

    width = len(columns)
    by_row = np.arange(width * rows).reshape(width, rows).T.ravel()
    values = pa.concat_arrays(list(columns)).take(pa.array(by_row))
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * width, pa.int32()), values)


def from_storage(table: pa.Table, layout: Layout, names: Sequence[str]) -> pa.Table:
    """The named columns with their exact Spark types, from a table of physical columns."""
    import pyarrow as pa

    columns = [layout.find(name)[0] for name in names]
    arrays = [_column(table, layout, name) for name in names]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(columns))


def _column(table: pa.Table, layout: Layout, name: str) -> pa.Array:
    import pyarrow.compute as pc

    column, place = layout.find(name)
    kind = storage.storage_type(column.type)
    if place.physical is not None:
        return storage.decode(_whole(table.column(place.physical)), kind)
    assert place.slot is not None
    lists = _whole(table.column(PACKED))
    texts = pc.list_flatten(lists).take(_positions(len(lists), len(layout.packed), place.slot - 1))
    return storage.decode(from_text(texts, kind.arrow), kind)


def _positions(rows: int, width: int, position: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.arange(rows) * width + position)
