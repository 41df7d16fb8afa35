"""A recorded run, and the questions that it answers: its rows, its columns, why, and why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.explanation import RunSummary
from airflow_lineage_provider.answers.storage import (
    RecordedUdf,
    SegmentNotStored,
    StoredTable,
    recorded_udfs,
    segments_not_stored,
    stored_tables,
)
from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.asking import Asking
from airflow_lineage_provider.both_ways import LineageOfRows
from airflow_lineage_provider.captured_run import CapturedLineageOfRun
from airflow_lineage_provider.errors import InvalidOption, ResultNotStored, SparkRequired
from airflow_lineage_provider.explained_in_chunks import ExplanationsInChunks
from airflow_lineage_provider.explained_run import Target
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.progress import Progress, unwatched
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.renamed import renamed
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.sketched_run import SketchesOfRun
from airflow_lineage_provider.tracing.columns.lineage import ColumnLineage, column_lineage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from airflow_lineage_provider.deriving.result_page import PageWanted, ResultPage
    from airflow_lineage_provider.deriving.target_rows import RowNumbers
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.spark.executing.run import Execution

WHY_NOT_LIMIT = 100
"""So many source rows `Run.why_not` follows, unless it is told otherwise."""


class Run(ExplanationsInChunks, LineageOfRows, CapturedLineageOfRun, SketchesOfRun):
    """A recorded run."""

    def __init__(self, lineage: Lineage, record: RunRecord, *, execution: Execution | None = None, result: DataFrame | None = None) -> None:
        self._lineage = lineage
        self._execution = execution
        self._result = result
        self._asking = Asking(lineage, record)

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def summary(self) -> RunSummary:
        return summary_of(self.record)

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.record.pipeline}: {self.record.status}>"

    @property
    def lineage_lost(self) -> str:
        """Why the run has a result and no lineage; empty where it has."""
        return (self.record.error or "its lineage is lost") if self.record.status == "incomplete" else ""

    @property
    def plan(self) -> RecordedPlan:
        """The run's plan as recorded.

        :raises RunNotComplete: the run failed, was dropped, is still going, or its lineage was lost.
        """
        return self._asking.plan

    @property
    def result(self) -> DataFrame:
        """The result as a Spark frame: the very rows that were computed, in their order, from Spark's memory or from the store.

        :raises SparkRequired: there is no session. :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises ResultNotStored: the run's strategy did not store it, and it was not made here.
        """
        from airflow_lineage_provider.plan.lineage_keys import ROW
        from airflow_lineage_provider.spark.executing.run import result_frame
        from airflow_lineage_provider.spark.executing.stored_rows import read_materialization

        if self._result is None:
            if self._lineage.spark is None:
                raise SparkRequired("the result as a Spark frame needs a Spark session: Lineage(spark); or use result_table()")
            plan = self._with_result()
            stored = self._lineage.lasting(lambda: self._lineage.store.materializations(self.id))["result"]
            names = dict(plan.materialized[0].columns)
            frame = read_materialization(self._lineage.spark, self._lineage.store, stored).orderBy(ROW)
            self._result = result_frame(frame, tuple(names[a.id] for a in plan.plan.output), plan.plan.names)
        return self._result

    def result_table(self, limit: int | None = None) -> pa.Table:
        """The result, or its first ``limit`` rows, as an Arrow table; no Spark needed where it is stored.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises ResultNotStored: the run's strategy did not store it, and it was not made here.
        """
        from airflow_lineage_provider.deriving.stored_tables import StoredTables
        from airflow_lineage_provider.plan.lineage_keys import ROW

        check_options({"rows": limit})
        if self._result is not None and (self.lineage_lost or 0 not in self.plan.materialized):
            from airflow_lineage_provider.spark.arrow_border import to_arrow

            frame = self._result if limit is None else self._result.limit(limit)
            return to_arrow(frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))).rename_columns(frame.columns)
        plan = self._with_result()
        stored = self._lineage.lasting(lambda: self._lineage.store.materializations(self.id))["result"]
        names = dict(plan.materialized[0].columns)
        columns = [names[a.id] for a in plan.plan.output]
        chosen = [*dict.fromkeys(columns), ROW]
        spark = self._asking.on_demand(plan, {"result": stored}, lambda _: None)

        def first() -> pa.Table:
            store = self._lineage.store
            return StoredTables(store, store, spark, self._lineage.query_seconds).first(stored, chosen, limit)

        rows = self._lineage.lasting(first)
        return rows.select([rows.column_names.index(name) for name in columns]).rename_columns(list(plan.plan.names))

    def _with_result(self) -> RecordedPlan:
        plan = self.plan
        if 0 not in plan.materialized:
            written = f"it was written to {self.record.output.target}" if self.record.output else "run it again to have it"
            raise ResultNotStored(f"run {self.id} did not store its result (strategy {self.record.strategy}): {written}")
        return plan

    @property
    def stored(self) -> tuple[StoredTable, ...]:
        """What the run stored, how large it is, and why. From the catalog: no Spark.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return self._lineage.lasting(lambda: stored_tables(self._lineage.store, self.record, self.plan))

    @property
    def not_stored(self) -> tuple[SegmentNotStored, ...]:
        """The segments that the run did not store, and why.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return segments_not_stored(self.record, self.plan)

    @property
    def udfs(self) -> tuple[RecordedUdf, ...]:
        """The UDFs of the run, and where a derivation will find each: in its module, in the store (kept with the run), or nowhere."""
        return recorded_udfs(self.record)

    def columns(self, *, by_leaf: bool = False, across: bool = False) -> ColumnLineage:
        """For each column of the result the source columns that it is computed from, and those that only influence it.

        Read from the recorded plan: no Spark, no rows. A table that the pipeline reads twice is one, unless ``by_leaf``. ``across`` joins
        the plans of the runs behind it at the tables that pass between them, and the source columns are those of tables that no recorded
        run wrote; a table is where it ends, too, when the run that wrote it was dropped or has lost its lineage.

        :raises InvalidOption: ``by_leaf`` and ``across``: the leaves are those of one plan.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        check_options({"across": across})
        if not across:
            return column_lineage(self.plan.plan, by_leaf=by_leaf)
        if by_leaf:
            raise InvalidOption("by_leaf=True tells the leaves of one plan apart, and across=True joins the plans of several runs")
        from airflow_lineage_provider.deriving.across.columns import columns_across
        from airflow_lineage_provider.deriving.known_runs import KnownRuns

        def asked() -> ColumnLineage:
            with self._asking.session() as session:
                return columns_across(KnownRuns(self._lineage.store, session), self.id, self._lineage.may_read)

        self._asking.check_complete()
        return self._lineage.lasting(asked)

    def page(self, wanted: PageWanted) -> ResultPage:
        """A page of the result's rows, without Spark: those that meet a predicate, in the order of columns.

        :raises RunNotComplete: the run failed, was dropped, or is still going. :raises ResultNotStored: its strategy did not store it.
        :raises InvalidTarget: the predicate does not parse, or a column is not there.
        :raises SparkRequired: only Spark can evaluate the predicate, reach the rows, or sort them.
        :raises AnswerTooLarge: the rows are more bytes than they may be.
        """
        from airflow_lineage_provider.deriving.known_runs import KnownRuns
        from airflow_lineage_provider.deriving.result_page import result_page

        def asked() -> ResultPage:
            with self._asking.session() as session:
                known = KnownRuns(self._lineage.store, session, apart=True)
                return result_page(self._asking.asked(unwatched, Secrets(), known), wanted)

        self._asking.check_complete()
        return self._lineage.lasting(asked)

    def numbered(self, numbers: Sequence[int]) -> RowNumbers:
        """Rows of the result by the numbers that a `page` has, to be explained: as a target, and no other way.

        :raises RunNotComplete, ResultNotStored: as `page`.
        """
        from airflow_lineage_provider.deriving.stored_tables import StoredTables
        from airflow_lineage_provider.deriving.target_rows import RowNumbers

        def asked() -> list[int]:
            stored = self._lineage.store.materializations(self.id)
            with self._asking.session() as session:
                spark = self._asking.on_demand(plan, stored, unwatched)
                tables = StoredTables(self._lineage.store, session, spark, self._lineage.query_seconds)
                return tables.positions_of(stored["result"], numbers)

        plan = self._with_result()
        return RowNumbers(tuple(numbers), tuple(self._lineage.lasting(asked)))

    def why_not(
        self,
        rows: Target | None = None,
        *,
        at: int | Sequence[int] | str | None = None,
        table: str | None = None,
        max_rows: int | None = None,
        save: bool = False,
        context: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
        limit: int | None = None,
    ) -> WhyNot:
        """What became of source rows: which operator dropped them, or that they are in the lineage of the result.

        ``rows`` is a predicate over the columns of a source table, or rows, as `explain` takes them; ``table`` names the table as
        `Explanation.source` does, and may be left out where one table alone has all the columns. In place of rows, ``at`` names them by
        their positions in the table, counted from 0: a Parquet table has its files in the order of their paths, another the order of its
        key, or of the copy that the run stored. ``max_rows`` is the most rows that the question may match
        (`WHY_NOT_LIMIT`; ``limit`` is its old name).

        A row of an operator's output *descends* from a source row when the source row is in its source lineage: rows live on in what is
        projected, selected and joined from them, in their group, in the frames of windows that see them, and on the right side of a
        semi-join in the left rows that found them. The right side of a difference has no descendants. Each place where the plan reads
        the table is a way of its own (a self-join has two). For each row and way the answer has the operators from the table to the result
        with the number of descendants at each, and where there are none at the end, the last operator with a descendant, the first
        without, and why. Values of UDFs, and rows that could not be chosen again (a limit), are those of the run, as it stored them.
        ``save`` keeps the answer in the store: its ``id`` finds it again (`Lineage.answer`), and ``context`` is kept with it, as of
        `explain`. ``params`` gives secret parameters of the run again.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the question cannot be answered as it is asked.
        :raises StoreNotPermitted: the answer is to be kept, and the store's user may only read.
        :raises SparkRequired: there is no session. :raises SourceUnavailable: a source has vanished, or under strategies rerun and auto
            has changed, so that a rerun would be of other data.
        :raises UnsupportedOperator, TracingError: an operator does not tell what it makes of which row, or the run did not store it.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.why_not.why_not import why_not

        max_rows = renamed("max_rows", max_rows, "limit", limit)
        check_options({"table": table, "max_rows": max_rows, "save": save, "params": params, "context": context})
        most = WHY_NOT_LIMIT if max_rows is None else max_rows
        if save:
            self._asking.check_may_keep()
        found = self._asking.answered(
            "why not,", params, progress, lambda run: why_not(run, rows, table, at=at, summary=self.summary, limit=most)
        )
        return self._asking.kept(found, context) if save else found

    def close(self) -> None:
        """Let Spark forget the rows that it keeps for ``result``; what is stored stays."""
        if self._execution is not None:
            self._execution.close()
            self._execution = None
        self._result = None
