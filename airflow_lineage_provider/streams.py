"""Lineage of streams: every micro-batch of a streaming query is a run, recorded once, and asked about with the others."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.batches import Batch, ExplainedBatch, ExplainedBatches
from airflow_lineage_provider.answers.summary import summary_of
from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.errors import BatchError, EmptyTarget, InvalidOutput, PlanError
from airflow_lineage_provider.explained_run import Target
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.records.batches import told
from airflow_lineage_provider.requested import requested
from airflow_lineage_provider.running.given_pipeline import check_parameters
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.words import Difference, OnStoreFailure, Reasons, Strategy, Subqueries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.running.run import Request
    from airflow_lineage_provider.spark.capturing.micro_batch import MicroBatch
    from airflow_lineage_provider.store import Store
    from airflow_lineage_provider.store.run_store import RunStore

log = logging.getLogger(__name__)

BATCH_LIMIT = 100
"""So many batches `LineageOfStreams.explain_batches` explains, unless it is told otherwise."""
TIDY_SECONDS = 3600.0
"""A query may run for months, and its store be opened once: every so often old runs are retired between two batches."""
# Which function of `foreach_batch` has a pipeline's name in a start of a query.
_NAMED: dict[tuple[str, str], Callable[[Any, int], None]] = {}


class LineageOfStreams(AsksStore):
    """The part of `Lineage` that is about batches of streams."""

    on_store_failure: OnStoreFailure

    @abstractmethod
    def _run_store(self, on_failure: OnStoreFailure) -> RunStore: ...

    @abstractmethod
    def _recorded(self, record: RunRecord) -> Run: ...

    @abstractmethod
    def _executed(self, request: Request, spark: SparkSession, store: RunStore, progress: Progress | bool | None) -> Run: ...

    def foreach_batch(
        self,
        pipeline: Callable[..., Any] | str,
        *,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        clear_params: Sequence[str] = (),
        secret_params: Sequence[str] = (),
        output: Output | str | None = None,
        strategy: Strategy = "function_materialization",
        reasons: Reasons = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        index: Sequence[str | Sequence[str]] = (),
        on_store_failure: OnStoreFailure | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Callable[[DataFrame, int], None]:
        """A function for ``writeStream.foreachBatch(…)``: it runs the pipeline over each micro-batch, and records it as a run.

        ``pipeline`` is a function ``(batch, **params) -> DataFrame``, or a SQL text that reads the view ``batch``. The other options are
        those of `Lineage.run`; an ``output`` is appended to or overwritten, ``keys`` name a stream by the folder that it reads. ``index``
        has columns of the batches' results by which rows are going to be asked for, in whichever batch they are.

        A batch is known by the query's id, which its checkpoint keeps, its number, and the pipeline's ``name``: one that Spark gives again
        after a restart is not recorded, nor written, again, and one that was interrupted is done anew. What the function returned for had
        been written and recorded before.

        :raises InvalidOption: an option is wrong. :raises InvalidOutput: an output that only the first batch could be written to.
        :raises PlanError: the pipeline is none, or does not take these parameters. :raises BatchError: in a batch: `BatchError` says why.
        """
        on_failure = self.on_store_failure if on_store_failure is None else on_store_failure
        check_options({"on_store_failure": on_failure})
        request = requested(
            pipeline, name=name, params=params, clear_params=clear_params, secret_params=secret_params, output=output, strategy=strategy,
            reasons=reasons, keys=keys, append_key=None, index=index, context=context,
        )  # fmt: skip
        _check(request)
        tidied = [time.monotonic()]

        def record(batch: DataFrame, number: int) -> None:
            from airflow_lineage_provider.spark.capturing.micro_batch import micro_batch

            given = micro_batch(batch, number)
            if _NAMED.setdefault((given.start, request.name), record) is not record:
                raise BatchError(
                    f"query {given.query} gives its batches to two pipelines called {request.name}, of which only one would be recorded: "
                    "give each a name of its own, foreach_batch(…, name=…)"
                )
            store = self._run_store(on_failure)
            self._record(request, given, store)
            if time.monotonic() - tidied[0] >= TIDY_SECONDS:
                store.ask("retiring old runs", _tidy, None)
                tidied[0] = time.monotonic()

        return record

    def _record(self, request: Request, batch: MicroBatch, store: RunStore) -> None:
        request = _of_batch(request, batch, store.keeps_result)
        key = request.batch_key
        assert key is not None
        known = store.ask(f"finding batch {batch.number}", lambda opened: opened.batch_run(key), None)
        if known is not None and known.is_done:
            batch.pass_over()
            return
        self._executed(request, batch.frame.sparkSession, store, False).close()

    def batches(self, pipeline: str, *, query: str | None = None, limit: int | None = 50) -> list[Batch]:
        """The newest batches that were given to a pipeline (of one query, by its id): by query, the oldest first, then by number.

        Each with the last run of it: ``run.status`` tells whether it is ``complete``.
        """
        check_options({"name": pipeline, "query": query, "limit": limit})
        found = self.lasting(lambda: self.store.batches(pipeline, query, limit=limit))
        return [Batch(query=one.query, batch=one.batch, run=summary_of(one.head)) for one in found]

    def explain_batches(
        self,
        pipeline: str,
        target: Target,
        *,
        query: str | None = None,
        max_batches: int = BATCH_LIMIT,
        max_rows: int | None = None,
        difference: Difference = "control",
        subqueries: Subqueries = "partners",
        across: bool = True,
        save: bool = True,
        params: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> ExplainedBatches:
        """Augmented lineage of the rows that match ``target``, in whichever of a pipeline's batches they are, in the order of `batches`.

        The results that batches stored are looked through in the store, or in files that this process reads; a batch without such a row is
        not asked further. ``max_batches`` is the most batches that the target may be in; the other options are those of `Run.explain`, of
        each batch. Batches whose lineage was lost, that failed, were dropped or retired, or never were recorded, cannot be looked into: the
        answer's ``not_asked`` says which, and so does a warning in the log.

        :raises InvalidTarget: it is a target of none of the results. :raises EmptyTarget: no batch that was looked into has such a row.
        :raises TargetTooLarge: more batches than ``max_batches`` have, or one of them has more rows than ``max_rows``.
        :raises LineageError: as `Run.explain`.
        """
        from airflow_lineage_provider.deriving.batches import too_many, with_target

        check_options({"name": pipeline, "query": query, "max_batches": max_batches, "max_rows": max_rows, "difference": difference})
        check_options({"subqueries": subqueries, "across": across, "save": save, "params": params, "context": context})
        groups = self.lasting(lambda: self.store.batch_groups(pipeline, query))
        explained = ExplainedBatches()
        for one in with_target(self, groups, target, max_batches):
            if len(explained) == max_batches:
                raise too_many(max_batches)
            try:
                answer = self._recorded(one.record).explain(
                    target,
                    max_rows=max_rows,
                    difference=difference,
                    subqueries=subqueries,
                    across=across,
                    save=save,
                    params=params,
                    context=context,
                    progress=False,
                )
            except EmptyTarget:  # the store could not tell beforehand
                continue
            explained.append(ExplainedBatch(query=one.query, batch=one.batch, explanation=answer))
        # Last: one that was dropped meanwhile is told, whether it had been looked into or not.
        explained.not_asked = self.lasting(lambda: self.store.batches_not_asked(pipeline, query))
        unknown = told(explained.not_asked.values())
        if not explained:
            cause = f"none of the complete batches of pipeline {pipeline!r} has a row that matches {shown(target)}"
            cause = cause if groups else f"pipeline {pipeline!r} has no complete batch"
            raise EmptyTarget(f"{cause}{f'; batches that could not be looked into: {unknown}' if unknown else ''}")
        if explained.not_asked.keys() - {"running"}:
            log.warning(
                "batches of pipeline %r that could not be looked into, so that no row of theirs is explained: %s", pipeline, unknown
            )
        return explained


def _check(request: Request) -> None:
    if callable(request.pipeline):
        check_parameters(request.pipeline, request.params, request.name, "the batch")
    elif not isinstance(request.pipeline, str):
        raise PlanError(
            f"{shown(request.pipeline)} is no pipeline of batches; give a function (batch, **params) -> DataFrame, or a SQL text"
        )
    if request.output is not None and request.output.mode == "error":
        raise InvalidOutput(
            f"the batches of a stream are written to one place, one after the other: write {request.output.shown}+append, or +overwrite"
        )


def _of_batch(request: Request, batch: MicroBatch, keeps_result: bool) -> Request:
    """The request for one batch."""
    # A run that keeps its result may have appended without the store's knowledge; what any other has is known by its run.
    keyed = keeps_result and request.output is not None and request.output.mode == "append"
    key = f"batch {batch.number} of query {batch.query} of {request.name}" if keyed else ""
    return replace(request, pipeline=_over(request.pipeline, batch.frame), batch=batch, append_key=key)


def _over(pipeline: Any, frame: DataFrame) -> Callable[..., Any] | str:
    if isinstance(pipeline, str):
        frame.createOrReplaceTempView("batch")  # in the session of the query, which no other query has
        return pipeline
    return lambda _spark, **params: pipeline(frame, **params)


def _tidy(opened: Store) -> None:
    opened.tidy()
