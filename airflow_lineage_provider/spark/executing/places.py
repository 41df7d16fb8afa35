"""A place that files are written to: of this machine it is asked itself, of any other Hadoop, which answers thing by thing through Java."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from airflow_lineage_provider.spark.file_access import file_system
from airflow_lineage_provider.spark.jvm_classes import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = "file:/"


class Place(Protocol):
    """A file or a folder, or where one may be. What is asked may fail: by `OSError`, or as Java fails."""

    def __str__(self) -> str:
        """Its name, with the file system's where that is not this machine's."""

    def exists(self) -> bool:
        """Whether something is there."""

    def is_folder(self) -> bool:
        """Whether what is there is a folder."""

    def above(self) -> Place | None:
        """The folder that it is in; None of the topmost."""

    def takes_folder(self, name: str) -> bool:
        """Whether a folder can be made in it: it is made and taken away again. Where it cannot, this may fail as well."""


def place_of(spark: SparkSession, path: str) -> Place:
    """:raises Py4JJavaError: no file system is known for it, or it is no path."""
    place = java_class(spark, "org.apache.hadoop.fs.Path")(path)
    files = file_system(spark, place)
    place = files.makeQualified(place)
    name = str(place.toString())
    return LocalPlace(Path(name.removeprefix("file:"))) if name.startswith(_HERE) else _HadoopPlace(files, place)


@dataclass(frozen=True)
class LocalPlace:
    """A place of this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        """As `Place` has it."""
        return self.path.exists()

    def is_folder(self) -> bool:
        """As `Place` has it."""
        return self.path.is_dir()

    def above(self) -> Place | None:
        """As `Place` has it."""
        return None if self.path.parent == self.path else LocalPlace(self.path.parent)

    def takes_folder(self, name: str) -> bool:
        """As `Place` has it."""
        (self.path / name).mkdir()
        (self.path / name).rmdir()
        return True


@dataclass(frozen=True)
class _HadoopPlace:
    files: Any
    place: Any

    def __str__(self) -> str:
        return str(self.place.toString())

    def exists(self) -> bool:
        return bool(self.files.exists(self.place))

    def is_folder(self) -> bool:
        return bool(self.files.getFileStatus(self.place).isDirectory())

    def above(self) -> Place | None:
        above = self.place.getParent()
        return None if above is None else _HadoopPlace(self.files, above)

    def takes_folder(self, name: str) -> bool:
        trial = self.files.makeQualified(self.place.suffix(f"/{name}"))
        made = bool(self.files.mkdirs(trial))
        if made:
            self.files.delete(trial, True)
        return made
