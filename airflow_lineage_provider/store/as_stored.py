"""Rows of the catalog as JSON, for its functions: each value in the form that its column has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from airflow_lineage_provider.store.schema import JsonText, SafeText
from airflow_lineage_provider.store.selecting import DIALECT


def row_json(table: sa.Table, values: Mapping[str, Any]) -> str:
    """A row as ``json_populate_record`` reads it."""
    return json.dumps(stored_values(table, values))


def stored_values(table: sa.Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """The same as a part of a larger document."""
    return {name: _form(table.columns[name].type, value) for name, value in values.items()}


def _form(kind: Any, value: Any) -> Any:
    if isinstance(kind, SafeText | JsonText):
        return kind.process_bind_param(value, DIALECT)
    return value.isoformat() if isinstance(value, datetime) else value
