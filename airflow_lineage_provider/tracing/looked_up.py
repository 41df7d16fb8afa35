"""What stored rows of a run hold of their lineage, each row looked up once, whatever number of questions lead to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.tracing.reserved import TAG

if TYPE_CHECKING:
    import pyarrow as pa

LookUp = Callable[["pa.Table"], "pa.Table"]
"""Stored rows by numbers that are their own tags: the tag first, then what the rows hold. A number has one row, or none."""


@dataclass(kw_only=True)
class LookedUp:
    """Rows of stored segments, by segment."""

    _asked: dict[int, set[int]] = field(default_factory=dict)
    _rows: dict[int, pa.Table] = field(default_factory=dict)

    def rows(self, segment: int, target: pa.Table, look_up: LookUp) -> pa.Table:
        """For each tag and row number of ``target`` the tag, and what the row holds; ``look_up`` is asked for rows not known yet."""
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = target.column(1).combine_chunks()
        asked = self._asked.setdefault(segment, set())
        missing = pa.array(sorted(set(numbers.to_pylist()) - asked), pa.int64())
        if len(missing) or segment not in self._rows:
            found = look_up(pa.table({TAG: missing, "key_0": missing}))
            self._rows[segment] = pa.concat_tables([self._rows[segment], found]) if segment in self._rows else found
            asked.update(missing.to_pylist())
        known = self._rows[segment]
        places = pc.index_in(numbers, value_set=known.column(0))
        there = pc.is_valid(places)
        return known.take(places.filter(there)).set_column(0, TAG, target.column(0).filter(there))
