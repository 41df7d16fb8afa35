"""Rows of stored tables by their positions."""

from __future__ import annotations

from airflow_lineage_provider.deriving.stored_tables import numbers_at


def test_positions_are_counted_through_partitions() -> None:
    assert numbers_at([(0, 2), (1, 1), (5, 3)], [0, 1, 2, 3, 5, 6, 3]) == [0, 1, 1 << 33, 5 << 33, (5 << 33) + 2]
    assert numbers_at([], [0]) == []
