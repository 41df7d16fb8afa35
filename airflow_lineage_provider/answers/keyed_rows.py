"""Rows of a source table by their lineage keys: how an answer's source rows are asked about further."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyedRows:
    """Rows that run ``run_id`` read of ``table`` (as `Run.forward` names it): their places ``at`` in the answer's table, and their keys.

    ``keys`` has a column for each part of the lineage key, ``key_0`` and so on, and a row for each of ``at``. Rows that nothing tells apart
    have the same key.
    """

    run_id: str
    table: str
    at: npt.NDArray[np.int64]
    keys: pa.Table

    @staticmethod
    def of(run_id: str, table: str, keys: pa.Table, at: npt.NDArray[np.int64]) -> KeyedRows:
        """With the columns of the key under the names that a question has for them."""
        return KeyedRows(run_id=run_id, table=table, at=at, keys=keys.rename_columns([f"key_{i}" for i in range(keys.num_columns)]))

    def only(self, row: int) -> KeyedRows | None:
        """The row at this place of the answer's table, with those that share its key; None where this run did not read it."""
        import numpy as np

        places = np.flatnonzero(self.at == row)
        if not len(places):
            return None
        return KeyedRows(run_id=self.run_id, table=self.table, at=self.at[places[:1]], keys=self.keys.slice(int(places[0]), 1))
