"""Derive and store the augmented lineage of rows of a recorded run, as an Airflow task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from airflow.sdk import BaseOperator

from airflow_lineage_provider.explanation import Difference
from airflow_lineage_provider.operators.options import check_word
from airflow_lineage_provider.operators.run_context import airflow_context

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.explanation import Explanation
    from airflow_lineage_provider.pipeline import Lineage


class DeriveAugmentedLineageOperator(BaseOperator):
    """Find which source rows made the target rows of a run, and why the models on the way decided as they did.

    The derivation is stored; the XCom result names it: ``{"derivation_id", "run_id", "pipeline", "target", "counts", "guarantee",
    "guarantees", "stale", "verified", "seconds"}``, ``counts`` being rows by table. Spark is started only where the answer needs it.

    Args:
        target: the rows asked about: a SQL predicate over the result's columns, or rows as mappings. (templated)
        run_id: the recorded run, as in ``"{{ ti.xcom_pull('examine')['run_id'] }}"``. (templated)
        pipeline: in place of a run id, the name of a pipeline, whose latest complete run is taken. (templated)
        limit: the most rows that the target may match; by default the setting ``AIRFLOW_LINEAGE_TARGET_LIMIT``.
        verify: run the pipeline over the derived source rows and check that it gives the target again (needs Spark).
        difference: what the right side of EXCEPT, NOT IN and NOT EXISTS is in the answer: ``control``, one entry for the whole table;
            ``data``, nothing; ``rows``, all its rows. (templated)
        across: trace source rows that other recorded runs wrote through these runs, to the real sources; without it a derivation ends at
            the tables that the run read.
        allow_empty: a target that matches no row gives an empty answer (``derivation_id`` None); by default the task fails.
        store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
        store: its URL instead; with neither the settings decide. (templated)
        conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
        config_kwargs: Spark configuration over that of the connection. (templated)

    Raises:
        ValueError: (when made) neither ``run_id`` nor ``pipeline`` is given, or ``difference`` is not one of these.
        RunNotFound: there is no such run.
        TargetError: the target does not parse, matches no row, or more than ``limit``.
        LineageError: any other failure (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = ("target", "run_id", "pipeline", "difference", "store_conn_id", "store", "conn_id", "config_kwargs")
    template_fields_renderers: ClassVar[dict[str, str]] = {"target": "sql", "config_kwargs": "json"}
    ui_color = "#f3e6d8"

    def __init__(
        self,
        *,
        target: str | Sequence[Mapping[str, Any]],
        run_id: str | None = None,
        pipeline: str | None = None,
        limit: int | None = None,
        verify: bool = False,
        difference: Difference = "control",
        across: bool = True,
        allow_empty: bool = False,
        store_conn_id: str | None = None,
        store: str | None = None,
        conn_id: str | None = None,
        config_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not run_id and not pipeline:
            raise ValueError(f"task {self.task_id!r} does not say which run to derive from; give run_id=… or pipeline=…")
        self.target = target
        self.run_id = run_id
        self.pipeline = pipeline
        self.limit = limit
        self.verify = verify
        check_word(self.task_id, "difference", difference, get_args(Difference))
        self.difference = difference
        self.across = across
        self.allow_empty = allow_empty
        self.store_conn_id = store_conn_id
        self.store = store
        self.conn_id = conn_id
        self.config_kwargs = config_kwargs or {}

    def execute(self, context: Context) -> dict[str, Any]:
        """Derive, store, and give the XCom result."""
        from airflow_lineage_provider.errors import EmptyTarget

        try:
            return _xcom(self._derive(airflow_context(context)))
        except EmptyTarget as nothing:
            if not self.allow_empty:
                raise
            self.log.info("nothing to derive: %s", nothing)
            return _nothing(self.run_id, self.pipeline, self.target)

    def _derive(self, airflow: dict[str, Any]) -> Explanation:
        from airflow_lineage_provider.errors import SparkRequired
        from airflow_lineage_provider.hooks.lineage import LineageHook

        hook = LineageHook(self.store_conn_id, store=self.store, conn_id=self.conn_id, config_kwargs=self.config_kwargs)
        try:
            with hook.lineage() as lineage:
                return self._explain(lineage, airflow)
        except SparkRequired as why:
            self.log.info("starting Spark: %s", why)
        with hook.spark(f"{self.dag_id}-{self.task_id}") as spark, hook.lineage(spark) as lineage:
            return self._explain(lineage, airflow)

    def _explain(self, lineage: Lineage, airflow: dict[str, Any]) -> Explanation:
        run = lineage.get(self.run_id or "latest", pipeline=self.pipeline)
        self.log.info("deriving from %r", run)
        return run.explain(
            self.target,
            limit=self.limit,
            verify=self.verify,
            difference=self.difference,
            across=self.across,
            airflow=airflow,
            progress=self.log.info,
        )


def _xcom(explanation: Explanation) -> dict[str, Any]:
    return {
        "derivation_id": explanation.id,
        "run_id": explanation.run.id,
        "pipeline": explanation.run.pipeline,
        "target": explanation.asked,
        "counts": explanation.counts(),
        "guarantee": explanation.guarantee.level,
        "guarantees": {table: {"level": one.level, "cause": one.cause} for table, one in explanation.guarantees.items()},
        "stale": list(explanation.stale),
        "verified": explanation.verified,
        "seconds": explanation.seconds,
    }


def _nothing(run_id: str | None, pipeline: str | None, target: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "derivation_id": None,
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
