"""Rows of lineage read again for a further run: these rows alone, of the table as it was when the run that was asked read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SourceUnavailable
from airflow_lineage_provider.spark.capturing.lineage_sources import LineageSource, keys_frame, marked_table
from airflow_lineage_provider.spark.frames import columns_named
from airflow_lineage_provider.spark.identity import among, with_identity
from airflow_lineage_provider.spark.rereading.sources import changed, files_as_read, reopen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of_rows(spark: SparkSession, source: LineageSource) -> DataFrame:
    """The rows, with the columns of their table.

    :raises SourceUnavailable: the table is no longer what the run read, or its columns are no longer those of its files.
    """
    recorded = source.source
    relation = recorded.source.relation
    differences, files = changed(relation, recorded.version, spark), files_as_read(relation, recorded.version, spark)
    told = f"{source.name} is to be rows of {relation.name} as run {source.of.run} read it"
    if differences and files is None:
        raise SourceUnavailable(f"{told}, and {relation.name} is another now: {differences[0]}")
    table = marked_table(spark, reopen(spark, recorded.source, files=files), source)
    if table is None:
        raise SourceUnavailable(f"{told}, and the columns of {relation.name} are no longer those of its files")
    rows = among(with_identity(table, recorded.identity), recorded.identity, keys_frame(spark, source))
    return columns_named(rows, recorded.source.columns)
