"""Options of the operators: refused when the DAG is read, passed on when the task runs, and templates checked in between."""

from __future__ import annotations

import re
from typing import Any

import pytest

from airflow_lineage_provider.hooks.lineage import LineageHook
from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.derive_sketch import DeriveSketchOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from airflow_lineage_provider.operators.lineage_spark_sql import LineageSparkSqlOperator
from airflow_lineage_provider.operators.lineage_spark_submit import LineageSparkSubmitOperator
from airflow_lineage_provider.progress import unwatched
from airflow_lineage_provider.running.output import Output
from airflow_lineage_provider.words import OPTIONS, Difference, Strategy, words
from tests.airflow.submitting import context
from tests.options_with_words import functions_of, options_of


def pipeline(spark: Any) -> Any:
    return spark.range(3)


class Facade:
    """Records what the operators hand on."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    def run(self, _pipeline: Any, **options: Any) -> str:
        self.options = options
        return "a run"

    def latest(self, pipeline: str | None = None) -> Facade:
        return self.get_run("latest", pipeline)

    def get_run(self, run_id: str, pipeline: str | None = None) -> Facade:
        self.asked = (run_id, pipeline)
        return self

    id = "01a"

    def explain(self, _target: Any, **options: Any) -> str:
        self.options = options
        return "an explanation"


def explained(operator: DeriveAugmentedLineageOperator, facade: Any) -> Any:
    """What the operator's question gives, asked of a run."""
    asked = operator._question_about(operator._run(facade), context())  # type: ignore[arg-type]
    return asked.answered(facade, params=None, context={}, progress=unwatched)


@pytest.mark.parametrize("strategy", [*words(Strategy), "{{ params.strategy }}"])
def test_strategies_are_taken_and_templates_too(strategy: Strategy) -> None:
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


@pytest.mark.parametrize("difference", [*words(Difference), "{{ params.difference }}"])
def test_differences_are_taken_and_handed_on(difference: Any) -> None:
    operator = DeriveAugmentedLineageOperator(task_id="why", target="true", pipeline="loans", difference=difference)
    assert "difference" in operator.template_fields
    facade: Any = Facade()
    assert explained(operator, facade) == "an explanation"
    assert facade.options["difference"] == difference


@pytest.mark.parametrize("across", [True, False])
def test_whether_other_runs_are_traced_through_is_handed_on(across: bool) -> None:
    operator = DeriveAugmentedLineageOperator(task_id="why", target="true", pipeline="loans", across=across)
    facade: Any = Facade()
    explained(operator, facade)
    assert facade.options["across"] is across


def test_a_wrong_difference_is_refused_when_the_dag_is_read() -> None:
    with pytest.raises(ValueError, match="task 'why': difference='all' is not known; it can be control, data, rows"):
        DeriveAugmentedLineageOperator(task_id="why", target="true", pipeline="loans", difference="all")  # type: ignore[arg-type]


WRONG_TO_RUN = [
    ({"strategy": "everything"}, "strategy='everything' is not known"),
    ({"strategy": 3}, "strategy=3 is not known"),
    ({"reasons": "eagre"}, "reasons='eagre' is not known; it can be lazy, eager"),
    ({"output": "delta:/x+upsert"}, "mode 'upsert' is not known; it can be error, overwrite, append"),
    ({"output": "delta:/x"}, "output format 'delta' is not known; it can be parquet, csv, json, orc"),
    ({"output": "jdbc:mysql://host/db"}, "a jdbc: address is not an output"),
    ({"output": "postgresql://me:hunter2@host:port/db#t"}, "is not of PostgreSQL"),
    ({"output": Output.path("/data/{{ ds }}")}, "an Output is not rendered"),
    ({"capture": "always"}, "capture='always' is not known; it can be lazy, eager, or Capture(direction=…, tables=[…])"),
    ({"sketches": "always"}, "sketches='always' is not known; it can be off, use, auto, eager, capture"),
    ({"sketch_on": ["loans"]}, "sketch_on=['loans'] is not understood; it can be {table: column}"),
    ({"sketch_on": {"loans": 3}}, "sketch_on: column=3 is no name of a column"),
    ({"verify_sketches": "yes"}, "verify_sketches='yes' is not known; it can be True, False"),
    ({"keys": {"loans": "id"}}, "the key of table 'loans' is 'id'"),
    ({"keys": ["loans"]}, "keys="),
    ({"index": "id"}, "index='id' is not understood; it can be [column, [column, …], …]"),
]
WRONG_TO_DERIVE = [
    ({"difference": "all"}, "difference='all' is not known; it can be control, data, rows"),
    ({"subqueries": "all"}, "subqueries='all' is not known; it can be partners, data, rows"),
    ({"max_rows": 0}, "max_rows=0 is not a number of rows"),
    ({"max_rows": "{{ params.limit }}"}, "is not a number of rows"),
    ({"max_rows": True}, "max_rows=True is not a number of rows"),
    ({"verify": "no"}, "verify='no' is not known; it can be True, False"),
    ({"across": None}, "across=None is not known"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_TO_RUN)
def test_wrong_options_of_a_run_are_refused_when_the_dag_is_read(options: dict[str, Any], message: str) -> None:
    from airflow.sdk import DAG, task

    with pytest.raises(ValueError, match=f"task 'examine'.*{re.escape(message)}"):
        LineagePySparkOperator(task_id="examine", python_callable=pipeline, **options)
    with pytest.raises(ValueError, match=f"task 'examine'.*{re.escape(message)}"):
        LineagePySparkOperator.partial(task_id="examine", python_callable=pipeline, **options).expand(op_kwargs=[{}])
    with DAG("wrong"), pytest.raises(ValueError, match=f"task '@task.lineage_pyspark'.*{re.escape(message)}"):
        task.lineage_pyspark(**options)(pipeline)
    with DAG("overridden"), pytest.raises(ValueError, match=re.escape(message)):
        task.lineage_pyspark()(pipeline).override(**options)()


@pytest.mark.parametrize(("options", "message"), WRONG_TO_DERIVE)
def test_wrong_options_of_a_derivation_are_refused_when_the_dag_is_read(options: dict[str, Any], message: str) -> None:
    given = {"task_id": "why", "pipeline": "loans", **options}
    with pytest.raises(ValueError, match=f"task 'why'.*{re.escape(message)}"):
        DeriveAugmentedLineageOperator(target="true", **given)
    with pytest.raises(ValueError, match=f"task 'why'.*{re.escape(message)}"):
        DeriveAugmentedLineageOperator.partial(**given).expand(target=["true"])


def test_no_password_is_in_the_message() -> None:
    with pytest.raises(ValueError) as refused:
        LineagePySparkOperator(task_id="examine", python_callable=pipeline, output="postgresql://me:hunter2@host:port/db#t")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("template", "rendered", "message"),
    [
        ({"reasons": "{{ params.reasons }}"}, {"reasons": "eagre"}, "reasons='eagre' is not known"),
        ({"output": "parquet:/data/x+{{ params.mode }}"}, {"result_output": "parquet:/data/x+upsert"}, "mode 'upsert' is not known"),
        ({"keys": {"{{ params.table }}": ["id"]}}, {"keys": {"loans": []}}, "the key of table 'loans'"),
    ],
)
def test_what_a_template_made_is_refused_before_spark_is_started(
    template: dict[str, Any], rendered: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = LineagePySparkOperator(task_id="examine", python_callable=pipeline, **template)
    for name, value in rendered.items():
        assert name in operator.template_fields
        setattr(operator, name, value)
    monkeypatch.setattr(LineagePySparkOperator, "_run", lambda *_: pytest.fail("the task began"))
    with pytest.raises(ValueError, match=message):
        type(operator).execute.__wrapped__(operator, {})


def test_another_tasks_result_is_known_only_when_the_task_runs() -> None:
    from airflow.sdk import DAG, task

    with DAG("late"):
        made = task(lambda: "rerun", task_id="chooses")()
        assert task.lineage_pyspark(strategy=made)(pipeline)().operator.strategy is made


def test_old_names_of_options_work_and_say_what_to_write() -> None:
    with pytest.warns(DeprecationWarning, match="is called (lineage_run_id|max_rows) now") as told:
        operator = DeriveAugmentedLineageOperator(task_id="why", target="true", run_id="r", limit=7)
    assert len(told) == 2
    assert (operator.lineage_run_id, operator.max_rows) == ("r", 7)
    with pytest.raises(ValueError, match="run_id is the old name of lineage_run_id"):
        DeriveAugmentedLineageOperator(task_id="why", target="true", run_id="r", lineage_run_id="r")


OPERATORS: tuple[Any, ...] = (
    LineagePySparkOperator, LineageSparkSqlOperator, LineageSparkSubmitOperator, DeriveAugmentedLineageOperator, CaptureLineageOperator,
    DeriveSketchOperator,
)  # fmt: skip
OURS = {made: [each for each in made.__mro__ if each.__module__.startswith("airflow_lineage_provider.")] for made in OPERATORS}
WITH_WORDS = [(made, option, kind) for made in OPERATORS for each in OURS[made] for option, kind in options_of(each.__init__)]
REST: dict[Any, dict[str, Any]] = {
    LineagePySparkOperator: {"task_id": "one", "python_callable": pipeline},
    LineageSparkSqlOperator: {"task_id": "one", "sql": "SELECT 1"},
    LineageSparkSubmitOperator: {"task_id": "one", "application": "judge.py"},
    DeriveAugmentedLineageOperator: {"task_id": "one", "target": "true", "pipeline": "loans"},
    CaptureLineageOperator: {"task_id": "one", "pipeline": "loans"},
    DeriveSketchOperator: {"task_id": "one", "pipeline": "loans"},
}


def test_operators_have_the_options_of_runs_and_questions() -> None:
    # Tables are profiled by no operator.
    assert {option for _, option, _ in WITH_WORDS} == set(OPTIONS) - {"nulls", "method"}
    assert all(OPTIONS[option] is kind for _, option, kind in WITH_WORDS)


@pytest.mark.parametrize("wrong", ["eagerly", "", 7, None])
@pytest.mark.parametrize(("made", "option", "kind"), WITH_WORDS)
def test_another_word_is_refused_by_name_when_the_dag_is_read(made: Any, option: str, kind: Any, wrong: Any) -> None:
    known = re.escape(", ".join(words(kind)))
    with pytest.raises(ValueError, match=f"task 'one': {option}=.* is not known; it can be {known}"):
        made(**REST[made], **{option: wrong})
    with pytest.raises(ValueError, match=f"task 'one': {option}=.* is not known; it can be {known}"):
        made.partial(**REST[made], **{option: wrong})


def test_the_hook_refuses_another_word_by_name() -> None:
    (found,) = [(name, option) for name, function in functions_of("hook", LineageHook) for option, _ in options_of(function)]
    assert found == ("hook.lineage", "on_store_failure")
    with pytest.raises(ValueError, match="on_store_failure='eagerly' is not known"):
        LineageHook(store="postgresql://127.0.0.1:1/nothing").lineage(on_store_failure="eagerly")  # type: ignore[arg-type]
