"""The frame of a pipeline that is a SQL text."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.spark.frames import of_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ON_THE_WAY = (TypeError, ValueError, AttributeError, ArithmeticError, Py4JError)
"""What comes of a text that is no Unicode, or of a parameter that is no value of Spark's, before Spark sees either."""
_LONGEST = 3_000


def frame_of_text(
    spark: SparkSession, text: str, params: Mapping[str, Any], name: str, sources: Mapping[str, DataFrame] | None = None
) -> DataFrame:
    """The frame that the text gives with these parameters, and ``sources`` for its ``{name}``.

    :raises PlanError: Spark cannot read it, or not take it.
    """
    if not text.strip():
        raise PlanError(f"pipeline {name} is an empty SQL text: it needs one SELECT")
    with ExitStack() as stack:
        for source, frame in (sources or {}).items():
            text = text.replace(f"{{{source}}}", _view(frame, source, stack))
        return _frame_of_text(spark, text, params, name)


def _view(frame: DataFrame, name: str, stack: ExitStack) -> str:
    """A view over the frame for as long as the text is read."""
    view = f"{name}_{uuid.uuid4().hex[:12]}"
    stack.callback(frame.sparkSession.catalog.dropTempView, view)
    frame.createOrReplaceTempView(view)
    return view


def _frame_of_text(spark: SparkSession, text: str, params: Mapping[str, Any], name: str) -> DataFrame:
    try:
        return spark.sql(text, args=dict(params)) if params else of_sql(spark, text)
    except PySparkException as problem:
        raise PlanError(f"the SQL of pipeline {name} cannot be read: {_cut(str(problem).strip())}") from problem
    except _ON_THE_WAY as problem:
        told = f"{type(problem).__name__}: {str(problem).strip()[:1_000]}"
        given = f" and its parameters ({shown(list(params))})" if params else ""
        raise PlanError(f"Spark refuses the SQL text of pipeline {name}{given}: {told}") from problem


def _cut(message: str) -> str:
    """Spark's own words, which repeat the text: a text of any length."""
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
