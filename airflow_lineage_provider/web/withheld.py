"""Rows of a result as they may be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.render.withheld import table_shown

if TYPE_CHECKING:
    import pyarrow as pa


def rows_shown(rows: pa.Table, table: str = "") -> pa.Table:
    """Rows of a result, or of a source table, as they may be shown, under the settings."""
    discretion = Discretion.of()
    return table_shown(rows, discretion, table) if discretion else rows
