"""Whether this installation can run Spark at all: one PySpark, whole, and a Java that it works with."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from airflow_lineage_provider.errors import EnvironmentProblem, PySparkConflict

# All three distributions write into the one folder ``pyspark``; only the first has the JVM's side.
_DISTRIBUTIONS = ("pyspark", "pyspark-connect", "pyspark-client")
_WITNESSES = ("pyspark/version.py", "pyspark/java_gateway.py", "pyspark/sql/session.py", "pyspark/sql/dataframe.py", "pyspark/sql/udf.py")
_MINIMUM_JAVA = 17
_REMEDY = "pip uninstall -y pyspark pyspark-client pyspark-connect && pip install --no-cache-dir 'pyspark=={version}'"


def check_pyspark() -> None:
    """One PySpark, whole.

    :raises EnvironmentProblem: there is none, or one without a JVM.
    :raises PySparkConflict: another distribution's files lie over PySpark's; the message has the command that repairs it.
    """
    found = _installed()
    if "pyspark" not in found:
        instead = ", ".join(f"{name} {version}" for name, version in found.items())
        raise EnvironmentProblem(f"PySpark is not installed{f' ({instead} has no JVM)' if instead else ''}: pip install 'pyspark~=4.3.0'")
    remedy = _REMEDY.format(version=found["pyspark"])
    others = [f"{name} {version}" for name, version in found.items() if version != found["pyspark"]]
    if others:
        raise PySparkConflict(
            f"pyspark {found['pyspark']} and {', '.join(others)} are installed into the same folder. Repair it with: {remedy}"
        )
    damaged = damaged_files(metadata.distribution("pyspark"))
    if damaged:
        raise PySparkConflict(f"files of pyspark {found['pyspark']} are not its own: {', '.join(damaged)}. Repair it with: {remedy}")


@cache
def check_pyspark_once() -> None:
    """`check_pyspark`, once a process: it reads files, and every run would."""
    check_pyspark()


def damaged_files(distribution: metadata.Distribution) -> list[str]:
    """Which of a few telling files are missing, or are not what the distribution installed (its RECORD)."""
    recorded = {str(path): path for path in distribution.files or ()}
    damaged: list[str] = []
    for name in _WITNESSES:
        path = recorded.get(name)
        if path is None or path.hash is None:
            continue  # an editable or system package writes no hashes
        located = Path(str(path.locate()))
        if not located.is_file() or _digest(located, path.hash.mode) != path.hash.value:
            damaged.append(name)
    return damaged


def check_java() -> None:
    """:raises EnvironmentProblem: no Java that Spark works with; the message says what to install."""
    problem = java_problem()
    if problem is not None:
        raise problem


def java_problem() -> EnvironmentProblem | None:
    """What is wrong with this machine's Java, if anything."""
    java = _java()
    if java is None:
        return EnvironmentProblem(f"Spark needs Java {_MINIMUM_JAVA} or newer, and there is none on PATH or in JAVA_HOME. {_java_advice()}")
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return EnvironmentProblem(f"{java} does not run ({problem}). {_java_advice()}")
    version = java_version(told.stderr + told.stdout)
    if version is None or version < _MINIMUM_JAVA:
        return EnvironmentProblem(f"Spark needs Java {_MINIMUM_JAVA} or newer; {java} is version {version or 'unknown'}. {_java_advice()}")
    return None


def java_version(text: str) -> int | None:
    """The major version in ``java -version``'s answer; 8 for ``1.8.0``."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    major = int(found[1])
    return int(found[2] or 0) if major == 1 else major


def _installed() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _digest(path: Path, algorithm: str) -> str:
    digest = hashlib.new(algorithm, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _java_advice() -> str:
    return "On Debian or Ubuntu: apt-get install openjdk-17-jre-headless; elsewhere, see adoptium.net; then set JAVA_HOME"
