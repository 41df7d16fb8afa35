"""Derive and store the augmented lineage of rows of a recorded run, as an Airflow task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_lineage_provider.operators.options import check_when_read, check_when_run
from airflow_lineage_provider.operators.recorded_run import RecordedRunOperator
from airflow_lineage_provider.operators.run_context import airflow_context
from airflow_lineage_provider.renamed import renamed
from airflow_lineage_provider.words import Difference

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.pipeline import Lineage


class DeriveAugmentedLineageOperator(RecordedRunOperator):
    """Find which source rows made the target rows of a run, and why the models on the way decided as they did.

    The derivation is stored; the XCom result names it: ``{"derivation_id", "lineage_run_id", "pipeline", "target", "counts", "guarantee",
    "guarantees", "stale", "verified", "seconds"}``, ``counts`` being rows by table. Spark is started only where the answer needs it.

    :param target: the rows asked about: a SQL predicate over the result's columns, or rows as mappings. (templated)
    :param at: in place of a target, the rows' positions in the result, counted from 0: numbers, or text such as ``"0,3"``. (templated)
    :param lineage_run_id: the recorded run, as in ``"{{ ti.xcom_pull('examine')['lineage_run_id'] }}"``. (templated; ``run_id``, a word of
        Airflow's for another thing, is its old name)
    :param pipeline: in place of a run id, the name of a pipeline, whose latest complete run is taken; beside one, the pipeline that the run
        must be of. (templated)
    :param max_rows: the most rows that the target may match; by default the setting ``AIRFLOW_LINEAGE_TARGET_LIMIT``. (``limit`` is its
        old name)
    :param verify: run the pipeline over the derived source rows and check that it gives the target again (needs Spark).
    :param difference: what the right side of EXCEPT, NOT IN and NOT EXISTS is in the answer: ``control``, one entry for the whole table;
        ``data``, nothing; ``rows``, all its rows. (templated)
    :param across: trace source rows that other recorded runs wrote through these runs, to the real sources; without it a derivation ends at
        the tables that the run read.
    :param secret_params: secret parameters of the run (and of runs that are traced through), given again; Airflow masks them. (templated)
    :param allow_empty: a target that matches no row gives an empty answer (``derivation_id`` None); by default the task fails.
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :param conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
    :param config_kwargs: Spark configuration over that of the connection. (templated)
    :raises ValueError: (when made, and for templates when the task starts) neither ``lineage_run_id`` nor ``pipeline`` is given, one of
        them is empty, neither or both of ``target`` and ``at`` are given, or an option is not one of these, or not of its kind.
    :raises RunNotFound: there is no such run, or the template that names it rendered to nothing.
    :raises TargetError: the target does not parse, matches no row, or more than ``max_rows``.
    :raises LineageError: any other failure (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = ("target", "at", "difference", *RecordedRunOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {"target": "sql", **RecordedRunOperator.template_fields_renderers}
    templated_options = frozenset({"difference"})
    ui_color = "#f3e6d8"

    def __init__(
        self,
        *,
        target: str | Sequence[Mapping[str, Any]] | None = None,
        at: Sequence[int] | int | str | None = None,
        lineage_run_id: str | None = None,
        pipeline: str | None = None,
        max_rows: int | None = None,
        verify: bool = False,
        difference: Difference = "control",
        across: bool = True,
        allow_empty: bool = False,
        run_id: str | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(lineage_run_id=renamed("lineage_run_id", lineage_run_id, "run_id", run_id), pipeline=pipeline, **kwargs)
        max_rows = renamed("max_rows", max_rows, "limit", limit)
        if (target is None) == (at is None):
            raise ValueError(f"task {self.task_id!r} must name the rows to explain in exactly one way; give target=… or at=[…]")
        self.target = target
        self.at = at
        self.max_rows = max_rows
        self.verify = verify
        self.difference = difference
        self.across = across
        self.allow_empty = allow_empty
        check_when_read(self.task_id, self._options(), self.templated_options)

    def _options(self) -> dict[str, Any]:
        return {"max_rows": self.max_rows, "verify": self.verify, "difference": self.difference, "across": self.across}

    def execute(self, context: Context) -> dict[str, Any]:
        """Derive, store, and give the XCom result."""
        from airflow_lineage_provider.errors import EmptyTarget

        check_when_run(self.task_id, self._options())
        try:
            airflow = airflow_context(context)
            return _xcom(self.asked(lambda lineage: self._explain(lineage, airflow)))
        except EmptyTarget as nothing:
            if not self.allow_empty:
                raise
            self.log.info("nothing to derive: %s", nothing)
            return _nothing(self.lineage_run_id, self.pipeline, self.target or "")

    def _explain(self, lineage: Lineage, airflow: dict[str, Any]) -> Explanation:
        run = self._run(lineage)
        self.log.info("deriving from %r", run)
        return run.explain(
            self.target,
            at=self.at,
            **self._options(),
            params=self.secret_params,
            context=airflow,
            progress=self.log.info,
        )


def _xcom(explanation: Explanation) -> dict[str, Any]:
    return {
        "derivation_id": explanation.id,
        "lineage_run_id": explanation.run.id,
        "run_id": explanation.run.id,  # its name in the release before
        "pipeline": explanation.run.pipeline,
        "target": explanation.asked,
        "counts": explanation.counts(),
        "guarantee": explanation.guarantee.level,
        "guarantees": {name: asdict(one.guarantee) for name, one in explanation.tables.items()},
        "stale": list(explanation.stale),
        "verified": explanation.verified,
        "seconds": explanation.seconds,
    }


def _nothing(run_id: str | None, pipeline: str | None, target: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "derivation_id": None,
        "lineage_run_id": run_id,
        "run_id": run_id,
        "pipeline": pipeline,
        "target": target if isinstance(target, str) else [dict(row) for row in target],
        "counts": {"target": 0},
        "guarantee": "exact",
        "guarantees": {},
        "stale": [],
        "verified": None,
        "seconds": 0.0,
    }
