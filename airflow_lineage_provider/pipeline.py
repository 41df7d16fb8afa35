"""The facade: run a pipeline with lineage, and ask for the lineage of rows of its result (the paper's AL Manager).

>>> lineage = Lineage(spark)                                                        # doctest: +SKIP
>>> run = lineage.run(pipeline, params={"month": "2025-12"})                        # doctest: +SKIP
>>> run.explain("judge = 'Reject'").show()                                          # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import ResultNotStored, RunNotComplete, RunNotFound, SparkRequired
from airflow_lineage_provider.explanation import Difference, Explanation, Guarantee, RunSummary
from airflow_lineage_provider.output import Output
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.recording import read as read_record
from airflow_lineage_provider.storage import SegmentNotStored, StoredTable, segments_not_stored, stored_tables
from airflow_lineage_provider.store import RunRecord, Store
from airflow_lineage_provider.tracing.column_lineage import ColumnLineage, column_lineage
from airflow_lineage_provider.why_not import WhyNot

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.deriving.derive import Deriver
    from airflow_lineage_provider.spark.run import Execution

__all__ = ["ColumnLineage", "Explanation", "Guarantee", "Lineage", "Output", "Run", "RunSummary", "WhyNot"]

Progress = Callable[[str], None]

WHY_NOT_LIMIT = 100
"""So many source rows `Run.why_not` follows, unless it is told otherwise."""


class Lineage:
    """A results store and, where pipelines are run or Spark must answer, a Spark session.

    ``store`` is a PostgreSQL URL, an open `Store`, or None for `settings.store_url()` and then the embedded server.
    """

    def __init__(self, spark: SparkSession | None = None, *, store: str | Store | None = None) -> None:
        self.spark = spark
        self._owns_store = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else Store.open(store)

    def run(
        self,
        pipeline: Callable[..., DataFrame] | str,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        output: Output | str | None = None,
        strategy: str = "function_materialization",
        reasons: str = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        airflow: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Run:
        """Run a pipeline, a function ``(spark, **params) -> DataFrame`` or a SQL text, and record its lineage.

        The result is what the pipeline itself gives; it is written to ``output`` where one is given. ``strategy`` says what is stored
        (`tracing.strategies`): ``function_materialization``, ``rerun``, ``full_materialization`` or ``auto``. ``keys`` names the
        primary keys of source tables that have no better row identity (anything but Parquet).

        :raises SparkRequired: there is no session.
        :raises PlanError: the pipeline cannot be understood, or an option is wrong.
        :raises LineageError: the run failed; it is recorded as failed and nothing else of it is kept.
        """
        from airflow_lineage_provider.running import Request, execute

        if self.spark is None:
            raise SparkRequired("running a pipeline needs a Spark session: Lineage(spark)")
        request = Request(
            pipeline=pipeline,
            name=name or _pipeline_name(pipeline),
            params=params or {},
            output=None if output is None else Output.parse(output),
            strategy=strategy,
            reasons=reasons,
            keys=keys or {},
            airflow=airflow or {},
        )
        run_id, execution, result = execute(self.spark, self.store, request, progress or _silent)
        return Run(self, self.store.run(run_id), execution=execution, result=result)

    def runs(self, pipeline: str | None = None, limit: int = 50) -> list[RunSummary]:
        """The newest runs, newest first."""
        return [_summary(record) for record in self.store.runs(pipeline, limit)]

    def get(self, run_id: str = "latest", pipeline: str | None = None) -> Run:
        """A recorded run by its id (or an unambiguous beginning of it), or the latest complete one.

        :raises RunNotFound: there is none.
        """
        if run_id == "latest":
            return Run(self, self._latest(pipeline))
        try:
            return Run(self, self.store.run(run_id))
        except RunNotFound:
            found = [record for record in self.store.runs(pipeline, 10_000) if record.id.startswith(run_id)]
            if len(found) != 1:
                raise
            return Run(self, self.store.run(found[0].id))

    def _latest(self, pipeline: str | None) -> RunRecord:
        if pipeline is not None:
            return self.store.latest_run(pipeline)
        complete = [record for record in self.store.runs(None, 1_000) if record.status == "complete"]
        if not complete:
            raise RunNotFound("the results store has no complete run; run a pipeline first")
        return self.store.run(complete[0].id)

    def drop(self, run_id: str) -> None:
        """Drop a run's materializations and derivations; that there was a run stays known."""
        self.store.drop_run(self.get(run_id).id)

    def derivation(self, derivation_id: str) -> Explanation:
        """A stored derivation, as it was answered.

        :raises StoreError: there is none.
        """
        from airflow_lineage_provider.deriving.record import restored

        record = self.store.derivation(derivation_id)
        return restored(record, _summary(self.store.run(record.run_id)))

    def close(self) -> None:
        """Close the store's connections, when this object opened them."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Lineage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Run:
    """A recorded run."""

    def __init__(self, lineage: Lineage, record: RunRecord, *, execution: Execution | None = None, result: DataFrame | None = None) -> None:
        self._lineage = lineage
        self.record = record
        self._execution = execution
        self._result = result

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def summary(self) -> RunSummary:
        return _summary(self.record)

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.record.pipeline}: {self.record.status}>"

    @property
    def plan(self) -> RecordedPlan:
        """The run's plan as recorded.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        if self.record.status != "complete":
            raise RunNotComplete(f"run {self.id} of {self.record.pipeline} is {self.record.status}" + _because(self.record.error))
        return read_record(self.record.plan, self.record.segments, self.record.inputs)

    @property
    def result(self) -> DataFrame:
        """The result as a Spark frame: the very rows that were computed, in their order, from Spark's memory or from the store.

        :raises SparkRequired: there is no session. :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises ResultNotStored: the run's strategy did not store it, and it was not made here.
        """
        from airflow_lineage_provider.plan.lineage_keys import ROW
        from airflow_lineage_provider.spark.run import result_frame
        from airflow_lineage_provider.spark.tracing import read_materialization

        if self._result is None:
            if self._lineage.spark is None:
                raise SparkRequired("the result as a Spark frame needs a Spark session: Lineage(spark); or use result_table()")
            plan = self._with_result()
            stored = self._lineage.store.materializations(self.id)["result"]
            names = dict(plan.materialized[0].columns)
            frame = read_materialization(self._lineage.spark, self._lineage.store, stored).orderBy(ROW)
            self._result = result_frame(frame, tuple(names[a.id] for a in plan.plan.output), plan.plan.names)
        return self._result

    def result_table(self, limit: int | None = None) -> pa.Table:
        """The result, or its first ``limit`` rows, as an Arrow table; no Spark needed where it is stored.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        :raises ResultNotStored: the run's strategy did not store it, and it was not made here.
        """
        from airflow_lineage_provider.plan.lineage_keys import ROW

        if 0 not in self.plan.materialized and self._result is not None:
            frame = self._result if limit is None else self._result.limit(limit)
            return frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))).toArrow().rename_columns(frame.columns)
        plan = self._with_result()
        stored = self._lineage.store.materializations(self.id)["result"]
        names = dict(plan.materialized[0].columns)
        columns = [names[a.id] for a in plan.plan.output]
        rows = self._lineage.store.read(stored, columns=[*dict.fromkeys(columns), ROW], order_by=[ROW], limit=limit)
        return rows.select([rows.column_names.index(name) for name in columns]).rename_columns(list(plan.plan.names))

    def _with_result(self) -> RecordedPlan:
        plan = self.plan
        if 0 not in plan.materialized:
            written = f"it was written to {self.record.output['target']}" if self.record.output else "run it again to have it"
            raise ResultNotStored(f"run {self.id} did not store its result (strategy {self.record.strategy}): {written}")
        return plan

    @property
    def stored(self) -> tuple[StoredTable, ...]:
        """What the run stored, how large it is, and why. From the catalog: no Spark.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return stored_tables(self._lineage.store, self.record, self.plan)

    @property
    def not_stored(self) -> tuple[SegmentNotStored, ...]:
        """The segments that the run did not store, and why.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return segments_not_stored(self.record, self.plan)

    def columns(self, *, by_leaf: bool = False) -> ColumnLineage:
        """For each column of the result the source columns that it is computed from, and those that only influence it.

        Read from the recorded plan: no Spark, no rows. A table that the pipeline reads twice is one, unless ``by_leaf``.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return column_lineage(self.plan.plan, by_leaf=by_leaf)

    def explain(
        self,
        target: str | Sequence[Mapping[str, Any]] | pa.Table,
        *,
        limit: int | None = None,
        verify: bool = False,
        difference: Difference = "control",
        across: bool = True,
        save: bool = True,
        airflow: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Explanation:
        """Augmented lineage of the result's rows that match ``target``: a SQL predicate over the result's columns, or rows.

        ``limit`` is the most rows that the target may match (`settings.target_limit`). ``verify`` runs the pipeline over
        the derived source rows and checks that it gives the target again (definition 5, condition 1). ``difference`` says what the
        right side of a difference (EXCEPT, NOT IN, NOT EXISTS) is in the answer: ``control``, one entry for the whole of it (the paper's
        T₂); ``data``, nothing; ``rows``, all its rows. ``across`` traces source rows that other recorded runs wrote through these runs,
        to the real sources, and has the rows between in the explanation's ``intermediate``; without it a derivation ends at the tables that
        this run read. ``save`` keeps the answer in the store; the explanation's ``id`` finds it again.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the target cannot be used.
        :raises SparkRequired: a part of the answer needs Spark, and there is no session.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.across import Across
        from airflow_lineage_provider.deriving.record import saved
        from airflow_lineage_provider.deriving.verify import verified

        watch = progress or _silent
        most = settings.target_limit() if limit is None else limit
        derived = self._deriver(watch, across).derive(target, summary=self.summary, limit=most, difference=difference)
        explanation = derived.explanation
        if verify:
            watch("verifying")
            explanation = verified(explanation, self.record, self.plan, self._lineage.spark)
        if across:
            further = Across(self._lineage.store, lambda one: self._other(one, watch), self._describe, difference, most)
            explanation = further.trace(derived, explanation)
        return saved(explanation, self._lineage.store, airflow or {}) if save else explanation

    def _deriver(self, progress: Progress, across: bool) -> Deriver:
        from airflow_lineage_provider.deriving.derive import Deriver
        from airflow_lineage_provider.deriving.kept import StoredOutputs

        recorded, store = self.plan, self._lineage.store
        kept = StoredOutputs(store, self.id) if across else None
        return Deriver(store, self.record, recorded, self._spark_tracing(recorded), progress, kept)

    def _describe(self, run_id: str) -> RunSummary:
        return _summary(self._lineage.store.run(run_id))

    def _other(self, run_id: str, progress: Progress) -> Deriver:
        """A run that wrote what this one, or another on the way, read."""
        progress(f"tracing through run {run_id}")
        return Run(self._lineage, self._lineage.store.run(run_id))._deriver(progress, True)

    def why_not(
        self,
        rows: str | Sequence[Mapping[str, Any]] | pa.Table,
        *,
        table: str | None = None,
        limit: int = WHY_NOT_LIMIT,
        progress: Progress | None = None,
    ) -> WhyNot:
        """What became of source rows: which operator dropped them, or that they are in the lineage of the result.

        ``rows`` is a SQL predicate over the columns of a source table, or rows; ``table`` names the table as `Explanation.source` does, and
        may be left out where one table alone has all the columns. ``limit`` is the most rows that the question may match.

        A row of an operator's output *descends* from a source row when the source row is in its source lineage: rows live on in what is
        projected, selected and joined from them, in their group, in the frames of windows that see them, and on the right side of a
        semi-join in the left rows that found them. The right side of a difference has no descendants. Each place where the plan reads
        the table is a way of its own (a self-join has two). For each row and way the answer has the operators from the table to the result
        with the number of descendants at each, and where there are none at the end, the last operator with a descendant, the first
        without, and why. Values of UDFs, and rows that could not be chosen again (a limit), are those of the run, as it stored them.

        :raises InvalidTarget, EmptyTarget, TargetTooLarge: the question cannot be answered as it is asked.
        :raises SparkRequired: there is no session. :raises SourceUnavailable: a source has vanished, or under strategies rerun and auto
            has changed, so that a rerun would be of other data.
        :raises UnsupportedOperator, TracingError: an operator does not tell what it makes of which row, or the run did not store it.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.deriving.why_not import why_not

        recorded = self.plan
        spark = self._spark_tracing(recorded)
        told = progress or _silent
        return why_not(rows, table, self.record, recorded, spark, summary=self.summary, limit=limit, progress=told)

    def _spark_tracing(self, recorded: RecordedPlan) -> Any:
        if self._lineage.spark is None:
            return None
        from airflow_lineage_provider.spark.tracing import SparkTracing

        store = self._lineage.store
        return SparkTracing(self._lineage.spark, store, recorded, store.materializations(self.id))

    def close(self) -> None:
        """Let Spark forget the rows that it keeps for ``result``; what is stored stays."""
        if self._execution is not None:
            self._execution.close()
            self._execution = None
        self._result = None


def _pipeline_name(pipeline: Callable[..., Any] | str) -> str:
    return "sql" if isinstance(pipeline, str) else str(getattr(pipeline, "__name__", type(pipeline).__name__))


def _summary(record: RunRecord) -> RunSummary:
    seconds = (record.finished - record.started).total_seconds() if record.finished and record.started else None
    return RunSummary(
        id=record.id,
        pipeline=record.pipeline,
        status=record.status,
        started=record.started.isoformat(timespec="seconds") if record.started else "",
        seconds=seconds,
        strategy=record.strategy,
        reasons=record.reasons,
        rows=(record.row_counts or {}).get("result"),
        error=record.error or "",
        airflow=record.airflow or {},
    )


def _because(error: str | None) -> str:
    return f": {error}" if error else ""


def _silent(_stage: str) -> None:
    """Progress that nobody watches."""
