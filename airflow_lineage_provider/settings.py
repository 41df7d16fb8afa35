"""One function per option, read from the environment when called (never at import).

Every option is an environment variable ``AIRFLOW_LINEAGE_<NAME>``; arguments in code win over it.
"""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """Where the embedded store keeps its data: ``AIRFLOW_LINEAGE_HOME``, else ``~/.local/share/airflow-lineage``."""
    return Path(os.environ.get("AIRFLOW_LINEAGE_HOME") or Path.home() / ".local" / "share" / "airflow-lineage")


def store_url() -> str | None:
    """The results store's PostgreSQL URL (``AIRFLOW_LINEAGE_STORE``); None means the embedded server under `home()`."""
    return os.environ.get("AIRFLOW_LINEAGE_STORE") or None


def target_limit() -> int:
    """The most rows that a target may match (``AIRFLOW_LINEAGE_TARGET_LIMIT``, default 10,000)."""
    return int(os.environ.get("AIRFLOW_LINEAGE_TARGET_LIMIT") or 10_000)


def retention_days() -> int | None:
    """Runs older than this many days are dropped when a store is opened (``AIRFLOW_LINEAGE_RETENTION_DAYS``; none by default)."""
    value = os.environ.get("AIRFLOW_LINEAGE_RETENTION_DAYS")
    return int(value) if value else None


def statement_timeout() -> float | None:
    """The most seconds that one query of the store may take (``AIRFLOW_LINEAGE_STATEMENT_TIMEOUT``; no limit by default)."""
    value = os.environ.get("AIRFLOW_LINEAGE_STATEMENT_TIMEOUT")
    return float(value) if value else None
