"""What the readings are readings of: the machine, what runs on it, and the state of the code."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

import airflow_lineage_provider
from airflow_lineage_provider.errors import EnvironmentProblem
from airflow_lineage_provider.store import programs

ROOT = Path(__file__).parents[2]
_UNKNOWN = "unknown"


def machine() -> dict[str, Any]:
    """By name; ``changed``: whether files of the code differ from the commit."""
    commit, changes = _told("git", "rev-parse", "HEAD"), _told("git", "status", "--porcelain", "--untracked-files=normal")
    return {
        "cores": os.cpu_count(),
        "CPU": _cpu(),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
        "system": platform.platform(terse=True),
        "Python": platform.python_version(),
        "Java": _java(),
        "PostgreSQL": _postgresql(),
        **{name: metadata.version(package) for name, package in _PACKAGES.items()},
        "version": airflow_lineage_provider.__version__,
        "commit": commit or _UNKNOWN,
        "changed": bool(changes),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


_PACKAGES = {"PySpark": "pyspark", "DuckDB": "duckdb", "Arrow": "pyarrow"}


def _cpu() -> str:
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), _UNKNOWN)
    return platform.processor() or _UNKNOWN


def _java() -> str:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    return _told(str(java), "--version").partition("\n")[0] or _UNKNOWN


def _postgresql() -> str:
    """Of the embedded server."""
    with suppress(EnvironmentProblem):
        return _told(str(programs.folder() / "postgres"), "--version").rpartition(" ")[2] or _UNKNOWN
    return _UNKNOWN


def _told(*command: str) -> str:
    """What a program says; nothing where it is not there, or fails."""
    with suppress(OSError):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""
