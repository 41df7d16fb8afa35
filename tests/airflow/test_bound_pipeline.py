"""A task's function and arguments, as the pipeline that is run and recorded."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from airflow_lineage_provider.operators.bound_pipeline import BoundPipeline, bind, without_session

SPARK: Any = type("Session", (), {"sparkContext": "the context"})()
CONTEXT = {"ds": "2025-12-01", "ti": "a task instance", "params": {}}


def called(bound: BoundPipeline) -> Any:
    """What the pipeline gives; here it is its arguments, and no frame."""
    return bound.run(SPARK, **bound.params)


def plain(spark: Any, month: int, limit: int = 10) -> Any:
    return spark, month, limit


def with_context(spark: Any, ds: str, month: int) -> Any:
    return spark, ds, month


def with_rest(spark: Any, **rest: Any) -> Any:
    return spark, rest


def with_sc(month: int, sc: Any, spark: Any = None) -> Any:
    return spark, sc, month


def with_task_instance(spark: Any, month: int, ti: Any) -> Any:
    return spark, month, ti


def test_positional_and_keyword_arguments_are_recorded_by_name() -> None:
    bound = bind(plain, [12], {"limit": 3}, CONTEXT)
    assert bound.params == {"month": 12, "limit": 3}
    assert called(bound) == (SPARK, 12, 3)


def test_defaults_are_the_functions_own() -> None:
    bound = bind(plain, [], {"month": 1}, CONTEXT)
    assert bound.params == {"month": 1}
    assert called(bound) == (SPARK, 1, 10)


def test_context_variables_are_passed_where_they_are_named_and_not_recorded() -> None:
    bound = bind(with_context, [], {"month": 12}, CONTEXT)
    assert bound.params == {"month": 12}
    assert called(bound) == (SPARK, "2025-12-01", 12)


def test_an_argument_wins_over_the_context_variable_of_its_name() -> None:
    bound = bind(with_context, [], {"month": 12, "ds": "mine"}, CONTEXT)
    assert called(bound) == (SPARK, "mine", 12)


def test_a_function_with_rest_gets_the_whole_context() -> None:
    bound = bind(with_rest, [], {"month": 12}, CONTEXT)
    assert bound.params == {"month": 12}
    assert called(bound) == (SPARK, {**CONTEXT, "month": 12})


def test_the_spark_context_is_passed_where_it_is_named() -> None:
    bound = bind(with_sc, [5], {}, CONTEXT)
    assert called(bound) == (SPARK, "the context", 5)


def test_airflow_sees_the_function_without_the_session() -> None:
    assert list(inspect.signature(without_session(plain)).parameters) == ["month", "limit"]
    assert list(inspect.signature(plain).parameters) == ["spark", "month", "limit"]


def test_the_pipeline_keeps_the_functions_name() -> None:
    assert bind(plain, [1], {}, CONTEXT).run.__name__ == "plain"


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'year'"):
        bind(plain, [], {"year": 2025}, CONTEXT)


def test_the_signature_is_that_of_the_bound_function() -> None:
    """Context variables are bound: whoever checks the parameters before the call does not ask for them."""
    bound = bind(with_task_instance, [], {"month": 12}, CONTEXT)
    inspect.signature(bound.run).bind(None, **bound.params)


def test_a_function_that_airflows_own_operator_has_as_well() -> None:
    """It writes another signature into the function, in which the session has a default."""

    def shared(month: int, spark: Any) -> Any:
        return month, spark

    shared.__signature__ = inspect.signature(lambda month, spark=None: None)
    bound = bind(shared, [12], {}, CONTEXT)
    assert list(inspect.signature(bound.run).parameters) == ["spark", "given"]
    assert called(bound) == (12, SPARK)
