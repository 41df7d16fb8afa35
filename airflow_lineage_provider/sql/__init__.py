"""Plans and expressions as SQL text, for Spark, PostgreSQL and DuckDB, through sqlglot's expression builders; and targets from SQL text."""

from __future__ import annotations

from airflow_lineage_provider.sql.lowering import lower, lower_expression
from airflow_lineage_provider.sql.names import Dialect, quote, quote_path
from airflow_lineage_provider.sql.predicate import parse_predicate
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.tables import ColumnRef, LeafKey, TableRef, leaf_key

__all__ = [
    "ColumnRef",
    "Dialect",
    "LeafKey",
    "PortabilityProblem",
    "TableRef",
    "leaf_key",
    "lower",
    "lower_expression",
    "parse_predicate",
    "quote",
    "quote_path",
]
