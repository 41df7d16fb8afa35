"""Refresh: rows of a result computed anew from the source rows behind them (Smoke, Sec. 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.refreshed import Refreshed
from airflow_lineage_provider.deriving.compared_rows import places_without
from airflow_lineage_provider.deriving.derivation import derivation
from airflow_lineage_provider.deriving.derive import chosen_target, result_rows
from airflow_lineage_provider.deriving.lineage_rows import rows_behind
from airflow_lineage_provider.deriving.verify import can_be_repeated, rerun, whole_plan
from airflow_lineage_provider.errors import SparkRequired, TracingError
from airflow_lineage_provider.plan.guarantees import weakest
from airflow_lineage_provider.rewrite.rounding import rounded_columns

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import RunSummary
    from airflow_lineage_provider.deriving.asked_run import AskedRun


def refreshed(run: AskedRun, target: Any, *, at: Any, summary: RunSummary, limit: int, lazy: bool = True) -> Refreshed:
    """The rows, and what the pipeline makes of the source rows behind them.

    :raises TracingError: the pipeline cannot be repeated, or Spark failed. :raises SparkRequired: there is no session.
    :raises NotCaptured: without ``lazy``, what captured lineage does not say of the rows behind them.
    """
    if not can_be_repeated(run.recorded):
        raise TracingError(
            f"{summary.pipeline} has a limit, a random function or one that depends on the order of rows: it does not give its rows "
            "again, and backward() has the source rows behind them"
        )
    spark = run.on_demand.needed(SparkRequired("refreshing runs the pipeline again, which needs a Spark session")).spark
    chosen = chosen_target(run, target, at, limit)
    with derivation(run, chosen.condition()) as made:
        stored = result_rows(made.rows, chosen.numbers(made.rows))
    behind = rows_behind(run, target, at=at, summary=summary, limit=limit, lazy=lazy)
    run.session.rest()
    run.progress("running the pipeline over its lineage")
    recomputed = rerun({name: one.rows for name, one in behind.items()}, run.udfs, run.recorded, spark)
    missing = places_without(stored, recomputed, rounded_columns(whole_plan(run.recorded)))
    return Refreshed(
        stored=stored,
        recomputed=recomputed,
        missing=tuple(missing.tolist()),
        others=recomputed.num_rows - (stored.num_rows - len(missing)),
        guarantee=weakest(*(one.guarantee for one in behind.values())),
        stale=tuple(dict.fromkeys(text for one in behind.values() for text in one.stale)),
    )
