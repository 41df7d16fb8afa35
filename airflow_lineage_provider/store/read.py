"""Reading materializations through ADBC: whole, filtered, or by ranges of row numbers from Spark's executors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store.connection import adbc_connect, store_errors
from airflow_lineage_provider.store.convert import from_storage
from airflow_lineage_provider.store.layout import PACKED, PARTITION, Layout
from airflow_lineage_provider.store.sqltext import identifier

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers

FEW = 100
"""So many numbers are written one by one, and so many rows are read where they are looked for."""
_RANGES = 8
"""So many ranges of numbers are looked for one by one."""


@dataclass(frozen=True)
class Order:
    """Rows by the values of a column; those without one come last."""

    column: str
    descending: bool = False


def select_sql(
    table: str,
    layout: Layout,
    names: Sequence[str],
    where: str | None = None,
    order_by: Sequence[str | Order] | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> str:
    """A SELECT of the physical columns behind the named ones.

    :param table: quoted name of the table.
    :param layout: its columns.
    :param names: the columns wanted.
    :param where: a PostgreSQL condition, already quoted, over `Layout.sql_column` expressions.
    :param order_by: column names, or more of how.
    :param limit: the most rows.
    :param offset: so many rows are left out first.
    """
    physical = physical_of(layout, names)
    # Without a column there still is a number of rows.
    sql = f"SELECT {', '.join(map(identifier, physical or [PARTITION]))} FROM {table}"
    if where is not None:
        sql += f" WHERE {where}"
    if order_by:
        sql += f" ORDER BY {', '.join(_order(one, layout) for one in order_by)}"
    sql = sql if limit is None else f"{sql} LIMIT {int(limit)}"
    return f"{sql} OFFSET {int(offset)}" if offset else sql


def physical_of(layout: Layout, names: Sequence[str]) -> list[str]:
    """The table's own columns that have the named ones, each once."""
    places = [layout.find(name)[1] for name in names]
    return list(dict.fromkeys(place.physical if place.physical is not None else PACKED for place in places))


def first_few_sql(table: str, layout: Layout, row: str, names: Sequence[str], where: str, limit: int) -> str:
    """A SELECT of the first rows that meet a condition, in the order of their numbers: all columns of the first `FEW`, and of others the
    number alone. What is large of a row stands elsewhere in PostgreSQL, and is not read before it is given out.
    """
    found = select_sql(table, layout, names, where, [row], limit)
    physical = physical_of(layout, names)
    if physical == physical_of(layout, [row]):
        return found
    number, place = layout.sql_column(row), identifier(free_name("place", physical))
    given = ", ".join(f"CASE WHEN {place} <= {FEW} THEN {one} END AS {one}" for one in map(identifier, physical) if one != number)
    placed = f"SELECT *, row_number() OVER (ORDER BY {number}) AS {place} FROM ({found}) AS found"
    return f"SELECT {number}, {given} FROM ({placed}) AS placed ORDER BY {number}"


def _order(one: str | Order, layout: Layout) -> str:
    if isinstance(one, str):
        return layout.sql_column(one)
    return f"{layout.sql_column(one.column)} {'DESC' if one.descending else 'ASC'} NULLS LAST"


def numbered(layout: Layout, row: str, numbers: AnyNumbers) -> str:
    """The condition that a row's number is one of these."""
    return _among(layout.sql_column(row), numbers)


def at_positions(table: str, layout: Layout, row: str, positions: Sequence[int]) -> str:
    """The condition that a row stands at one of these positions, counted from 0 in the order of the rows' numbers."""
    number = layout.sql_column(row)
    ranked = f"SELECT {number} AS number, row_number() OVER (ORDER BY {number}) - 1 AS place FROM {table}"
    return f"{number} IN (SELECT number FROM ({ranked}) AS ranked WHERE {_among('place', positions)})"


def _among(value: str, numbers: AnyNumbers) -> str:
    """The condition that a value is one of these numbers: in one constant, which is parsed faster than a list of thousands, or, where they
    are many without gaps, between two.
    """
    if len(numbers) <= FEW:
        return f"{value} = ANY ('{{{','.join(str(int(one)) for one in numbers)}}}'::int8[])" if len(numbers) else "false"
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    ordered = np.unique(np.asarray(numbers, np.int64))
    begins = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 2) != 1)
    if len(begins) <= _RANGES:
        lasts = ordered[np.append(begins[1:], len(ordered)) - 1]
        between = (f"{value} BETWEEN {first} AND {last}" for first, last in zip(ordered[begins].tolist(), lasts.tolist(), strict=True))
        return f"({' OR '.join(between)})"
    texts = pa.ListArray.from_arrays(pa.array([0, len(ordered)], pa.int32()), pa.array(ordered).cast(pa.string()))
    return f"{value} = ANY ('{{{pc.binary_join(texts, ',')[0].as_py()}}}'::int8[])"


@dataclass(frozen=True)
class MaterializationReader:
    """Reads ranges of rows of a published materialization; small and picklable, needs pyarrow and ADBC.

    :ivar url: libpq URL of the store.
    :ivar table: quoted name of the table.
    :ivar layout: its columns.
    :ivar row_column: name of the column with the role ``row``, an integer.
    """

    url: str = field(repr=False)
    table: str
    layout: Layout
    row_column: str

    def read(self, lower_row: int, upper_row: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows whose number is at least ``lower_row`` and below ``upper_row``, in order.

        :raises StoreUnavailable: the store does not answer.
        :raises StoreError: the run has been dropped, or a column is unknown.
        """
        names = [column.name for column in self.layout.columns] if columns is None else list(columns)
        row = self.layout.sql_column(self.row_column)
        where = f"{row} >= {int(lower_row)} AND {row} < {int(upper_row)}"
        sql = select_sql(self.table, self.layout, names, where, [self.row_column])
        doing = store_errors(f"reading rows {lower_row} to {upper_row} of {self.table} in {redact(self.url)}")
        with doing, closing(adbc_connect(self.url)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(sql)
            return from_storage(cursor.fetch_arrow_table(), self.layout, names)


def row_column(layout: Layout, name: str) -> str:
    """The column with the role ``row``.

    :raises StoreError: there is none.
    """
    for column in layout.columns:
        if column.role == "row":
            return column.name
    raise StoreError(f"materialization {name!r} has no column with the role 'row', so it cannot be read by ranges of rows")
