"""Python functions over windows, called from SQL: by temporary names, each the very function that was captured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Alias, WindowFunction
from airflow_lineage_provider.plan.walk import transform_up
from airflow_lineage_provider.spark.sql_functions import register_captured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.spark.capturing.captured_udf import CapturedUdf


def with_window_functions(
    spark: SparkSession, plan: o.Plan, udfs: Mapping[int, CapturedUdf], owner: str, registered: list[str]
) -> o.Plan:  # fmt: skip
    """The plan with the temporary names in its windows. The names, which begin like ``owner``, are added to ``registered``.

    :raises UdfUnavailable: a function was not captured.
    """

    def named(column: Alias) -> Alias:
        function = column.child
        if not isinstance(function, WindowFunction) or function.call is None:
            return column
        name = f"{owner}_window_{function.call}"
        if name not in registered:
            register_captured(spark, udfs, function.call, name)
            registered.append(name)
        return replace(column, child=replace(function, function=name))

    def called(node: o.Plan) -> o.Plan:
        return replace(node, functions=tuple(map(named, node.functions))) if isinstance(node, o.Window) else node

    return transform_up(plan, called)
