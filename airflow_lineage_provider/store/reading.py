"""Rows of materializations, by condition, number or position, whoever runs the queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.secrecy import redact
from airflow_lineage_provider.store.connection import store_errors
from airflow_lineage_provider.store.convert import from_storage
from airflow_lineage_provider.store.materialization import Materialization
from airflow_lineage_provider.store.read import FEW, Order, at_positions, first_few_sql, numbered, row_column, select_sql

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers


@dataclass(frozen=True)
class LookUp:
    """Rows that were looked for: the columns that named them, and how long it took."""

    materialization: Materialization
    columns: tuple[str, ...]
    seconds: float


class Reading(ABC):
    """What can be read of materializations with a `fetch`. Every method raises StoreUnavailable when the server does not answer.

    :ivar url: libpq URL of the store. `redact` it before it is shown.
    """

    url: str

    @abstractmethod
    def fetch(self, sql: str) -> pa.Table:
        """The rows of one SELECT, with PostgreSQL's types as ADBC gives them, and ADBC's errors."""

    @abstractmethod
    def rest(self) -> None:
        """Before something that takes its time: no transaction is left open. Queries may follow."""

    def read(
        self,
        materialization: Materialization,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        order_by: Sequence[str | Order] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> pa.Table:
        """Rows of a materialization with their exact Spark types.

        :param materialization: from `materializations` (or, for the run's own driver, from `create_materialization`).
        :param columns: names; all by default.
        :param where: a PostgreSQL condition in which every name and string is quoted already, over `Materialization.sql_column`
            expressions.
        :param order_by: column names, or more of how.
        :param limit: the most rows.
        :param offset: so many rows are left out first.
        :raises StoreError: a column is unknown, or the run was dropped.
        """
        names = [column.name for column in materialization.columns] if columns is None else list(columns)
        sql = select_sql(materialization.table, materialization.layout, names, where, order_by, limit, offset)
        with store_errors(f"reading {materialization.name!r} in {redact(self.url)}"):
            return from_storage(self.fetch(sql), materialization.layout, names)

    def rows(self, materialization: Materialization, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table:
        """The rows of a materialization with the given numbers, in the order of their numbers.

        :raises StoreError: a column is unknown, or the run was dropped.
        """
        row = row_column(materialization.layout, materialization.name)
        return self.read(materialization, columns, numbered(materialization.layout, row, numbers), order_by=[row])

    def matching(
        self, materialization: Materialization, where: str, limit: int, columns: Sequence[str] = ()
    ) -> tuple[npt.NDArray[np.int64], pa.Table | None]:
        """The numbers of the first rows that meet a condition, ascending, at most ``limit``; where they are few, with their ``columns``.

        :param where: as in `read`.
        :returns: the numbers, and a table of ``columns`` and of the numbers' column; None where the rows are more than `FEW`, or no columns
            are asked for.
        :raises StoreError: a column is unknown, or the run was dropped.
        """
        row = row_column(materialization.layout, materialization.name)
        names = list(dict.fromkeys([*columns, row]))
        sql = first_few_sql(materialization.table, materialization.layout, row, names, where, limit)
        with store_errors(f"reading {materialization.name!r} in {redact(self.url)}"):
            found = self.fetch(sql)
            numbers = from_storage(found, materialization.layout, [row]).column(0).to_numpy()
            few = from_storage(found, materialization.layout, names) if columns and len(numbers) <= FEW else None
        return numbers, few

    def numbers_at(self, materialization: Materialization, positions: Sequence[int]) -> list[int]:
        """The numbers of the rows at these positions, counted from 0 in the order of the numbers; fewer where there are not so many.

        :raises StoreError: the run was dropped.
        """
        row = row_column(materialization.layout, materialization.name)
        where = at_positions(materialization.table, materialization.layout, row, positions)
        found = self.read(materialization, [row], where, order_by=[row])
        return [int(number) for number in found.column(0).to_pylist()]

    def positions_of(self, materialization: Materialization, numbers: AnyNumbers) -> list[int]:
        """The positions of rows with these numbers, in the order of ``numbers``: how many rows have a smaller one.

        :raises StoreError: the run was dropped.
        """
        row = materialization.sql_column(row_column(materialization.layout, materialization.name))
        below = f"SELECT count(*) FROM {materialization.table} WHERE {row} < given.number"
        given = f"unnest('{{{','.join(str(int(one)) for one in numbers)}}}'::int8[]) WITH ORDINALITY AS given (number, place)"
        with store_errors(f"finding rows of {materialization.name!r} in {redact(self.url)}"):
            found = self.fetch(f"SELECT ({below}) AS position FROM {given} ORDER BY given.place")
        return [int(one) for one in found.column(0).to_pylist()]

    def count(self, materialization: Materialization) -> int:
        """The number of a materialization's rows."""
        if materialization.rows is not None:
            return materialization.rows
        with store_errors(f"counting the rows of {materialization.name!r} in {redact(self.url)}"):
            return int(self.fetch(f"SELECT count(*) AS n FROM {materialization.table}").column(0)[0].as_py())
