"""Which columns a pipeline's sketches may be of: its plan is captured, and nothing is run or recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.safe_columns import SafeColumns
from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan.operators import Source
from airflow_lineage_provider.running.given_keys import check_named
from airflow_lineage_provider.running.given_pipeline import frame_of, pipeline_name
from airflow_lineage_provider.running.source_statistics import SourceStatistics
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.secrecy.failures import guarded
from airflow_lineage_provider.secrecy.showing import without_secrets
from airflow_lineage_provider.sketches.columns import safe_columns
from airflow_lineage_provider.sketches.solver import z3_module
from airflow_lineage_provider.sketches.statistics import Bounds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline


def judged_columns(
    spark: SparkSession,
    pipeline: Callable[..., Any] | str | DataFrame,
    *,
    name: str | None = None,
    params: Mapping[str, Any] | None = None,
    secret_params: Sequence[str] = (),
    keys: Mapping[str, Sequence[str]] | None = None,
) -> SafeColumns:
    """Every column of every source of a pipeline, judged (`Lineage.safe_columns` says what is given)."""
    z3_module()  # that it is missing is said before Spark works
    called = name or pipeline_name(pipeline)
    plain, secrets = Secrets.of(params or {}, secret_params or ())
    from airflow_lineage_provider.spark.capturing.capture import capture
    from airflow_lineage_provider.spark.ready import require_ready
    from airflow_lineage_provider.spark.session import SETTINGS

    require_ready(spark)
    with guarded(secrets.message), SETTINGS:
        captured = capture(frame_of(spark, pipeline, plain, called))
        bounds = _bounds_of(spark, captured)
    found = safe_columns(captured.pipeline, bounds=bounds, keys=_keys_of(captured.sources, keys or {}), clock=perf_counter)
    if secrets.names:
        # Values near a literal tell it.
        found = tuple(replace(one, counter=()) for one in found)
    return without_secrets(SafeColumns(called, found), secrets)


def _bounds_of(spark: SparkSession, captured: CapturedPipeline) -> Bounds:
    """What the statistics of the sources say that a run would read now."""
    from airflow_lineage_provider.spark.rereading.sources import version_of

    read = [one for one in captured.sources if one.relation.format == "parquet"]
    versions = [(one, version_of(spark, captured.leaves[one.leaf], one.relation)) for one in read]
    return SourceStatistics(dict(captured.pipeline.conf)).bounds(versions)


def _keys_of(sources: Sequence[Source], keys: Mapping[str, Sequence[str]]) -> dict[int, tuple[str, ...]]:
    """The primary keys by leaf.

    :raises PlanError: they name a table or a column that the pipeline does not read.
    """
    check_named(keys, {source.relation.name for source in sources})
    return {source.leaf: _key_of(source, keys[source.relation.name]) for source in sources if source.relation.name in keys}


def _key_of(source: Source, names: Sequence[str]) -> tuple[str, ...]:
    columns = {column.lower(): column for column in source.columns}
    missing = [name for name in names if name.lower() not in columns]
    if missing:
        raise PlanError(f"the key of {source.relation.name} names {missing}; the table has {', '.join(source.columns)}")
    return tuple(columns[name.lower()] for name in names)
