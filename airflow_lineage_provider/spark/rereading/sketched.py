"""What a sketch is made of, read through Spark: the values of one column of a source, and how many rows a sketch has."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from airflow_lineage_provider.spark.arrow_border import arrow_frame, to_arrow
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.rereading.tracing import Views, spark_errors
from airflow_lineage_provider.spark.selected import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.sketches.use import Selection
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

_SEED = 1


class SketchedColumn:
    """One column of a source, as the run read it; closed with the stack.

    Every method raises SourceUnavailable where the source has vanished, and TracingError where Spark failed otherwise.
    """

    def __init__(self, tracing: SparkTracing, source: RecordedSource, column: str, stack: ExitStack) -> None:
        stack.enter_context(under_settings(tracing.spark, dict(tracing.recorded.plan.conf)))
        stack.enter_context(spark_errors(f"reading column {column} of {source.source.relation.name}"))
        self._tracing, self._source, self._name = tracing, source, column
        table = tracing.leaf_table(("source", source.source.leaf), Views(tracing.spark, "sketch", stack))
        self._frame = tracing.spark.table(table.name[0])
        self._column = F.col(quoted(column))

    def behind(self, keys: pa.Table) -> list[Any]:
        """The values of the rows with these lineage keys, each once."""
        identity = self._source.identity.columns
        wanted = arrow_frame(self._tracing.spark, keys, [one.type for one in identity])
        named = wanted.toDF(*(f"lineage_wanted_{at}" for at in range(len(identity))))
        same = [self._frame[quoted(one.name)].eqNullSafe(named[f"lineage_wanted_{at}"]) for at, one in enumerate(identity)]
        return _values(self._frame.join(named, same, "left_semi").select(self._column.alias("value")).distinct())

    def all_values(self, most: int) -> list[Any] | None:
        """The values of the column, each once; None where there are more."""
        found = _values(self._frame.select(self._column.alias("value")).distinct().limit(most + 1))
        return found if len(found) <= most else None

    def count(self) -> int:
        """How many rows there are."""
        return self._frame.count()

    def sampled(self, share: float) -> list[Any]:
        """The values of such a share of the rows, drawn at random; the same ones each time."""
        frame = self._frame if share >= 1.0 else self._frame.sample(fraction=share, seed=_SEED)
        return _values(frame.select(self._column.alias("value")))

    def counted(self, selection: Selection | None) -> tuple[int, int]:
        """How many rows are selected by their values, and how many there are."""
        return counted(self._frame, selection, self._name)


def _values(frame: DataFrame) -> list[Any]:
    return list(to_arrow(frame).column(0).to_pylist())
