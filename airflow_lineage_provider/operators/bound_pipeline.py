"""A task's function, bound to the task's arguments: the pipeline ``(spark, **params) -> DataFrame`` that is run and recorded."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SESSION = ("spark", "sc")
"""Parameters that stand for the Spark session and its SparkContext, by Airflow's convention."""


@dataclass(frozen=True)
class BoundPipeline:
    """``run(spark, **params)`` gives the DataFrame; ``params`` are those that the DAG's author wrote, and that are recorded."""

    run: Callable[..., DataFrame]
    params: Mapping[str, Any]


def without_session(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function to Airflow's eyes, with a signature that leaves out ``spark`` and ``sc``.

    Airflow checks a task's arguments against its function's signature while the DAG is parsed, where there is no Spark yet.
    The function itself is not touched.
    """

    @functools.wraps(function)
    def visible(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **keywords)

    signature = inspect.signature(function)
    kept = [each for each in signature.parameters.values() if each.name not in SESSION]
    visible.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return visible


def bind(
    function: Callable[..., DataFrame], op_args: Collection[Any], op_kwargs: Mapping[str, Any], context: Mapping[str, Any]
) -> BoundPipeline:
    """Bind positional and keyword arguments, and the Airflow context variables that the function names (or all, where it has ``**kwargs``).

    Context variables (``ti``, ``params``, ``logical_date`` …) are handed over without being recorded as parameters.

    :raises TypeError: the arguments do not fit the function.
    """
    from airflow.providers.common.compat.sdk import determine_kwargs

    visible = without_session(function)
    params = _named(inspect.signature(visible), op_args, op_kwargs)
    ambient = {key: value for key, value in determine_kwargs(visible, (), context).items() if key not in params and key not in SESSION}
    wanted = [name for name in SESSION if name in inspect.signature(function).parameters]

    @functools.wraps(function)
    def run(spark: SparkSession, **given: Any) -> DataFrame:
        session: dict[str, Any] = {"spark": spark} if "spark" in wanted else {}
        if "sc" in wanted:
            session["sc"] = spark.sparkContext
        return function(**session, **ambient, **given)

    # Who asks for its signature means this one: the context variables are given already. (Airflow's own operator, where the function is
    # given to one as well, writes another into the function.)
    del run.__wrapped__
    run.__dict__.pop("__signature__", None)
    return BoundPipeline(run, params)


def _named(signature: inspect.Signature, op_args: Collection[Any], op_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Every argument by its name: a recorded parameter without a name would say nothing."""
    bound = dict(signature.bind_partial(*op_args, **op_kwargs).arguments)
    for each in signature.parameters.values():
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            bound |= bound.pop(each.name, {})
    return bound
