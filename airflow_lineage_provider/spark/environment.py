"""Whether this installation can run Spark at all: one PySpark, whole, and a Java that it works with."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from airflow_lineage_provider.errors import EnvironmentProblem, PySparkConflict

T = TypeVar("T")

# Both write into the one folder ``pyspark``; only the first has the JVM's side.
_DISTRIBUTIONS = ("pyspark", "pyspark-client")
_JVM_SIDE = "core/context.py"
_OLDEST, _NEWEST = (4, 0), (4, 3)
_SHARED = "4.2.0"
"""The newest version that both distributions have, with the same files."""

REQUIREMENT = f"pyspark>={_OLDEST[0]}.{_OLDEST[1]},<{_NEWEST[0]}.{_NEWEST[1] + 1}"
_MINIMUM_JAVA = 17


def check_pyspark() -> None:
    """One whole PySpark of one version, judged by the files that Python would import, whatever else is installed.

    A PySpark that no installer recorded (of spark-submit, of a platform) is taken as it is, if its version is one that works.

    :raises EnvironmentProblem: there is none, one without a JVM, or one of a version that is not known to work.
    :raises PySparkConflict: another distribution's files lie over PySpark's; the message has the command that repairs it.
    """
    folder = _folder()
    if folder is None:
        raise EnvironmentProblem(f"PySpark is not installed: pip install '{REQUIREMENT}'")
    installed = _installed(folder.parent)
    if "pyspark" in installed:
        _check_whole(folder, installed)
    elif (folder / "__init__.py").is_file() and not (folder / _JVM_SIDE).is_file():
        raise EnvironmentProblem(f"{_named(installed) or folder} has no JVM, and lineage needs one: pip install '{_matching(installed)}'")
    _check_version(folder)


@cache
def check_pyspark_once() -> None:
    """`check_pyspark`, once a process: it reads all of PySpark's files (about 50 ms), and every run would."""
    check_pyspark()


def repair(installed: Mapping[str, str]) -> str:
    """The command that makes PySpark whole again, from what is installed (name to version): it leaves ``pip check`` content.

    Where pyspark-client is there (something requires it) both are installed anew, in a version that both have: its own, or `_SHARED`.
    """
    version = installed.get("pyspark-client") or installed["pyspark"]
    if not _works(version):
        version = _SHARED
    names = [name for name in _DISTRIBUTIONS if name in installed]
    return f"pip install --force-reinstall --no-deps {' '.join(f'{name}=={version}' for name in names)}"


def _check_whole(folder: Path, installed: Mapping[str, metadata.Distribution]) -> None:
    damaged = damaged_files(installed["pyspark"])
    if not damaged:
        return
    told = ", ".join(damaged[:3]) + (f" and {len(damaged) - 3} more" if len(damaged) > 3 else "")
    remedy = repair({name: one.version for name, one in installed.items()})
    raise PySparkConflict(
        f"{folder} is not one whole PySpark: {_named(installed)} {'are' if len(installed) > 1 else 'is'} installed there, and of pyspark's "
        f"files {told} {'is' if len(damaged) == 1 else 'are'} missing or not its own. Repair it with: {remedy}"
    )


def _check_version(folder: Path) -> None:
    version = _version(folder)
    if version is not None and not _works(version):
        works = f"{_OLDEST[0]}.{_OLDEST[1]} to {_NEWEST[0]}.{_NEWEST[1]}"
        raise EnvironmentProblem(f"lineage works with PySpark {works}, and {folder} is {version}: pip install '{REQUIREMENT}'")


def damaged_files(distribution: metadata.Distribution) -> list[str]:
    """Which Python files are missing, or are not what the distribution installed (its RECORD). Packages without hashes have none."""
    # Not `distribution.files`: newer Pythons, and a backport that Airflow brings, leave missing files out of it.
    recorded = csv.reader((distribution.read_text("RECORD") or "").splitlines())
    hashes = {row[0]: row[1] for row in recorded if len(row) > 1 and row[1]}
    return [
        path
        for path, told in hashes.items()
        if path.startswith("pyspark/") and path.endswith(".py") and not _is_whole(Path(str(distribution.locate_file(path))), told)
    ]


def _is_whole(path: Path, told: str) -> bool:
    """Whether a file is there, and has the hash that its record tells: ``sha256=…``."""
    algorithm, _, digest = told.partition("=")
    return path.is_file() and _digest(path, algorithm) == digest


def _folder() -> Path | None:
    """Where ``import pyspark`` finds, or has found, the package."""
    loaded = sys.modules.get("pyspark")
    if loaded is not None:
        origin = loaded.__file__
    else:
        # What was installed a moment ago, in a notebook's cell: folders are listed again only when their time has changed, which is coarse.
        importlib.invalidate_caches()
        origin = getattr(find_spec("pyspark"), "origin", None)
    return Path(origin).parent if origin else None


def _installed(place: Path) -> dict[str, metadata.Distribution]:
    """The distributions that were installed into this ``site-packages``, by name."""
    found = {name: next(iter(metadata.distributions(name=name, path=[str(place)])), None) for name in _DISTRIBUTIONS}
    return {name: distribution for name, distribution in found.items() if distribution is not None}


def _version(folder: Path) -> str | None:
    """What the package says of itself; None where it says nothing that can be read (within a zip file)."""
    try:
        found = re.search(r"__version__.*?=\s*['\"]([^'\"]+)", (folder / "version.py").read_text(encoding="utf-8"))
    except OSError:
        return None
    return found[1] if found else None


def _works(version: str) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and _OLDEST <= (int(found[1]), int(found[2])) <= _NEWEST


def _named(installed: Mapping[str, metadata.Distribution]) -> str:
    return " and ".join(f"{name} {installed[name].version}" for name in _DISTRIBUTIONS if name in installed)


def _matching(installed: Mapping[str, metadata.Distribution]) -> str:
    """The PySpark beside which a client that is there is no other one."""
    client = installed.get("pyspark-client")
    return f"pyspark=={client.version}" if client is not None and _works(client.version) else REQUIREMENT


def with_java(start: Callable[[], T]) -> T:
    """What starts a JVM gives. Java is looked at where that fails: asking it for its version starts one as well (0.1 s).

    :raises EnvironmentProblem: it fails, and there is no Java that Spark works with; the message says what to install.
    """
    try:
        return start()
    except Exception as error:
        problem = java_problem()
        if problem is None:
            raise
        raise problem from error


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


def _digest(path: Path, algorithm: str) -> str:
    digest = hashlib.new(algorithm, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _java_advice() -> str:
    return "On Debian or Ubuntu: apt-get install openjdk-17-jre-headless; elsewhere, see adoptium.net; then set JAVA_HOME"
