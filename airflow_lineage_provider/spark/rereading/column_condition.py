"""A target that is one of Spark's columns, as a condition over the result's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidTarget, UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in, replace_attributes
from airflow_lineage_provider.plan.expressions import Attribute, Expression, ScalarSubquery, UdfCall
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.capturing.capture import capture
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.frames import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ADVICE = "write it over the result's columns by name, F.col('…'), with Spark's built-in scalar functions, or as text"


def condition_of_column(
    spark: SparkSession, column: Column, columns: Sequence[tuple[str, Attribute]], conf: Mapping[str, str]
) -> tuple[Expression, str]:
    """The condition, as Spark reads it over columns of these names and types, and its text.

    :raises InvalidTarget: Spark cannot read it over these columns, or it is about more than one row, or calls a Python function.
    """
    text = str(column).removeprefix("Column<'").removesuffix("'>")
    with under_settings(spark, conf):
        plan = _plan(_filtered(_nothing(spark, columns), column, text), text)
    if not (isinstance(plan, o.Filter) and isinstance(plan.child, o.Project | o.Source) and _is_plain(plan.condition)):
        raise InvalidTarget(f"the target {text} is not a fixed condition about one row; {_ADVICE}")
    by_id: dict[int, Expression] = {made.id: asked for made, (_, asked) in zip(plan.child.output, columns, strict=True)}
    condition: Expression = replace_attributes(plan.condition, by_id)
    return condition, text


def _is_plain(condition: Expression) -> bool:
    """Whether a condition is about the row alone, and calls nothing that is the user's."""
    others = any(isinstance(part, UdfCall | ScalarSubquery) for part in expressions_in(condition))
    return not others and is_deterministic(condition)


def _nothing(spark: SparkSession, columns: Sequence[tuple[str, Attribute]]) -> DataFrame:
    types = ", ".join(f"{quoted(f'c{i}')} {attribute.type}" for i, (_, attribute) in enumerate(columns))
    return spark.createDataFrame([], types).toDF(*(name for name, _ in columns))


def _filtered(frame: DataFrame, column: Column, text: str) -> DataFrame:
    from pyspark.errors import PySparkException

    try:
        return frame.where(column)
    except (PySparkException, AttributeError, TypeError) as problem:
        raise InvalidTarget(f"the target {text} cannot be read over the result's columns ({first_line(problem)}); {_ADVICE}") from problem


def _plan(frame: DataFrame, text: str) -> o.Plan:
    try:
        return capture(frame).pipeline.plan
    except UnsupportedOperator as problem:
        raise InvalidTarget(f"the target {text} cannot be read ({problem}); {_ADVICE}") from problem
