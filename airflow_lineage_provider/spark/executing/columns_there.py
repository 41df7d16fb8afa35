"""The columns of the files at a place: Spark runs a job to find them, but those that it wrote, on this machine, say them in a footer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from airflow_lineage_provider.spark.executing.places import LocalPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from airflow_lineage_provider.spark.executing.places import Place

_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


def columns_there(spark: SparkSession, place: Place, path: str, format: str) -> StructType | None:
    """Names and types; which of them may be NULL is not told. None where there are no files.

    :param place: the path's. :raises PySparkException, Py4JJavaError: they cannot be read.
    """
    if isinstance(place, LocalPlace) and format.lower() == "parquet" and spark.conf.get("spark.sql.parquet.mergeSchema") == "false":
        found = _of_footer(place.path)
        if found is not None:
            return found
    try:
        return spark.read.format(format).load(path).schema
    except PySparkException as error:
        if error.getCondition() in ("UNABLE_TO_INFER_SCHEMA", "EMPTY_SCHEMA_NOT_SUPPORTED_FOR_DATASOURCE"):
            return None
        raise


def _of_footer(folder: Path) -> StructType | None:
    """Of the file that Spark would look into, which is the first; None where it would look further, or the file is not Spark's."""
    import pyarrow as pa
    from pyarrow import parquet
    from pyspark.sql.types import StructType

    first = _first_file(folder)
    if first is None:
        return None
    try:
        written = (parquet.read_metadata(first).metadata or {}).get(_SCHEMA)
        return None if written is None else StructType.fromJson(json.loads(written))
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, ImportError, AttributeError):
        return None


def _first_file(folder: Path) -> str | None:
    """None where there is none, or there are others than plain files: folders of partitions, a summary of all files."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for one in entries:
                if one.name.startswith((".", "_SUCCESS", "_temporary")):
                    continue
                # Spark sees some of what begins so, and not others.
                if one.name.startswith("_") or one.name.endswith("._COPYING_") or not one.is_file():
                    return None
                names.append(one.name)
    except OSError:
        return None
    return str(folder / min(names)) if names else None
