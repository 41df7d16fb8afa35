"""Bytes of files on file systems that Spark reaches: written and read by the driver, through Hadoop's client and its credentials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.jvm_classes import java_class

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_AT_ONCE = 8 << 20
"""Bytes that go over the socket between Python and Java in one call, as text that is a third longer."""


def write(spark: SparkSession, uri: str, pieces: Iterable[bytes]) -> None:
    """Write a file, in place of one that is there.

    :raises OSError: it cannot be written, or is shorter than what was.
    """
    with _java_errors():
        system, path = _found(spark, uri)
        written = 0
        with closing(system.create(path, True)) as out:
            for piece in pieces:
                for at in range(0, len(piece), _AT_ONCE):
                    some = piece[at : at + _AT_ONCE]
                    out.write(bytearray(some), 0, len(some))
                written += len(piece)
        there = int(system.getFileStatus(path).getLen())
    if there != written:
        raise OSError(f"{uri} has {there:,} of {written:,} bytes")


def read(spark: SparkSession, uri: str, ranges: Sequence[tuple[int, int]]) -> tuple[int, list[bytes]]:
    """How many bytes a file has, and ranges of them, each with its beginning and its length; a shorter one where the file ends.

    :raises FileNotFoundError: there is none. :raises OSError: it cannot be read.
    """
    with _java_errors():
        system, path = _found(spark, uri)
        size = int(system.getFileStatus(path).getLen())
        with closing(system.open(path)) as file:
            return size, [_range(file, at, length) for at, length in ranges]


def _range(file: JavaObject, at: int, length: int) -> bytes:
    file.seek(at)
    return b"".join(bytes(file.readNBytes(min(_AT_ONCE, length - done))) for done in range(0, length, _AT_ONCE))


def file_system(spark: SparkSession, path: JavaObject) -> JavaObject:
    """Hadoop's client of the file system that a path is on, with the session's settings."""
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


def _found(spark: SparkSession, uri: str) -> tuple[JavaObject, JavaObject]:
    path = java_class(spark, "org.apache.hadoop.fs.Path")(uri)
    return file_system(spark, path), path


@contextmanager
def _java_errors() -> Iterator[None]:
    """Errors of Hadoop's as Python's own of files."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as problem:
        java = getattr(problem, "java_exception", None)
        is_gone = java is not None and java.getClass().getSimpleName() in ("FileNotFoundException", "NoSuchFileException")
        raise (FileNotFoundError if is_gone else OSError)(first_line(problem)) from problem
