"""Small tables as part of a query's text: nothing is written, and the planner sees how many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.datatypes import from_arrow
from airflow_lineage_provider.store.convert import to_storage
from airflow_lineage_provider.store.layout import Column, Layout, make_layout
from airflow_lineage_provider.store.sqltext import identifier, literal
from airflow_lineage_provider.store.textform import to_text
from airflow_lineage_provider.store.types import storage_type

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_BYTES = 1_000_000
"""A longer text is not parsed faster than a temporary table is filled."""


def layout_of(table: pa.Table) -> Layout:
    """How a table of Arrow is stored.

    :raises PlanError: an Arrow type has no Spark type.
    """
    return make_layout([Column(field.name, from_arrow(field.type)) for field in table.schema])


def rows_sql(table: pa.Table, layout: Layout) -> str | None:
    """A SELECT that gives the table's rows, in the types and under the names of ``layout``; None where its text would be long.

    :raises LoadFailed: a value cannot be stored as its Spark type.
    """
    if table.nbytes > _MOST_BYTES or layout.packed or not layout.columns:
        return None
    batch, _ = to_storage(table, layout, 0)
    places = [str(place.physical) for place in layout.places]
    arrays = [
        f"{literal(array_text(to_text(batch.column(place)).to_pylist()))}::{storage_type(column.type).cast}[]"
        for column, place in zip(layout.columns, places, strict=True)
    ]
    if sum(map(len, arrays)) > _MOST_BYTES:
        return None
    names = [identifier(column.name) for column in layout.columns]
    chosen = [f"{name}{_collation(column)} AS {name}" for column, name in zip(layout.columns, names, strict=True)]
    return f"SELECT {', '.join(chosen)} FROM unnest({', '.join(arrays)}) AS given ({', '.join(names)})"


def _collation(column: Column) -> str:
    return ' COLLATE "C"' if storage_type(column.type).cast == "text" else ""


def array_text(values: Sequence[str | None]) -> str:
    """An array of texts (or of values as their texts) as PostgreSQL reads it."""
    return "{" + ",".join("NULL" if text is None else _element(text) for text in values) + "}"


def _element(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
