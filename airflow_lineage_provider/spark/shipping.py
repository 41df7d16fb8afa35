"""This package, sent to executors that have not got it.

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
"""Folders that nothing on an executor imports; the first may have all that its pages are built from."""


def ship(spark: SparkSession) -> None:
    """Send the package to all executors of the session's application, those to come among them."""
    context = spark.sparkContext
    folder = Path(str(context._temp_dir))  # until the context ends, as Spark's own files are
    context.addArchive(f"{write_archive(folder / f'{PACKAGE}.zip')}#{PACKAGE}")


def write_archive(path: Path) -> Path:
    """The package's modules, as a zip file of what is in its folder."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in _modules(resources.files(PACKAGE)):
            archive.writestr(name, file.read_bytes())
    return path


def _modules(folder: Traversable, within: str = "") -> Iterator[tuple[str, Traversable]]:
    for one in sorted(folder.iterdir(), key=lambda found: found.name):
        name = f"{within}{one.name}"
        if one.is_dir():
            if one.name not in _OF_AIRFLOW:
                yield from _modules(one, f"{name}/")
        elif name.endswith(".py"):
            yield name, one
