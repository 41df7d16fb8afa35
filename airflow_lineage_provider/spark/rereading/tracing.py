"""Tracing queries in Spark: over sources as they can be read again, and materializations read from the store by the executors."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import SourceUnavailable, TracingError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.lineage_keys import ROW, AnyNumbers
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.arrow_border import arrow_frame, to_arrow
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.executing.stored_rows import read_materialization
from airflow_lineage_provider.spark.frames import columns_named, renamed
from airflow_lineage_provider.spark.identity import among, with_identity
from airflow_lineage_provider.spark.rereading.sources import files_as_read, reopen
from airflow_lineage_provider.spark.selected import names_as_read, selected_by
from airflow_lineage_provider.spark.session import carefully
from airflow_lineage_provider.sql import ColumnRef, lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind, leaf_keys, target_leaf, target_table
from airflow_lineage_provider.tracing.push_down import narrowed
from airflow_lineage_provider.tracing.reserved import TARGET

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.sketches.use import Selection
    from airflow_lineage_provider.store import Materialization, Store

    Selections = Mapping[int, tuple[str, Selection]]
    """By leaf, of which column."""


class SparkTracing:
    """Runs tracing queries and reads source rows in Spark, for one recorded run, under the session settings of the run."""

    def __init__(
        self,
        spark: SparkSession,
        store: Store,
        recorded: RecordedPlan,
        stored: Mapping[str, Materialization],
        restored: Mapping[int, LeafTable] | None = None,
        through: Selections | None = None,
    ) -> None:
        """``restored`` are views over the segments that the run did not store and that were made again (`spark.rereading.restore`);
        ``through`` are selections of all rows that tracing queries need of sources."""
        self.spark = spark
        self.store = store
        self.recorded = recorded
        self.stored = stored
        self.restored = restored or {}
        self.through = through or {}

    def query(self, plan: o.Plan, target: pa.Table) -> tuple[pa.Table, str]:
        """Execute a tracing query: its rows and the SQL that was run.

        :raises SourceUnavailable: a source that it reads has vanished or cannot be read. :raises TracingError: Spark failed otherwise.
        """
        with ExitStack() as stack:
            stack.enter_context(self.settings())
            stack.enter_context(spark_errors("a tracing query"))
            views = Views(self.spark, "tracing", stack)
            plan = narrowed(plan, target)
            tables = {key: self.leaf_table(key, views) for key in leaf_keys(plan) if key != ("segment", TARGET)}
            tables["segment", TARGET] = self._target(plan, target, views)
            text = lower(plan, bind(plan, tables), dialect="spark", ansi=self.recorded.ansi)
            return carefully(self.spark, lambda: to_arrow(self.spark.sql(text))), text

    def source_rows(self, recorded: RecordedSource, keys: pa.Table) -> pa.Table:
        """The source rows with the given keys: the key's columns as ``key_0`` …, then the table's, in the table's order.

        :raises SourceUnavailable: the source has vanished or cannot be read.
        """
        name = recorded.source.relation.name
        with self.settings(), spark_errors(f"reading the rows of {name}", SourceUnavailable):
            frame = self.as_read(recorded)
            names = [column.name for column in recorded.identity.columns]
            positions = [frame.columns.index(name) for name in names]
            numbered = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
            wanted = arrow_frame(self.spark, keys, [column.type for column in recorded.identity.columns]).toDF(*keys.column_names)
            condition = [numbered[f"c{at}"].eqNullSafe(wanted[f"key_{i}"]) for i, at in enumerate(positions)]
            joined = numbered.join(wanted.hint("broadcast"), condition, "inner")
            columns = [f"key_{i}" for i in range(len(names))] + [f"c{i}" for i in range(len(recorded.source.columns))]
            return to_arrow(joined.select(*columns))

    def as_read(self, recorded: RecordedSource) -> DataFrame:
        """A source with its lineage key: without the files that were added after the run."""
        files = files_as_read(recorded.source.relation, recorded.version, self.spark)
        return with_identity(reopen(self.spark, recorded.source, files=files), recorded.identity)

    def _rows_read(self, recorded: RecordedSource) -> DataFrame:
        """The same, and of a source of which some rows alone were read, these."""
        whole, rows_of = self.as_read(recorded), recorded.rows_of
        if rows_of is None:
            return whole
        stored = read_materialization(self.spark, self.store, self.stored[rows_of.stored])
        keys = columns_named(stored, [column.name for column in recorded.identity.columns])
        return among(whole, recorded.identity, renamed(keys, [f"lineage_key_{at}" for at in range(len(keys.columns))]))

    def filter(self, materialization: Materialization, frame_filter: Callable[[DataFrame], DataFrame]) -> pa.Table:
        """The stored rows that a filter leaves.

        :raises TracingError: Spark failed.
        """
        with self.settings(), spark_errors("finding the target rows"):
            return to_arrow(frame_filter(read_materialization(self.spark, self.store, materialization)))

    def rows(self, materialization: Materialization, columns: Sequence[str], numbers: AnyNumbers) -> pa.Table:
        """The stored rows with these numbers, in the order of their numbers.

        :raises TracingError: Spark failed.
        """
        import pyarrow as pa

        with self.settings(), spark_errors("reading stored rows"):
            wanted = arrow_frame(self.spark, pa.table({"number": pa.array(numbers, pa.int64())}), ["bigint"]).toDF("wanted_number")
            frame = read_materialization(self.spark, self.store, materialization)
            found = frame.join(wanted.hint("broadcast"), frame[ROW] == wanted["wanted_number"], "left_semi")
            return to_arrow(columns_named(found.orderBy(ROW), columns))

    def first(self, materialization: Materialization, columns: Sequence[str], limit: int | None) -> pa.Table:
        """The first stored rows, or all, in the order of their numbers.

        :raises TracingError: Spark failed.
        """

        def ordered(frame: DataFrame) -> DataFrame:
            rows = columns_named(frame.orderBy(ROW), columns)
            return rows if limit is None else rows.limit(limit)

        return self.filter(materialization, ordered)

    def settings(self) -> AbstractContextManager[None]:
        """The session under the settings of the run."""
        return under_settings(self.spark, dict(self.recorded.plan.conf))

    def _target(self, plan: o.Plan, target: pa.Table, views: Views) -> LeafTable:
        types = [a.type for a in target_leaf(plan, TARGET).output]
        frame = arrow_frame(self.spark, target, types)
        return target_table(plan, TARGET, (views.add(frame, "target"),), frame.columns)

    def leaf_table(self, key: Key, views: Views) -> LeafTable:
        """A view over a source, as it can be read again with its lineage key, or over a segment's rows."""
        kind, number = key
        if kind == "segment":
            if number in self.restored:
                # Not a view of the query's own: Spark forgets a kept frame when a view over it is dropped.
                return self.restored[number]
            segment = self.recorded.materialized[number]
            name = views.add(read_materialization(self.spark, self.store, self.stored[segment.name]), segment.name)
            return LeafTable(name=(name,), by_id={i: ColumnRef(text=column) for i, column in segment.columns}, label=segment.name)
        recorded = self.recorded.sources[number]
        if recorded.identity.kind == "snapshot":
            frame = read_materialization(self.spark, self.store, self.stored[f"source_{number}"])
        else:
            frame = self._rows_read(recorded)
            if number in self.through:
                column, selection = self.through[number]
                frame = selected_by(frame, selection, column) if names_as_read(frame, selection) else frame
        return LeafTable(name=(views.add(frame, f"source_{number}"),), label=recorded.source.relation.name)


class Views:
    """Temporary views with names that no other thread of the session uses, dropped when the stack is closed."""

    def __init__(self, spark: SparkSession, purpose: str, stack: ExitStack) -> None:
        self.prefix = f"lineage_{purpose}_{uuid.uuid4().hex[:12]}"
        self._spark = spark
        self._stack = stack

    def add(self, frame: DataFrame, name: str) -> str:
        full = f"{self.prefix}_{name}"
        self._stack.callback(self._drop, full)
        frame.createOrReplaceTempView(full)
        return full

    def _drop(self, name: str) -> None:
        # Catalog.dropTempView would also make Spark forget the rows that it keeps of the frame (persist), which outlive this view:
        # computed once more they may have other row numbers.
        self._spark._jsparkSession.sessionState().catalog().dropTempView(name)


@contextmanager
def spark_errors(doing: str, kind: type[TracingError] = TracingError) -> Iterator[None]:
    """Spark's own errors as one of this package's.

    :raises TracingError: or the given kind of it, with Spark's error chained.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as problem:
        raise kind(f"{doing} failed in Spark: {first_line(problem)}") from problem
