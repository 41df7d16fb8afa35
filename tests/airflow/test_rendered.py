"""A template that renders to nothing leads nowhere else: to no other run, output, store or cluster."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_lineage_provider.errors import EnvironmentProblem, InvalidOutput, RunNotFound, StoreError
from airflow_lineage_provider.hooks.lineage import LineageHook
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from tests.airflow.test_options import Facade, explained, pipeline

BLANK = ["", " ", "None", None]
X = "{{ x }}"


@pytest.mark.parametrize("rendered", BLANK)
@pytest.mark.parametrize(
    "given", [{"lineage_run_id": "{{ x }}"}, {"pipeline": "{{ x }}"}, {"lineage_run_id": "{{ x }}", "pipeline": "{{ x }}"}]
)
def test_a_template_that_renders_to_nothing_explains_no_other_run(given: dict[str, str], rendered: str | None) -> None:
    for name in given:
        operator = DeriveAugmentedLineageOperator(task_id="why", target="true", **({"pipeline": "loans"} | given))  # type: ignore[arg-type]
        setattr(operator, name, rendered)
        facade: Any = Facade()
        with pytest.raises(RunNotFound, match=f"task 'why': {name} is .*did its template render to nothing"):
            explained(operator, facade)
        assert not hasattr(facade, "asked")


@pytest.mark.parametrize("given", [{}, {"lineage_run_id": ""}, {"pipeline": ""}, {"lineage_run_id": "", "pipeline": "loans"}])
def test_no_run_at_all_is_refused_when_the_dag_is_read(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="does not say which run"):
        DeriveAugmentedLineageOperator(task_id="why", target="true", **given)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"pipeline": "loans"}, ("latest", "loans")),
        ({"lineage_run_id": "r1"}, ("r1", None)),
        ({"lineage_run_id": "r1", "pipeline": "loans"}, ("r1", "loans")),
    ],
)
def test_the_run_that_is_named_is_asked(given: dict[str, str], asked: tuple[str, str | None]) -> None:
    operator = DeriveAugmentedLineageOperator(task_id="why", target="true", **given)  # type: ignore[arg-type]
    facade: Any = Facade()
    explained(operator, facade)
    assert facade.asked == asked


@pytest.mark.parametrize("rendered", BLANK)
@pytest.mark.parametrize("name", ["result_output", "lineage_name"])
def test_an_output_that_renders_to_nothing_is_not_left_out(name: str, rendered: str | None) -> None:
    given: dict[str, Any] = {name.removeprefix("result_"): "{{ x }}"}
    operator = LineagePySparkOperator(task_id="examine", python_callable=pipeline, **given)
    setattr(operator, name, rendered)
    with pytest.raises(InvalidOutput, match="is blank when the task runs"):
        operator.execute({})


@pytest.mark.parametrize("rendered", ["", " ", "None"])
def test_a_blank_connection_leads_nowhere_else(rendered: str) -> None:
    for hook in (LineageHook(rendered), LineageHook(store=rendered)):
        with pytest.raises(StoreError, match="rendered to nothing"):
            hook.store_url()
    with pytest.raises(EnvironmentProblem, match="rendered to nothing"), LineageHook(conn_id=rendered).spark("app"):
        pass
