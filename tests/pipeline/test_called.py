"""A function called as a program: what it writes and what it returns, and what is refused before it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Secret
from airflow_lineage_provider.called import call
from airflow_lineage_provider.errors import (
    CaptureRequired,
    InvalidOption,
    InvalidOutput,
    PlanError,
    RunFailed,
    StoreUnavailable,
    WriteNotRecorded,
)
from tests.pandas_on_spark import pandas_on_spark

pytestmark = pytest.mark.spark


def _never(_spark: Any) -> None:
    pytest.fail("the function was called")


def _called(lineage: Lineage, spark: SparkSession, function: Any, **options: Any) -> Any:
    return call(lineage, spark, function, **{"name": "called", "progress": False, **options})


@pytest.mark.parametrize("value", [None, 3, "/a/path", {"rows": 3}, [1, 2]])
def test_what_is_no_frame_is_handed_on(lineage: Lineage, spark: SparkSession, value: Any) -> None:
    called = _called(lineage, spark, lambda _spark: value)
    assert (called.value, called.runs) == (value, ())


def test_its_writes_are_recorded_with_its_parameters(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    def function(spark: SparkSession, rows: int) -> str:
        spark.range(rows).write.parquet(f"{tmp_path}/first")
        return "done"

    called = _called(lineage, spark, function, params={"rows": 3}, clear_params=["rows"], context={"task_id": "t"})
    (run,) = called.written
    assert (called.value, called.result) == ("done", None)
    assert (run.record.params, run.record.airflow, run.summary.pipeline) == ({"rows": 3}, {"task_id": "t"}, "first")


def test_a_frame_has_the_parameters_that_made_it_and_keys_of_all_tables(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([(1, "a"), (2, "b")], "n int, name string").write.json(f"{tmp_path}/a")
    spark.createDataFrame([(1,)], "n int").write.json(f"{tmp_path}/b")

    def function(spark: SparkSession, low: int) -> Any:
        spark.read.json(f"{tmp_path}/a").write.parquet(f"{tmp_path}/written")
        return pandas_on_spark(spark.read.json(f"{tmp_path}/b").where(f"n > {low}"))

    keys = {f"{tmp_path}/a": ["n"]}
    called = _called(lineage, spark, function, params={"low": 0}, clear_params=["low"], keys=keys, output=f"{tmp_path}/out")
    written, result = called.runs
    assert (written.summary.pipeline, result.summary.pipeline) == ("written", "called")
    assert (result.record.params, result.summary.rows) == ({"low": 0}, 1)
    with pytest.raises(PlanError, match="keys name"):  # where nothing is written they are of the frame's own tables, as ever
        _called(lineage, spark, lambda spark: spark.range(3), keys=keys)


def test_the_lineage_of_all_its_runs_is_captured(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    def function(spark: SparkSession) -> Any:
        spark.range(3).write.parquet(f"{tmp_path}/first")
        return spark.read.parquet(f"{tmp_path}/first").where("id > 0")

    written, result = _called(lineage, spark, function, capture="eager").runs
    assert [run.index is not None and run.index.problem for run in (written, result)] == ["", ""]
    (of_write,) = _called(lineage, spark, lambda spark: spark.range(3).write.parquet(f"{tmp_path}/second"), capture="eager").runs
    assert {one.to for one in of_write.index or ()} == {"range"}


def _tries(whose: Any, count: int) -> list[dict[str, Any]]:
    """Contexts of the tries of one task instance, the first first."""
    return [{"dag_id": "d", "run_id": f"r {whose}", "task_id": "t", "map_index": -1, "try_number": 1 + at} for at in range(count)]


def test_a_retry_captures_what_stands_and_calls_nothing(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where lineage has to be captured, and was not: what was written is not written again."""
    calls: list[int] = []

    def function(spark: SparkSession) -> Any:
        calls.append(len(calls))
        spark.range(5).write.mode("overwrite").parquet(f"{tmp_path}/first")
        return spark.read.parquet(f"{tmp_path}/first").where("id > 0")

    tries = _tries(tmp_path, 5)
    options: dict[str, Any] = {"capture": "eager", "output": f"{tmp_path}/out+append", "name": "retried"}
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "1")
    with monkeypatch.context() as patched:
        patched.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "1")
        for number in (0, 1):  # which does not help as long as nothing changes
            with pytest.raises(CaptureRequired, match="there are more than 1 pairs of rows"):
                _called(lineage, spark, function, **options, context=tries[number], earlier_tries=tries[:number][::-1])
    assert calls == [0]
    found = _called(lineage, spark, function, **options, context=tries[2], earlier_tries=tries[:2][::-1])
    assert calls == [0]
    written, result = found.runs
    assert [run.record.airflow["try_number"] for run in found.runs] == [1, 1]
    assert [run.index is not None and run.index.problem for run in found.runs] == ["", ""]
    assert (written.summary.pipeline, result.summary.pipeline, found.result) == ("first", "retried", result)
    assert spark.read.parquet(f"{tmp_path}/out").count() == 4
    # Cleared: nothing was tried since, and it runs. So it does where nothing is missing, and where it is not required.
    _called(lineage, spark, function, **options, context=tries[3])
    _called(lineage, spark, function, **options, context=tries[4], earlier_tries=tries[:4][::-1])
    assert calls == [0, 1, 2]
    assert spark.read.parquet(f"{tmp_path}/out").count() == 12


def test_a_retry_runs_where_what_was_read_is_there_no_more(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def function(spark: SparkSession) -> Any:
        calls.append(len(calls))
        return spark.read.parquet(f"{tmp_path}/in").where("id > 0")

    spark.range(3).write.parquet(f"{tmp_path}/in")
    tries = _tries(tmp_path, 3)
    options: dict[str, Any] = {"capture": "eager", "output": f"{tmp_path}/out+overwrite", "name": "retried"}
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "1")
    with monkeypatch.context() as patched:
        patched.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "1")
        with pytest.raises(CaptureRequired):
            _called(lineage, spark, function, **options, context=tries[0])
    spark.range(9).write.mode("overwrite").parquet(f"{tmp_path}/in")
    found = _called(lineage, spark, function, **options, context=tries[1], earlier_tries=tries[:1])
    assert (calls, found.result.summary.rows, found.result.record.airflow["try_number"]) == ([0, 1], 8, 2)
    # What wrote by itself and gave no frame has a value to give, which only it knows.
    with monkeypatch.context() as patched:
        patched.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "1")
        with pytest.raises(CaptureRequired):
            _called(lineage, spark, _writes(tmp_path, calls), capture="eager", name="writes", context={**tries[0], "task_id": "w"})
    again = _called(
        lineage, spark, _writes(tmp_path, calls), capture="eager", name="writes", context={**tries[1], "task_id": "w"},
        earlier_tries=[{**tries[0], "task_id": "w"}],
    )  # fmt: skip
    assert (calls[2:], again.value) == ([2, 3], 3)


def _first(lineage: Lineage, spark: SparkSession, function: Any, patch: pytest.MonkeyPatch, whose: Any, **options: Any) -> list[Any]:
    """A first try whose lineage is too much to capture; the contexts of it and of the next."""
    patch.setenv("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "1")
    tries = _tries(whose, 2)
    with patch.context() as patched:
        patched.setenv("AIRFLOW_LINEAGE_CAPTURE_LIMIT", "1")
        with pytest.raises(CaptureRequired):
            _called(lineage, spark, function, **options, context=tries[0])
    return tries


def test_a_retry_of_writes_and_a_frame_of_one_name(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task with a ``lineage_name``: the frame's run is told by its output."""
    calls: list[int] = []

    def function(spark: SparkSession) -> Any:
        calls.append(1)
        spark.range(5).write.mode("overwrite").parquet(f"{tmp_path}/first")
        return spark.read.parquet(f"{tmp_path}/first").where("id > 0")

    options: dict[str, Any] = {"capture": "eager", "output": f"{tmp_path}/out+append", "name": "one", "name_of_writes": "one"}
    tries = _first(lineage, spark, function, monkeypatch, tmp_path, **options)
    found = _called(lineage, spark, function, **options, context=tries[1], earlier_tries=tries[:1])
    assert (len(calls), [run.summary.pipeline for run in found.runs]) == (1, ["one", "one"])
    assert found.result.record.output.target == f"{tmp_path}/out"
    assert spark.read.parquet(f"{tmp_path}/out").count() == 4


@pytest.mark.parametrize(
    "other", [{"params": {"low": 2}}, {"output": "other+append"}, {"output": "out+overwrite"}, {"strategy": "full_materialization"}]
)
def test_a_retry_that_is_asked_for_something_else_runs(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    def function(spark: SparkSession, low: int) -> Any:
        return spark.range(5).where(f"id > {low}")

    options: dict[str, Any] = {"capture": "eager", "output": f"{tmp_path}/out+append", "params": {"low": 1}}
    tries = _first(lineage, spark, function, monkeypatch, tmp_path, **options)
    changed = other | ({"output": f"{tmp_path}/{other['output']}"} if "output" in other else {})
    found = _called(lineage, spark, function, **{**options, **changed}, context=tries[1], earlier_tries=tries[:1])
    assert found.result.record.airflow["try_number"] == 2
    assert found.result.summary.rows == (2 if "params" in other else 3)


def test_a_retry_with_another_secret_runs(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A token that is drawn for each try; and a session variable, whose value is not known before the function is called."""

    def function(spark: SparkSession, token: str = "none") -> Any:
        spark.sql("DECLARE OR REPLACE VARIABLE drawn STRING DEFAULT 'tok-session-1'")
        return spark.sql(f"SELECT id, '{token}' AS t, drawn FROM range(5)")

    options: dict[str, Any] = {"capture": "eager", "output": f"{tmp_path}/out+overwrite"}
    first = {**options, "params": {"token": Secret("token-of-try-1")}}
    tries = _first(lineage, spark, function, monkeypatch, tmp_path, **first)
    second = {**options, "params": {"token": Secret("token-of-try-2")}}
    found = _called(lineage, spark, function, **second, context=tries[1], earlier_tries=tries[:1])
    assert found.result.record.airflow["try_number"] == 2
    options = {**options, "secret_params": ["drawn"]}
    tries = _first(lineage, spark, function, monkeypatch, f"{tmp_path} variable", **options)
    found = _called(lineage, spark, function, **options, context=tries[1], earlier_tries=tries[:1])
    assert found.result.record.airflow["try_number"] == 2
    assert "with other secrets, or with some that only the session has" in caplog.text


def test_a_retry_without_a_store(lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where results are to be kept it runs; where no lineage is to be captured nobody asks."""
    monkeypatch.setenv("AIRFLOW_LINEAGE_CAPTURE_REQUIRED", "1")
    tries = _tries(tmp_path, 2)

    def away(*_: Any) -> None:
        raise StoreUnavailable("the results store does not answer")

    def function(spark: SparkSession) -> Any:
        return spark.range(5).where("id > 0")

    monkeypatch.setattr(type(lineage.store), "list_runs", away)
    options = {"context": tries[1], "earlier_tries": tries[:1]}
    assert _called(lineage, spark, function, **options, capture="lazy").result.summary.rows == 4
    with pytest.raises(StoreUnavailable):
        _called(lineage, spark, _never, **options, capture="eager")
    keeping = Lineage(spark, store=lineage.store, on_store_failure="keep_result")
    assert _called(keeping, spark, function, **options, capture="eager").result.summary.rows == 4


def test_a_retry_does_not_run_over_what_it_has_overwritten(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would read its own result, and make of it the next."""
    calls: list[int] = []

    def function(spark: SparkSession) -> Any:
        calls.append(1)
        spark.read.parquet(f"{tmp_path}/in").selectExpr("id + 1 AS id").write.mode("overwrite").parquet(f"{tmp_path}/between")
        return spark.read.parquet(f"{tmp_path}/between")

    spark.range(5).write.parquet(f"{tmp_path}/in")
    options: dict[str, Any] = {"capture": "eager", "output": f"{tmp_path}/in+overwrite"}
    tries = _first(lineage, spark, function, monkeypatch, tmp_path, **options)
    with pytest.raises(CaptureRequired):
        _called(lineage, spark, function, **options, context=tries[1], earlier_tries=tries[:1])
    assert len(calls) == 1
    assert sorted(row.id for row in spark.read.parquet(f"{tmp_path}/in").collect()) == [1, 2, 3, 4, 5]


def _writes(folder: Path, calls: list[int]) -> Any:
    def function(spark: SparkSession) -> int:
        calls.append(len(calls))
        spark.range(3).write.mode("overwrite").parquet(f"{folder}/written")
        return 3

    return function


def test_a_secret_is_in_no_error_and_in_no_plan(lineage: Lineage, spark: SparkSession) -> None:
    def fails(_spark: SparkSession, token: str) -> None:
        raise ValueError(f"refused {token}")

    with pytest.raises(RunFailed) as failed:
        _called(lineage, spark, fails, params={"token": Secret("hunter2-h2")})
    assert "hunter2" not in str(failed.value)

    called = _called(
        lineage,
        spark,
        lambda spark, token: spark.sql(f"SELECT id, '{token}' AS t FROM range(2)"),
        params={"token": Secret("hunter2-h2")},
    )
    assert "hunter2" not in lineage.store.run(called.result.id).plan


def test_its_own_errors_are_its_own(lineage: Lineage, spark: SparkSession) -> None:
    class Skipped(Exception):
        pass

    def skips(_spark: SparkSession) -> None:
        raise Skipped("not today")

    with pytest.raises(Skipped, match="not today"):
        _called(lineage, spark, skips)


def test_an_output_without_a_frame_is_refused_by_name(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    def writes(spark: SparkSession) -> int:
        spark.range(3).write.parquet(f"{tmp_path}/first")
        return 3

    with pytest.raises(InvalidOutput, match=r"the DataFrame goes that called returns, and it returned a value of type int\. What it"):
        _called(lineage, spark, writes, output=f"{tmp_path}/out")
    assert lineage.latest("first").summary.rows == 3
    with pytest.raises(InvalidOutput, match=r"nothing \(None\): does it end with return\?\. Leave output out"):
        _called(lineage, spark, lambda _spark: None, output=f"{tmp_path}/out")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"append_key": "k"}, InvalidOption, "append_key='k' is for an output that is appended to"),
        ({"on_unsupported": "shrug"}, InvalidOption, "on_unsupported='shrug' is not known"),
        ({"output": "nowhere"}, InvalidOutput, "not understood"),
        ({"params": {"odd": 1}}, PlanError, "is called with the session"),
    ],
)
def test_wrong_options_are_refused_before_it_is_called(
    lineage: Lineage, spark: SparkSession, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        _called(lineage, spark, _never, **options)


def test_what_cannot_be_recorded_is_refused_before_it_is_made(lineage: Lineage, spark: SparkSession) -> None:
    with pytest.raises(WriteNotRecorded, match="DELETE"):
        _called(lineage, spark, lambda spark: spark.sql("DELETE FROM nothing_there"))
