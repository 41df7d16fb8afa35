"""This package, sent to executors that have not got it, and to drivers that are submitted.

As an archive that Spark unpacks into the folder of the application's files, which every Python worker has on its path: functions that were
declared before it was sent find it as well (a function takes the ``addPyFile`` of before its declaration alone).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pyspark.sql import SparkSession

PACKAGE = "airflow_lineage_provider"
_OF_AIRFLOW = frozenset({"web", "operators", "hooks", "decorators", "triggers", "__pycache__"})
"""Folders that nothing imports where the work is done; the first may have all that its pages are built from."""


def ship(spark: SparkSession) -> None:
    """Send the package to all executors of the session's application, those to come among them."""
    context = spark.sparkContext
    folder = Path(str(context._temp_dir))  # until the context ends, as Spark's own files are
    context.addArchive(f"{write_archive(folder / f'{PACKAGE}.zip')}#{PACKAGE}")


def write_archive(path: Path) -> Path:
    """The package's modules, as a zip file of what is in its folder: what executors need."""
    return _written(path, (".py",), "")


def write_package(path: Path) -> Path:
    """The package as a driver imports it from a zip file: its modules, and what they read (roles, pages)."""
    return _written(path, (".py", ".sql", ".j2", ".css", ".js"), f"{PACKAGE}/")


def _written(path: Path, suffixes: tuple[str, ...], within: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in _files(resources.files(PACKAGE), suffixes, within):
            archive.writestr(name, file.read_bytes())
    return path


def _files(folder: Traversable, suffixes: tuple[str, ...], within: str) -> Iterator[tuple[str, Traversable]]:
    for one in sorted(folder.iterdir(), key=lambda found: found.name):
        name = f"{within}{one.name}"
        if one.is_dir():
            if one.name not in _OF_AIRFLOW:
                yield from _files(one, suffixes, f"{name}/")
        elif name.endswith(suffixes):
            yield name, one
