"""Verification: the pipeline, run over the derived source rows alone, gives the target again (definition 5, condition 1)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.deriving.compared_rows import first_of_its_kind, places_without, text_of_row
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.recording import RecordedPlan, tables_of
from airflow_lineage_provider.rewrite.determinism import is_repeatable_but_for_rounding
from airflow_lineage_provider.rewrite.rounding import rounded_columns
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.tracing.annotate import Context, inline
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.spark.rereading.tracing import Views
    from airflow_lineage_provider.store.kept_udfs import UdfsOfRun


def verified(explanation: Explanation, udfs: UdfsOfRun, recorded: RecordedPlan, spark: SparkSession | None) -> Explanation:
    """The explanation with the verdict: ``verified`` is True when every target row comes out of its source rows again.

    A pipeline that cannot be repeated (a limit, a random function) is not verified, and says so.

    :raises SparkRequired: there is no session. :raises TracingError: Spark failed.
    :raises UdfUnavailable, UdfVersionMismatch: the UDFs are not those of the run.
    """
    if spark is None:
        raise SparkRequired("verifying runs the pipeline again, which needs a Spark session")
    if not can_be_repeated(recorded):
        text = "not verified: the pipeline has a limit, a random function or one that depends on the order of rows, and cannot be repeated"
        return replace(explanation, verified=None, verification=text)
    rows = rerun({name: one.rows for name, one in explanation.sources.items()}, udfs, recorded, spark)
    wanted, rounded = explanation.target, rounded_columns(whole_plan(recorded))
    missing = places_without(wanted, rows, rounded)
    others = rows.num_rows - (wanted.num_rows - len(missing))
    if len(missing):
        row = text_of_row(wanted, first_of_its_kind(wanted, missing, rounded), rounded)
        text = f"{len(missing)} of {wanted.num_rows} target rows do not come out of the derived source rows, {row} for one"
        return replace(explanation, verified=False, verification=text)
    more = f"; the same source rows also give {others} other rows" if others else ""
    return replace(
        explanation, verified=True, verification=f"running the pipeline over the derived source rows gives the target again{more}"
    )


def can_be_repeated(recorded: RecordedPlan) -> bool:
    """Whether a pipeline gives the same rows from the same sources, up to the rounding of sums."""
    return all(_can_be_repeated(node) for segment in recorded.plan.segments for node in operators(segment.plan))


def _can_be_repeated(node: o.Plan) -> bool:
    return is_repeatable_but_for_rounding(node) and (not isinstance(node, o.FunctionOperator) or node.deterministic)


def rerun(sources: Mapping[str, pa.Table], udfs: UdfsOfRun, recorded: RecordedPlan, spark: SparkSession) -> pa.Table:
    """The result of a run's pipeline over these rows of its source tables, by name.

    :raises TracingError: Spark failed. :raises UdfUnavailable, UdfVersionMismatch: the UDFs are not those of the run.
    """
    from airflow_lineage_provider.spark.arrow_border import to_arrow
    from airflow_lineage_provider.spark.executing.run import under_settings
    from airflow_lineage_provider.spark.rereading.declared import declared_functions
    from airflow_lineage_provider.spark.rereading.tracing import Views, spark_errors
    from airflow_lineage_provider.spark.session import carefully

    plan = whole_plan(recorded)
    with ExitStack() as stack:
        stack.enter_context(under_settings(spark, dict(recorded.plan.conf)))
        stack.enter_context(spark_errors("verifying"))
        views = Views(spark, "verify", stack)
        tables = _source_tables(sources, recorded, spark, views)
        text = lower(plan, bind(plan, tables), dialect="spark", udfs=declared_functions(spark, [plan], udfs, views.prefix, stack))
        return carefully(spark, lambda: to_arrow(spark.sql(text)))


def whole_plan(recorded: RecordedPlan) -> o.Plan:
    """A run's pipeline in one piece, with the columns of its result."""
    nothing: frozenset[int] = frozenset()
    plan = inline(recorded.plan.root.plan, Context(plan=recorded.plan, materialized=nothing, sources={}))
    return o.Project(child=plan, columns=recorded.plan.output)


def _source_tables(rows: Mapping[str, pa.Table], recorded: RecordedPlan, spark: SparkSession, views: Views) -> dict[Key, LeafTable]:
    from airflow_lineage_provider.spark.arrow_border import arrow_frame

    tables: dict[Key, LeafTable] = {}
    for name, group in tables_of(recorded).items():
        for one in group:
            frame = arrow_frame(spark, rows[name], [a.type for a in one.source.output]).toDF(*one.source.columns)
            tables["source", one.source.leaf] = LeafTable(name=(views.add(frame, f"source_{one.source.leaf}"),))
    return tables
