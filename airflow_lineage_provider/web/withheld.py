"""Rows of a result as they may be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.render.withheld import table_shown

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.reasons.discretion import Discretion


def rows_shown(rows: pa.Table, discretion: Discretion, table: str = "") -> pa.Table:
    """Rows of a run's result, or of a source table that it read, as they may be shown, by what is withheld of the run (`discretion_of`)."""
    return table_shown(rows, discretion, table) if discretion else rows
