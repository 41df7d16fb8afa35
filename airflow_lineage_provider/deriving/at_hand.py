"""Rows of a result that were read where they were looked for: they are not asked for again by their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.tracing.by_number import columns_by_number
from airflow_lineage_provider.tracing.numbers import different
from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.plan import operators as o
    from airflow_lineage_provider.plan.lineage_keys import AnyNumbers


@dataclass
class RowsAtHand:
    """The rows that were found last, where they are few.

    :ivar columns: what is going to be read of rows of the result, once they are found.
    """

    columns: tuple[str, ...] = ()
    _found: pa.Table | None = None

    def keep(self, found: pa.Table | None) -> None:
        """``found`` has these columns, and the rows' numbers, ascending; None: the rows are too many."""
        self._found = found

    def rows(self, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table | None:
        """Columns of the rows with these numbers, in the order of these; None where they are not just the ones that are at hand."""
        import numpy as np

        found = self._found
        if found is None or len(numbers) < found.num_rows or not set(columns) <= set(found.column_names):
            return None
        wanted = different(np.asarray(numbers, np.int64))
        return found.select(list(columns)) if np.array_equal(found.column(ROW).to_numpy(), wanted) else None

    def looked_up(self, plan: o.Plan, target: pa.Table, names: Mapping[int, str]) -> pa.Table | None:
        """What a tracing query finds in the result's rows with the target's numbers; None where these rows, or columns, are not at hand.

        :param target: tag and row number.
        :param names: the stored columns by the ids of the attributes that they hold.
        """
        import numpy as np
        import pyarrow as pa

        asked = columns_by_number(plan)
        if asked is None or asked[0] != 0 or any(one is not None and one.id not in names for one in asked[1]):
            return None
        numbers = target.column(1).to_numpy()
        stored = [names[one.id] for one in asked[1] if one is not None]
        found = self.rows(list(dict.fromkeys([*stored, ROW])), numbers)
        if found is None or any(one is not None and found.schema.field(names[one.id]).type != to_arrow(one.type) for one in asked[1]):
            return None
        rows = found.take(pa.array(np.searchsorted(found.column(ROW).to_numpy(), numbers)))
        true = pa.repeat(pa.scalar(True), len(numbers))
        columns = [true if one is None else rows.column(names[one.id]) for one in asked[1]]
        return pa.table([target.column(0), *columns], names=[TAG, *(a.name for a in plan.output[1:])])
