"""Verification: the pipeline, run over the derived source rows alone, gives the target again (definition 5, condition 1)."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.derive import tables_of
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.explanation import Explanation
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.reasons import registry
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.tracing.annotate import Context, inline
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store import RunRecord


def verified(explanation: Explanation, record: RunRecord, recorded: RecordedPlan, spark: SparkSession | None) -> Explanation:
    """The explanation with the verdict: ``verified`` is True when every target row comes out of its source rows again.

    A pipeline that cannot be repeated (a limit, a random function) is not verified, and says so.

    :raises SparkRequired: there is no session. :raises UdfUnavailable, UdfVersionMismatch: the UDFs are not those of the run.
    """
    if spark is None:
        raise SparkRequired("verifying runs the pipeline again, which needs a Spark session")
    pinned = [segment.number for segment in recorded.plan.segments if segment.pinned]
    if pinned:
        return replace(
            explanation, verified=None, verification="not verified: the pipeline has a limit or a random function, and cannot be repeated"
        )
    rows = _rerun(explanation, record, recorded, spark)
    wanted, given = Counter(_rows(explanation.target)), Counter(_rows(rows))
    missing = wanted - given
    others = sum((given - wanted).values())
    if missing:
        row = next(iter(missing))
        text = f"{sum(missing.values())} of {sum(wanted.values())} target rows do not come out of the derived source rows, {row} for one"
        return replace(explanation, verified=False, verification=text)
    more = f"; the same source rows also give {others} other rows" if others else ""
    return replace(
        explanation, verified=True, verification=f"running the pipeline over the derived source rows gives the target again{more}"
    )


def _rerun(explanation: Explanation, record: RunRecord, recorded: RecordedPlan, spark: SparkSession) -> pa.Table:
    from airflow_lineage_provider.spark.session import apply_conf

    nothing: frozenset[int] = frozenset()
    plan = inline(recorded.plan.root.plan, Context(plan=recorded.plan, materialized=nothing, sources={}))
    plan = o.Project(child=plan, columns=recorded.plan.output)
    with ExitStack() as stack:
        stack.enter_context(apply_conf(spark, dict(recorded.plan.conf)))
        tables = _source_tables(explanation, recorded, spark, stack)
        text = lower(plan, bind(plan, tables), dialect="spark", udfs=_functions(plan, record, spark, stack))
        return spark.sql(text).toArrow()


def _source_tables(explanation: Explanation, recorded: RecordedPlan, spark: SparkSession, stack: ExitStack) -> dict[Key, LeafTable]:
    tables: dict[Key, LeafTable] = {}
    for name, group in tables_of(recorded).items():
        for one in group:
            schema = ", ".join(f"c{i} {a.type}" for i, a in enumerate(one.source.output))
            rows = explanation.source[name].rename_columns([f"c{i}" for i in range(len(one.source.columns))])
            frame = (
                spark.createDataFrame(rows.to_pylist(), schema).toDF(*one.source.columns)
                if rows.num_rows
                else spark.createDataFrame([], schema)
            )
            view = f"lineage_verify_{one.source.leaf}"
            frame.toDF(*one.source.columns).createOrReplaceTempView(view)
            stack.callback(spark.catalog.dropTempView, view)
            tables["source", one.source.leaf] = LeafTable(name=(view,))
    return tables


def _functions(plan: o.Plan, record: RunRecord, spark: SparkSession, stack: ExitStack) -> dict[int, str]:
    descriptions = {one["function"]: one for one in record.udfs}
    names: dict[int, str] = {}
    for node in operators(plan):
        if isinstance(node, o.FunctionOperator):
            udf = registry.find(descriptions[node.function])
            registry.check_version(udf, descriptions[node.function])
            names[node.function] = f"lineage_verify_udf_{node.function}"
            spark.udf.register(names[node.function], udf.spark_function("normal" if node.reason is None else "reasoning"))
            stack.callback(spark.sql, f"DROP TEMPORARY FUNCTION IF EXISTS {names[node.function]}")
    return names


def _rows(table: pa.Table) -> list[Any]:
    return [repr(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
