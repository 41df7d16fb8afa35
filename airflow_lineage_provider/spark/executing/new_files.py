"""A source by its files: those that came since a sketch of it was captured, and the others.

Spark reads only the files that a condition on ``_metadata.file_path`` leaves, as it skips those of other partitions. It cannot when the
condition is one of two that are connected by OR; so what is read of both kinds is the union of two scans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.sql import functions as F

from airflow_lineage_provider.spark.arrow_border import to_arrow
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.identity import input_files
from airflow_lineage_provider.spark.session import PARSER, apply_conf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def named_as_read(frame: DataFrame, files: Sequence[str]) -> tuple[str, ...] | None:
    """Files of a version as ``_metadata.file_path`` names them, its letters escaped; None where Spark does not read one of them."""
    named = {unquote(path): path for path in input_files(frame)}
    found = tuple(named[one] for one in files if one in named)
    return found if len(found) == len(files) else None


def of_files(frame: DataFrame, files: Sequence[str]) -> DataFrame:
    """The rows of these files."""
    return frame.where(_path().isin(list(files)))


def of_other_files(frame: DataFrame, files: Sequence[str]) -> DataFrame:
    """The rows of all other files."""
    return frame.where(~_path().isin(list(files)))


def _path() -> Column:
    return F.col("_metadata.file_path")


def counted_values(frame: DataFrame, columns: Sequence[str], most: int) -> tuple[list[Any], int] | None:
    """The values of a column (tuples of them, of several), each once, and how many rows there are; None where there are more than ``most``
    values."""
    with apply_conf(frame.sparkSession, PARSER):
        values = [F.col(quoted(name)).alias(f"value_{at}") for at, name in enumerate(columns)]
        found = to_arrow(frame.groupBy(*values).agg(F.count(F.lit(1)).alias("rows")).limit(most + 1))
    if found.num_rows > most:
        return None
    *of_columns, rows = (one.to_pylist() for one in found.columns)
    return (of_columns[0] if len(columns) == 1 else list(zip(*of_columns, strict=True))), sum(rows)
