"""Rows of a run's segments by number: from the store, or from Spark where a segment was made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.lineage_keys import ROW

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.spark.rereading.restore import Restored
    from airflow_lineage_provider.store import Materialization, Store


class SegmentRows:
    """Reads rows of segments. ``restored`` is None where the run stored all that is needed."""

    def __init__(self, store: Store, recorded: RecordedPlan, stored: Mapping[str, Materialization], restored: Restored | None) -> None:
        self._store = store
        self._recorded = recorded
        self._stored = stored
        self.restored = restored

    def is_restored(self, segment: int) -> bool:
        """Whether Spark holds the segment's rows, and not the store."""
        return self.restored is not None and segment in self.restored.frames

    def materialization(self, segment: int) -> Materialization:
        """The segment in the store."""
        return self._stored[self._recorded.materialized[segment].name]

    def read(self, segment: int, columns: Sequence[str], numbers: Sequence[int]) -> pa.Table:
        """The rows with the given numbers, in the order of their numbers."""
        if self.restored is not None and segment in self.restored.frames:
            return self.restored.read(segment, columns, numbers)
        stored = self.materialization(segment)
        where = f"{stored.sql_column(ROW)} IN ({', '.join(map(str, numbers))})"
        return self._store.read(stored, columns=list(columns), where=where, order_by=[ROW])
