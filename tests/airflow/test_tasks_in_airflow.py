"""The decorator and the operators in Airflow, on Spark, with a results store: nothing is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import RunNotComplete
from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.records.run import RunHead
from airflow_lineage_provider.store import Store

if TYPE_CHECKING:
    from tests.airflow.conftest import DagResult

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture(scope="module")
def tasks(run_dag: Callable[..., DagResult], folder: Path) -> Iterator[DagResult]:
    with pytest.MonkeyPatch.context() as patch:  # a task of it changes settings of its process
        for name in ("REQUIRED", "LIMIT"):
            patch.setenv(f"AIRFLOW_LINEAGE_CAPTURE_{name}", "")
            patch.delenv(f"AIRFLOW_LINEAGE_CAPTURE_{name}")
        yield run_dag("lineage_tasks", folder=str(folder))


@pytest.fixture(scope="module")
def classic(run_dag: Callable[..., DagResult]) -> DagResult:
    return run_dag("classic_operators")


def runs_of(tasks: DagResult, store: Store, task_id: str) -> list[RunHead]:
    """A task's runs in this DAG run, the newest first: where tests are taken up by another worker there are others before it."""
    return [one for one in store.runs(f"lineage_tasks.{task_id}", 20) if (one.airflow or {}).get("run_id") == tasks.run_id]


def test_all_tasks_succeed(tasks: DagResult) -> None:
    assert tasks.state == "success"


def test_the_result_is_written_where_the_template_says(tasks: DagResult, folder: Path) -> None:
    for map_index, rows in ((0, 2), (1, 3)):
        written = pq.read_table(folder / f"mapped-{map_index}").sort_by("id").to_pylist()
        assert written == [{"id": number, "scaled": number * 10} for number in range(rows)]


def test_xcom_names_the_run(tasks: DagResult, store: Store, folder: Path) -> None:
    result = tasks.result("mapped", map_index=1)
    assert sorted(result) == [
        "lineage", "lineage_cost", "lineage_lost", "lineage_run_id", "output", "pipeline", "rows", "run_id", "seconds", "sketches",
    ]  # fmt: skip
    assert result["lineage_cost"]["seconds"] > 0
    assert result["lineage_cost"]["at_least"]
    assert (result["lineage"], result["lineage_lost"]) == ("complete", None)
    assert (result["pipeline"], result["rows"]) == ("lineage_tasks/mapped", 3)
    assert result["output"] == {"kind": "path", "target": f"{folder}/mapped-1", "format": "parquet", "mode": "overwrite"}
    assert result["seconds"] > 0
    assert store.run(result["lineage_run_id"]).status == "complete"


def test_without_lineage_no_store_is_asked(tasks: DagResult, folder: Path) -> None:
    result = tasks.result("plain")
    assert (result["lineage"], result["lineage_run_id"], result["output"]) == (
        "off", None, {"kind": "path", "target": f"{folder}/plain", "format": "parquet", "mode": "overwrite"},
    )  # fmt: skip
    assert pq.read_table(folder / "plain").num_rows == 3


def test_a_store_that_is_away_takes_the_lineage_and_not_the_result(tasks: DagResult, folder: Path) -> None:
    assert tasks.states["without_store", -1] == "success"
    result = tasks.result("without_store")
    assert pq.read_table(folder / "kept").num_rows == 3
    assert (result["lineage"], result["rows"], result["output"]["target"]) == ("incomplete", 3, f"{folder}/kept")
    assert "does not answer" in result["lineage_lost"]
    assert "secret" not in str(result)


def test_a_sketch_is_captured_by_a_task_of_its_own(tasks: DagResult, store: Store) -> None:
    found = tasks.result("sketched")
    assert found["lineage_run_id"] == tasks.result("large_numbers")["lineage_run_id"]
    ((captured,), not_captured) = found["captured"], found["not_captured"]
    assert (captured["table"], captured["column"], captured["rows"], captured["total"], not_captured) == ("numbers", "id", 2, 6, {})
    (kept,) = store.run(found["lineage_run_id"]).sketches
    assert (kept.state, kept.sketch) == ("captured", captured["id"])


def test_the_run_knows_its_task_instance(tasks: DagResult, store: Store) -> None:
    for map_index, rows in ((0, 2), (1, 3)):
        record = store.run(tasks.result("mapped", map_index)["lineage_run_id"])
        assert record.params == {"rows": rows, "factor": 10}
        assert record.airflow == {
            "dag_id": "lineage_tasks",
            "run_id": tasks.run_id,
            "task_id": "mapped",
            "map_index": map_index,
            "try_number": 1,
            "logical_date": "1990-12-01T00:00:00+00:00",
        }


def test_a_retry_captures_lineage_that_is_required_and_runs_nothing(tasks: DagResult, store: Store, folder: Path) -> None:
    (head,) = runs_of(tasks, store, "required")
    record = store.run(head.id)
    assert record.airflow is not None
    assert record.captured is not None
    assert (record.status, record.airflow["try_number"], tasks.tries["required", -1]) == ("complete", 1, 2)
    assert record.captured.problem == ""
    assert (tasks.states["required", -1], tasks.result("required")["lineage_run_id"]) == ("success", record.id)
    assert pq.read_table(folder / "required").num_rows == 3


def test_a_failed_try_is_recorded_as_failed_and_the_next_beside_it(tasks: DagResult, store: Store) -> None:
    by_try = {record.airflow["try_number"]: record for record in runs_of(tasks, store, "second_time_lucky")}
    assert {number: record.status for number, record in by_try.items()} == {1: "failed", 2: "complete"}
    assert "not yet" in (by_try[1].error or "")
    assert "fragile" in (by_try[1].error or "")
    assert tasks.result("second_time_lucky")["lineage_run_id"] == by_try[2].id
    with pytest.raises(RunNotComplete, match="UdfFailed"):
        store.materializations(by_try[1].id)
    assert tasks.tries["second_time_lucky", -1] == 2


def test_a_task_that_is_tried_again_after_its_run_was_recorded_appends_once(tasks: DagResult, store: Store, folder: Path) -> None:
    assert [run.status for run in store.runs("lineage_tasks.appended", 2)] == ["complete", "dropped"]  # the newest first
    assert pq.read_table(folder / "appended").num_rows == 3


def test_a_function_that_writes_and_returns_a_count_is_recorded_and_hands_on_the_count(
    tasks: DagResult, folder: Path, store: Store, spark: SparkSession
) -> None:
    assert tasks.result("counts") == 6
    numbers, odd = tasks.result("counts", key="lineage_runs")
    assert [(each["pipeline"], each["rows"], each["lineage"]) for each in (numbers, odd)] == [
        ("numbers", 6, "complete"),
        ("odd_numbers", 3, "complete"),
    ]
    assert odd["output"] == {"kind": "path", "target": f"{folder}/odd_numbers", "format": "parquet", "mode": "overwrite"}
    assert pq.read_table(folder / "odd_numbers").num_rows == 3
    assert store.run(odd["lineage_run_id"]).airflow["task_id"] == "counts"
    with Lineage(spark) as lineage:
        answer = lineage.get_run(odd["lineage_run_id"]).explain("id = 3", progress=False)
    assert answer.sources["range"].rows.to_pylist() == [{"id": 3}]  # through the run that wrote the numbers


def test_a_function_that_writes_and_returns_a_frame_has_runs_of_both(tasks: DagResult, folder: Path) -> None:
    first, both = tasks.result("writes_and_returns", key="lineage_runs")
    assert tasks.result("writes_and_returns") == both
    assert [(each["pipeline"], each["rows"]) for each in (first, both)] == [("both", 4), ("both", 2)]
    assert both["output"]["target"] == f"{folder}/both"
    assert pq.read_table(folder / "both").num_rows == 2


def test_what_cannot_be_recorded_is_written_where_that_is_asked_and_said(tasks: DagResult, folder: Path) -> None:
    (sampled,) = tasks.result("samples", key="lineage_runs")
    assert (sampled["pipeline"], sampled["lineage"]) == ("sampled", "incomplete")
    assert "sample" in sampled["lineage_lost"].lower()
    assert pq.read_table(folder / "sampled").num_rows > 0


def test_context_variables_are_not_parameters(tasks: DagResult, store: Store) -> None:
    assert store.run(tasks.result("second_time_lucky")["lineage_run_id"]).params == {}


def test_the_plain_operator_renders_its_arguments_and_passes_the_context(classic: DagResult) -> None:
    with Lineage() as lineage:
        run = lineage.get_run(classic.result("numbers")["lineage_run_id"])
        rows = run.result_table().to_pylist()
    assert run.record.params == {"rows": "10"}
    assert sorted(row["id"] for row in rows) == list(range(10))
    assert {row["ds"] for row in rows} == {"1990-12-01"}


def test_a_derivation_is_stored_and_counted(classic: DagResult) -> None:
    answer = classic.result("by_id")
    assert answer["lineage_run_id"] == classic.result("numbers")["lineage_run_id"]
    assert answer["target"] == "odd AND ds = '1990-12-01'"
    assert answer["counts"]["target"] == 5
    assert (answer["guarantee"], answer["stale"], answer["verified"]) == ("exact", [], True)
    with Lineage() as lineage:
        stored = lineage.derivation(answer["derivation_id"])
    assert stored.counts() == answer["counts"]
    assert sorted(row["id"] for row in stored.target.to_pylist()) == [1, 3, 5, 7, 9]


def test_the_latest_run_of_a_pipeline_and_a_target_given_as_rows(classic: DagResult) -> None:
    answer = classic.result("latest")
    assert answer["lineage_run_id"] == classic.result("numbers")["lineage_run_id"]
    assert answer["counts"]["target"] == 1


def test_an_empty_target_is_an_answer_only_where_it_is_allowed(classic: DagResult) -> None:
    assert classic.states["nothing", -1] == "success"
    nothing = classic.result("nothing")
    assert (nothing["derivation_id"], nothing["counts"]) == (None, {"target": 0})
    assert classic.states["empty", -1] == "failed"


def test_a_target_over_the_limit_fails(classic: DagResult) -> None:
    assert classic.states["too_many", -1] == "failed"


def test_both_kinds_of_answer_have_the_same_keys(classic: DagResult) -> None:
    assert sorted(classic.result("nothing")) == sorted(classic.result("by_id"))


def test_a_derivation_must_say_of_which_run() -> None:
    with pytest.raises(ValueError, match="'why' does not say which run it is about; give lineage_run_id=… or pipeline=…"):
        DeriveAugmentedLineageOperator(task_id="why", target="true")
    with pytest.raises(ValueError, match="'later' does not say which run it is about"):
        CaptureLineageOperator(task_id="later", pipeline="")


def test_lineage_is_captured_with_the_run_or_by_a_task_of_its_own(tasks: DagResult, classic: DagResult) -> None:
    answer = classic.result("captured")
    assert answer["lineage_run_id"] == classic.result("numbers")["lineage_run_id"]
    with Lineage() as lineage:
        run, mapped = lineage.get_run(answer["lineage_run_id"]), lineage.get_run(tasks.result("mapped", map_index=1)["lineage_run_id"])
        assert run.index is not None
        assert (answer["indexes"], answer["pairs"], answer["bytes"]) == (len(run.index), run.index.edges, run.index.bytes)
        assert {one.direction for one in run.index} == {"backward"}
        assert mapped.index is not None
        assert {one.direction for one in mapped.index} == {"backward", "forward"}
        (of_range,) = {one.to for one in run.index}
        assert of_range == "range"
