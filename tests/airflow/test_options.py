"""Options of the operators that take one of a few words: refused when the DAG is read, passed on when the task runs."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from airflow_lineage_provider.explanation import Difference
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from airflow_lineage_provider.tracing.strategies import STRATEGIES


def pipeline(spark: Any) -> Any:
    return spark.range(3)


class Facade:
    """Records what the operators hand on."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    def run(self, _pipeline: Any, **options: Any) -> str:
        self.options = options
        return "a run"

    def get(self, _run_id: str, pipeline: str | None = None) -> Facade:
        return self

    def explain(self, _target: Any, **options: Any) -> str:
        self.options = options
        return "an explanation"


@pytest.mark.parametrize("strategy", [*STRATEGIES, "{{ params.strategy }}"])
def test_strategies_are_taken_and_templates_too(strategy: str) -> None:
    operator = LineagePySparkOperator(task_id="examine", python_callable=pipeline, strategy=strategy)
    assert operator.strategy == strategy
    assert "strategy" in operator.template_fields


def test_a_wrong_strategy_is_refused_when_the_dag_is_read() -> None:
    with pytest.raises(ValueError, match="task 'examine': strategy='everything' is not known; it can be function_materialization, rerun"):
        LineagePySparkOperator(task_id="examine", python_callable=pipeline, strategy="everything")


def test_the_decorator_refuses_it_too() -> None:
    from airflow.sdk import DAG, task

    with DAG("options"), pytest.raises(ValueError, match="strategy='everything' is not known"):
        task.lineage_pyspark(strategy="everything")(pipeline)()


@pytest.mark.parametrize("difference", [*get_args(Difference), "{{ params.difference }}"])
def test_differences_are_taken_and_handed_on(difference: Any) -> None:
    operator = DeriveAugmentedLineageOperator(task_id="why", target="true", pipeline="loans", difference=difference)
    assert "difference" in operator.template_fields
    facade: Any = Facade()
    assert operator._explain(facade, {}) == "an explanation"  # type: ignore[comparison-overlap]
    assert facade.options["difference"] == difference


@pytest.mark.parametrize("across", [True, False])
def test_whether_other_runs_are_traced_through_is_handed_on(across: bool) -> None:
    operator = DeriveAugmentedLineageOperator(task_id="why", target="true", pipeline="loans", across=across)
    facade: Any = Facade()
    operator._explain(facade, {})
    assert facade.options["across"] is across


def test_a_wrong_difference_is_refused_when_the_dag_is_read() -> None:
    with pytest.raises(ValueError, match="task 'why': difference='all' is not known; it can be control, data, rows"):
        DeriveAugmentedLineageOperator(task_id="why", target="true", pipeline="loans", difference="all")  # type: ignore[arg-type]
