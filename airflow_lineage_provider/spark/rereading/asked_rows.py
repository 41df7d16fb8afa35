"""Source rows that a person asks about, read through Spark with their lineage keys."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from airflow_lineage_provider.plan.expressions import Expression
from airflow_lineage_provider.recording import RecordedSource
from airflow_lineage_provider.spark.arrow_border import arrow_frame, to_arrow
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.rereading.tracing import SparkTracing, Views, spark_errors
from airflow_lineage_provider.sql import ColumnRef, lower_expression

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def asked_rows(tracing: SparkTracing, source: RecordedSource, condition: Expression, most: int) -> pa.Table:
    """At most ``most`` rows that meet a condition: ``key_0`` … (the lineage key), ``copies`` (rows that share it), the table's columns.

    :raises SourceUnavailable: the source has vanished or cannot be read. :raises TracingError: Spark failed otherwise.
    """
    with ExitStack() as stack:
        frame, keys = source_frame(tracing, source, stack)
        columns = {a.id: ColumnRef(text=f"c{i}") for i, a in enumerate(source.source.output)}
        text = lower_expression(condition, columns, dialect="spark", ansi=tracing.recorded.ansi)
        chosen = _by_key(frame.where(text), keys, source)
        return to_arrow(chosen.orderBy(*_named_keys(keys)).limit(most))


def rows_at(tracing: SparkTracing, source: RecordedSource, positions: Sequence[int]) -> pa.Table:
    """The rows at these positions of the table, as `asked_rows` gives them; fewer where the table has not so many.

    A table of files has the order of the files' paths, and in each file its own; other tables have the order of their lineage key.

    :raises SourceUnavailable: the source has vanished or cannot be read. :raises TracingError: Spark failed otherwise.
    """
    import pyarrow as pa

    with ExitStack() as stack:
        frame, keys = source_frame(tracing, source, stack)
        chosen, names = _by_key(frame, keys, source), _named_keys(keys)
        order = names
        if source.identity.kind == "file_position":
            chosen, order = chosen.join(F.broadcast(_ranks(tracing, source)), names[0], "left"), ["rank", *names[1:]]
        first = chosen.orderBy(*order).limit(max(positions) + 1)
        numbered = first.withColumn("place", F.row_number().over(Window.orderBy(*order)) - 1)
        # (A table, and no list of constants: there may be very many.)
        wanted = arrow_frame(tracing.spark, pa.table({"place": pa.array(positions, pa.int64())}), ["bigint"]).toDF("place")
        found = numbered.join(wanted, "place", "left_semi").orderBy("place")
        return to_arrow(found.drop("place", "rank"))


def _ranks(tracing: SparkTracing, source: RecordedSource) -> DataFrame:
    """Each file's hash, and its place in the order of the paths."""
    import pyarrow as pa

    by_path = sorted(source.files, key=lambda number: source.files[number])
    ranks = pa.table({"key_0": pa.array([int(number) for number in by_path], pa.int64()), "rank": list(range(len(by_path)))})
    return tracing.spark.createDataFrame(ranks)


def _by_key(frame: DataFrame, keys: list[str], source: RecordedSource) -> DataFrame:
    names = [f"c{i}" for i in range(len(source.source.columns))]
    found = frame.groupBy(*keys).agg(F.count(F.lit(1)).alias("copies"), F.first(F.struct(*names)).alias("row"))
    return found.select(*(F.col(key).alias(f"key_{i}") for i, key in enumerate(keys)), "copies", "row.*")


def _named_keys(keys: list[str]) -> list[str]:
    return [f"key_{i}" for i in range(len(keys))]


def count_rows(tracing: SparkTracing, source: RecordedSource) -> int:
    """The number of the source's rows."""
    with ExitStack() as stack:
        return int(source_frame(tracing, source, stack)[0].count())


def source_frame(tracing: SparkTracing, source: RecordedSource, stack: ExitStack) -> tuple[DataFrame, list[str]]:
    """The source's rows under numbered columns, the table's first, and the columns of the lineage key."""
    stack.enter_context(under_settings(tracing.spark, dict(tracing.recorded.plan.conf)))
    stack.enter_context(spark_errors(f"reading the rows of {source.source.relation.name}"))
    table = tracing.leaf_table(("source", source.source.leaf), Views(tracing.spark, "asked", stack))
    frame = tracing.spark.table(table.name[0])
    keys = [f"c{frame.columns.index(column.name)}" for column in source.identity.columns]
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))), keys
