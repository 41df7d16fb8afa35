"""What a sketch is made of, read through Spark: the values of one column of a source, or of several, and how many rows a sketch has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.files import of_files
from airflow_lineage_provider.spark.arrow_border import arrow_frame, to_arrow
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.fragment_numbers import with_fragments
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.identity import FILE
from airflow_lineage_provider.spark.rereading.tracing import Views, spark_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.sketches.numbering import AnyNumbering
    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing

_SEED = 1
_ASKED, _NUMBER = "lineage_asked", "lineage_number"


class FrameColumn:
    """One column of a frame, or several, whose values are tuples (`sketches.column_text`); each question reads it once."""

    def __init__(self, frame: DataFrame, column: str) -> None:
        self._frame, names = frame, columns_in(column, frame.columns)
        self._columns = [F.col(quoted(name)).alias(f"value_{at}") for at, name in enumerate(names)]

    def all_values(self, most: int) -> list[Any] | None:
        """The values of the column, each once; None where there are more."""
        found = _values(self._frame.select(*self._columns).distinct().limit(most + 1))
        return found if len(found) <= most else None

    def count(self) -> int:
        """How many rows there are."""
        return self._frame.count()

    def sampled(self, share: float) -> list[Any]:
        """The values of such a share of the rows, drawn at random; the same ones each time."""
        frame = self._frame if share >= 1.0 else self._frame.sample(fraction=share, seed=_SEED)
        return _values(frame.select(*self._columns))


@contextmanager
def column_of(frame: DataFrame, column: str, conf: Mapping[str, str]) -> Iterator[FrameColumn]:
    """A column of a frame, to be read under the settings of a run.

    :raises TracingError: Spark fails.
    """
    with under_settings(frame.sparkSession, conf), spark_errors(f"reading column {column}"):
        yield FrameColumn(frame, column)


class SketchedColumn(FrameColumn):
    """One column of a source, as the run read it; closed with the stack.

    Every method raises SourceUnavailable where the source has vanished, and TracingError where Spark failed otherwise.
    """

    def __init__(self, tracing: SparkTracing, source: RecordedSource, column: str, stack: ExitStack) -> None:
        stack.enter_context(under_settings(tracing.spark, dict(tracing.recorded.plan.conf)))
        stack.enter_context(spark_errors(f"reading column {column} of {source.source.relation.name}"))
        self._tracing, self._source, self._name = tracing, source, column
        table = tracing.leaf_table(("source", source.source.leaf), Views(tracing.spark, "sketch", stack))
        super().__init__(tracing.spark.table(table.name[0]), column)

    def counted(self, how: AnyNumbering) -> dict[int, int]:
        """How many rows each fragment has that has any."""
        return {number: rows for number, rows, _ in self._by_fragment(self._frame.withColumn(_ASKED, F.lit(False)), how)}

    def behind(self, how: AnyNumbering, keys: pa.Table) -> tuple[frozenset[int], dict[int, int]]:
        """The fragments of the rows with these lineage keys, each of which is there once; and what `counted` says."""
        identity = self._source.identity.columns
        wanted = arrow_frame(self._tracing.spark, keys, [one.type for one in identity])
        named = wanted.toDF(*(f"lineage_wanted_{at}" for at in range(len(identity)))).withColumn(_ASKED, F.lit(True))
        same = [self._frame[quoted(one.name)].eqNullSafe(named[f"lineage_wanted_{at}"]) for at, one in enumerate(identity)]
        found = self._by_fragment(self._frame.join(named, same, "left"), how)
        return frozenset(number for number, _, asked in found if asked), {number: rows for number, rows, _ in found}

    def _by_fragment(self, frame: DataFrame, how: AnyNumbering) -> list[tuple[int, int, bool]]:
        """Number, rows, and whether one of them is asked about."""
        numbered = with_fragments(frame, self._name, how, _NUMBER)
        found = numbered.groupBy(_NUMBER).agg(F.count(F.lit(1)), F.max(F.coalesce(F.col(_ASKED), F.lit(False)))).collect()
        return [(int(row[0]), int(row[1]), bool(row[2])) for row in found]


class SketchedFiles(SketchedColumn):
    """The files of a source's rows, which their lineage keys tell; closed with the stack."""

    def __init__(self, tracing: SparkTracing, source: RecordedSource, stack: ExitStack) -> None:
        super().__init__(tracing, source, FILE, stack)
        fragments = of_files(source.files.values())
        self._fragments = {int(key): fragments.fragment_of(path) for key, path in source.files.items()}

    def counted(self, how: AnyNumbering) -> dict[int, int]:
        """How many rows each file has that has any."""
        return {self._fragments[int(row[0])]: int(row[1]) for row in self._frame.groupBy(FILE).agg(F.count(F.lit(1))).collect()}

    def behind(self, how: AnyNumbering, keys: pa.Table) -> tuple[frozenset[int], dict[int, int]]:
        """The files of the rows with these lineage keys; and what `counted` says."""
        return frozenset(self._fragments[key] for key in keys.column(0).unique().to_pylist()), self.counted(how)


def _values(frame: DataFrame) -> list[Any]:
    columns = [one.to_pylist() for one in to_arrow(frame).columns]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
