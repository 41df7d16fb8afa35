"""What may be given as a pipeline (a function, a SQL text, or a frame that stands already), its name, and its frame."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMS = "it must return a DataFrame of Spark's, or a pandas-on-Spark frame"


def pipeline_name(pipeline: Any) -> str:
    """The name that a run is found by, where the user gives none: the function's; of a lambda, where it is written."""
    if isinstance(pipeline, str):
        return "sql"
    if isinstance(pipeline, functools.partial):
        return pipeline_name(pipeline.func)
    name = getattr(pipeline, "__name__", None)
    if name == "<lambda>":
        return _place(pipeline)
    return name if isinstance(name, str) else "dataframe" if is_frame(pipeline) else type(pipeline).__name__


def _place(function: Any) -> str:
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename.startswith("<"):  # a notebook's cell, or a prompt
        return "lambda"
    return f"lambda@{PurePath(code.co_filename).name}:{code.co_firstlineno}"


def frame_of(
    spark: SparkSession,
    pipeline: Callable[..., Any] | str | DataFrame,
    params: Mapping[str, Any],
    name: str,
    sources: Mapping[str, DataFrame] | None = None,
) -> DataFrame:
    """The frame that the pipeline gives; ``sources`` are further arguments of a function, and what a text reads as ``{name}``.

    :raises PlanError: it gives none, is no pipeline, does not take these parameters, or Spark cannot read its SQL.
    """
    if isinstance(pipeline, str):
        from airflow_lineage_provider.spark.capturing.sql_text import frame_of_text

        return frame_of_text(spark, pipeline, params, name, sources)
    if is_frame(pipeline):
        if params:
            raise PlanError(
                f"pipeline {name} is a DataFrame, which takes no parameters ({', '.join(params)}); leave them out, or give a function "
                "(spark, **params) -> DataFrame"
            )
        return _spark_frame(pipeline)
    if not callable(pipeline):
        raise PlanError(f"{shown(pipeline)} is not a pipeline; give a function (spark, **params) -> DataFrame, a SQL text, or a DataFrame")
    given = {**params, **(sources or {})}
    check_parameters(pipeline, given, name)
    made = pipeline(spark, **given)
    if not is_frame(made):
        raise PlanError(f"pipeline {name} returned {what_it_is(made)}; {_FORMS}")
    return _spark_frame(made)


def check_parameters(pipeline: Callable[..., Any], params: Mapping[str, Any], name: str, first: str = "the session") -> None:
    """:raises PlanError: the pipeline cannot be called with what is ``first``, and these parameters."""
    try:
        signature = inspect.signature(pipeline)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None, **params)
    except TypeError as problem:
        raise PlanError(f"pipeline {name}{signature} is called with {first} and the parameters {list(params)}: {problem}") from None


def is_frame(given: Any) -> bool:
    """Whether it is a frame of Spark's, or of pandas on Spark. (Whoever has one has imported pyspark.)"""
    kinds = {(kind.__module__, kind.__name__) for kind in type(given).__mro__}
    spark = any(module.startswith("pyspark.sql.") and name == "DataFrame" for module, name in kinds)
    return spark or (hasattr(given, "to_spark") and any(module.startswith("pyspark.pandas") for module, _ in kinds))


def _spark_frame(frame: Any) -> DataFrame:
    if not hasattr(frame, "to_spark"):
        return frame  # type: ignore[no-any-return]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the index is left out is said in the docs
        found: DataFrame = frame.to_spark()
    return found


def what_it_is(made: Any) -> str:
    """What a pipeline returned that is no frame, for an error."""
    kind = type(made)
    if made is None:
        return "nothing (None): does it end with return?"
    if kind.__module__.startswith(("pandas", "pyarrow", "polars")):
        return f"a {kind.__name__} of {kind.__module__.partition('.')[0]}: its rows have left Spark, and lineage would end there"
    return f"a value of type {kind.__name__}"
