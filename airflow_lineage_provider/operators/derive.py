"""Derive and store the augmented lineage of rows of a recorded run, as an Airflow task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_lineage_provider.asked_derivation import AskedDerivation
from airflow_lineage_provider.operators.deferred import DeferredDerivation
from airflow_lineage_provider.operators.derivation_result import of_answer, of_nothing
from airflow_lineage_provider.operators.options import check_when_read, check_when_run
from airflow_lineage_provider.operators.outlet_events import tell_derivation
from airflow_lineage_provider.operators.recorded_run import RecordedRunOperator
from airflow_lineage_provider.operators.run_context import airflow_context, task_instance_key, task_key
from airflow_lineage_provider.operators.stages import Stages
from airflow_lineage_provider.renamed import renamed
from airflow_lineage_provider.words import LAST_DERIVATION, Difference, Subqueries

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.recorded_run import Run


class DeriveAugmentedLineageOperator(DeferredDerivation):
    """Find which source rows made the target rows of a run, and why the models on the way decided as they did.

    The derivation is stored; the XCom result names it: ``{"derivation_id", "derivation_ids", "derivation_set_id", "lineage_run_id",
    "pipeline", "target", "since", "counts", "guarantee", "guarantees", "stale", "verified", "seconds"}``, ``counts`` being rows by table.
    Spark is started only where the answer needs it.

    With ``chunk_rows`` it is several (``derivation_ids``; ``derivation_id`` is None then), each stored when it is made. A try that follows
    one which failed or was killed goes on with what is stored, and so does a task that was cleared before its end; one that is cleared
    after its end begins anew, and the answers until then stay.

    The event of each outlet that is an asset has ``derivation_id``, ``derivation_set_id``, ``lineage_run_id``, ``pipeline``, ``since`` and
    ``rows`` in its extra: ``rows`` is 0 where nothing was to be derived.

    :param target: the rows asked about: a SQL predicate over the result's columns, or rows as mappings. (templated)
    :param at: in place of a target, the rows' positions in the result, counted from 0: numbers, or text such as ``"0,3"``. (templated)
    :param since: of the rows that the target names, or of all where there is none, only those that are new or have changed since the run of
        the last derivation by this task of the same question (``last_derivation``; the first one takes all), or since the run of this id
        (`Run.explain`). Where none has, the answer is empty (``derivation_id`` None), and that is no failure. (templated)
    :param chunk_rows: so many rows have a derivation of their own; without it all have one.
    :param lineage_run_id: the recorded run, as in ``"{{ ti.xcom_pull('examine')['lineage_run_id'] }}"``. (templated; ``run_id``, a word of
        Airflow's for another thing, is its old name)
    :param pipeline: in place of a run id, the name of a pipeline, whose latest complete run is taken; beside one, the pipeline that the run
        must be of. (templated)
    :param max_rows: the most rows that the target may match; by default the setting ``AIRFLOW_LINEAGE_TARGET_LIMIT``, and with
        ``chunk_rows`` there is no bound. (``limit`` is its old name)
    :param verify: run the pipeline over the derived source rows and check that it gives the target again (needs Spark).
    :param difference: what the right side of EXCEPT, NOT IN and NOT EXISTS is in the answer: ``control``, one entry for the whole table;
        ``data``, nothing; ``rows``, all its rows. (templated)
    :param subqueries: which rows of a subquery (IN, EXISTS) stand behind a row that it let pass: ``partners``, those that matched it;
        ``data``, none; ``rows``, all. (templated)
    :param across: trace source rows that other recorded runs wrote through these runs, to the real sources; without it a derivation ends at
        the tables that the run read.
    :param secret_params: secret parameters of the run (and of runs that are traced through), given again; Airflow masks them. (templated)
    :param allow_empty: a target that matches no row gives an empty answer (``derivation_id`` None); by default the task fails.
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :param conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
    :param config_kwargs: Spark configuration over that of the connection. (templated)
    :param deferrable, status_poll_interval: as of `DeferredDerivation`: where the connection's Spark is in cluster mode, the task waits for
        it without a worker.
    :raises ValueError: (when made, and for templates when the task starts) neither ``lineage_run_id`` nor ``pipeline`` is given, one of
        them is empty, the rows are not named in exactly one way, or an option is not one of these, or not of its kind.
    :raises RunNotFound: there is no such run, or the template that names it rendered to nothing.
    :raises TargetError: the target does not parse, matches no row, or more than ``max_rows``.
    :raises LineageError: any other failure (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = ("target", "at", "since", "difference", "subqueries", *RecordedRunOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {"target": "sql", **RecordedRunOperator.template_fields_renderers}
    templated_options = frozenset({"difference", "since", "subqueries"})
    ui_color = "#f3e6d8"

    def __init__(
        self,
        *,
        target: str | Sequence[Mapping[str, Any]] | None = None,
        at: Sequence[int] | int | str | None = None,
        since: str | None = None,
        chunk_rows: int | None = None,
        lineage_run_id: str | None = None,
        pipeline: str | None = None,
        max_rows: int | None = None,
        verify: bool = False,
        difference: Difference = "control",
        subqueries: Subqueries = "partners",
        across: bool = True,
        allow_empty: bool = False,
        run_id: str | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(lineage_run_id=renamed("lineage_run_id", lineage_run_id, "run_id", run_id), pipeline=pipeline, **kwargs)
        max_rows = renamed("max_rows", max_rows, "limit", limit)
        if since is None and (target is None) == (at is None):
            raise ValueError(f"task {self.task_id!r} must name the rows to explain in exactly one way; give target=… or at=[…]")
        if since is not None and at is not None:
            raise ValueError(f"task {self.task_id!r}: positions (at) are rows of one result alone; with since=… give a target, or none")
        self.target = target
        self.at = at
        self.since = since
        self.chunk_rows = chunk_rows
        self.max_rows = max_rows
        self.verify = verify
        self.difference = difference
        self.subqueries = subqueries
        self.across = across
        self.allow_empty = allow_empty
        check_when_read(self.task_id, {"chunk_rows": chunk_rows, **self._options()}, self.templated_options)

    def _options(self) -> dict[str, Any]:
        return {
            "since": self.since, "max_rows": self.max_rows, "verify": self.verify, "difference": self.difference,
            "subqueries": self.subqueries, "across": self.across,
        }  # fmt: skip

    def execute(self, context: Context) -> dict[str, Any]:
        """Derive, store, and give the XCom result; or have it derived elsewhere, and come back when it is (`DeferredDerivation`)."""
        check_when_run(self.task_id, self._options())
        return self._handed_on(self._asked_about(context), context)

    def _handed_on(self, found: dict[str, Any], context: Context) -> dict[str, Any]:
        self._answered(found)
        tell_derivation(self.outlets, found, context)
        return found

    def _asked_about(self, context: Context) -> dict[str, Any]:
        from airflow_lineage_provider.errors import EmptyTarget

        try:
            return self._deferred_or(lambda starts: self.asked(lambda one: self._derived(one, context), starts_spark=starts), context)
        except EmptyTarget as nothing:
            if self._question is None or not self._question.may_be_empty(nothing):
                raise
            self.log.info("nothing to derive: %s", nothing)
            return of_nothing(self.lineage_run_id, self.pipeline, self.target or "")

    def _derived(self, lineage: Lineage, context: Context) -> dict[str, Any]:
        self._question = None
        run = self._run(lineage)
        self._question = self._question_about(run, context)
        self.log.info("deriving from %r: %s", run, self._question.question)
        found = self._question.answered(
            run, params=self.secret_params, context=airflow_context(context), progress=Stages(self.log, context, kept=self.do_xcom_push)
        )
        return of_answer(found, self._question.question, self.since)

    def _question_about(self, run: Run, context: Context) -> AskedDerivation:
        """What is asked, about this run."""
        given = self.target
        return AskedDerivation(
            run_id=run.id, target=given if isinstance(given, str) else None, at=_listed(self.at),
            rows=None if given is None or isinstance(given, str) else tuple(given), in_chunks=self._is_in_chunks(run),
            chunk_rows=self.chunk_rows, asked_by=task_key(context), occasion=task_instance_key(context), allow_empty=self.allow_empty,
            **self._options(),
        )  # fmt: skip

    def _is_in_chunks(self, run: Run) -> bool:
        return self.since == LAST_DERIVATION or self.chunk_rows is not None


def _listed(at: Sequence[int] | int | str | None) -> str | None:
    """Positions as a text; what is none is refused by who is asked."""
    return at if at is None or isinstance(at, str) else str(at) if isinstance(at, int) else ",".join(map(str, at))
