"""A table of the session, or a DataFrame, that a person hands in: its rows, where they are not too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidOption, SourceUnavailable
from airflow_lineage_provider.shown import first_line, shown
from airflow_lineage_provider.spark.arrow_border import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def named_rows(spark: SparkSession, name: str, most_rows: int) -> pa.Table:
    """The rows of a table or view.

    :raises InvalidOption: there is none, or it has more than ``most_rows`` rows. :raises SourceUnavailable: it cannot be read.
    """
    from pyspark.errors import PySparkException

    try:
        frame = spark.table(name)
    except PySparkException as problem:
        told = f"table={shown(name)} is neither a file here nor a table of the session"
        raise InvalidOption(f"{told}: {first_line(problem)}") from problem
    return rows_of(frame, most_rows)


def rows_of(frame: DataFrame, most_rows: int) -> pa.Table:
    """The rows of a DataFrame; one more than it may have is enough to refuse it.

    :raises InvalidOption: it has more than ``most_rows`` rows. :raises SourceUnavailable: it cannot be read.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        found = to_arrow(frame.limit(most_rows + 1).toDF(*(f"c{i}" for i in range(len(frame.columns)))))
    except (PySparkException, Py4JError) as problem:
        raise SourceUnavailable(f"the table cannot be read: {first_line(problem)}") from problem
    if found.num_rows > most_rows:
        raise InvalidOption(f"the table has more than {most_rows:,} rows, which is max_rows")
    return found.rename_columns(frame.columns)
