"""Rows of a result that were read where they were looked for: they are not asked for again by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.lineage_keys import ROW

if TYPE_CHECKING:
    import pyarrow as pa

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
        wanted = np.unique(np.asarray(numbers, np.int64))
        return found.select(list(columns)) if np.array_equal(found.column(ROW).to_numpy(), wanted) else None
