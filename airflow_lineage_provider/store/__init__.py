"""The results store: PostgreSQL with a catalog of runs, their materializations and their derivations.

The names below are imported when first used: a Spark executor that unpickles a `PartitionLoader` needs pyarrow and ADBC (or psycopg2),
not SQLAlchemy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_lineage_provider.store.embedded import stop as stop_embedded
    from airflow_lineage_provider.store.layout import Column
    from airflow_lineage_provider.store.load import PartitionLoader
    from airflow_lineage_provider.store.materialization import Materialization
    from airflow_lineage_provider.store.outputs import WrittenPlace
    from airflow_lineage_provider.store.read import MaterializationReader
    from airflow_lineage_provider.store.records import DerivationRecord, DerivationTable, RunRecord
    from airflow_lineage_provider.store.result_table import ResultTable
    from airflow_lineage_provider.store.roles import script as roles_script
    from airflow_lineage_provider.store.session import Session, Upload
    from airflow_lineage_provider.store.store import Store

_HOMES = {
    "Column": ("layout", "Column"),
    "DerivationRecord": ("records", "DerivationRecord"),
    "DerivationTable": ("records", "DerivationTable"),
    "Materialization": ("materialization", "Materialization"),
    "MaterializationReader": ("read", "MaterializationReader"),
    "PartitionLoader": ("load", "PartitionLoader"),
    "ResultTable": ("result_table", "ResultTable"),
    "RunRecord": ("records", "RunRecord"),
    "Session": ("session", "Session"),
    "Store": ("store", "Store"),
    "Upload": ("session", "Upload"),
    "WrittenPlace": ("outputs", "WrittenPlace"),
    "roles_script": ("roles", "script"),
    "stop_embedded": ("embedded", "stop"),
}

__all__ = [
    "Column",
    "DerivationRecord",
    "DerivationTable",
    "Materialization",
    "MaterializationReader",
    "PartitionLoader",
    "ResultTable",
    "RunRecord",
    "Session",
    "Store",
    "Upload",
    "WrittenPlace",
    "roles_script",
    "stop_embedded",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    module, attribute = _HOMES[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)
