"""With lineage off a task is the plain operator: no store is opened, nothing is recorded, and what asks about runs is skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowSkipException
from pyspark.sql import SparkSession

from airflow_lineage_provider.errors import InvalidOption, InvalidOutput, InvalidSetting
from airflow_lineage_provider.hooks.enabled import lineage_enabled
from airflow_lineage_provider.hooks.lineage import LineageHook
from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator
from airflow_lineage_provider.operators.derive_sketch import DeriveSketchOperator
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from airflow_lineage_provider.reasons import reasoned_udf


@pytest.mark.parametrize(
    ("variable", "configured", "given", "enabled"),
    [
        ("", None, None, True),
        ("", None, False, False),
        ("", "false", None, False),
        ("", "false", True, False),
        ("1", "false", None, True),
        ("0", "true", None, False),
        ("0", None, True, False),
    ],
)
def test_who_decides(variable: str, configured: str | None, given: bool | None, enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", variable)
    if configured is not None:
        monkeypatch.setenv("AIRFLOW__LINEAGE__ENABLED", configured)
    assert lineage_enabled(given) is enabled


def test_a_wrong_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", "perhaps")
    with pytest.raises(InvalidSetting, match="AIRFLOW_LINEAGE_ENABLED"):
        lineage_enabled()
    wrong: Any = "no"
    with pytest.raises(ValueError, match="task 'examine': lineage='no' is not known; it can be True, False"):
        LineagePySparkOperator(task_id="examine", python_callable=print, lineage=wrong)


@pytest.mark.parametrize(
    "operator",
    [
        DeriveAugmentedLineageOperator(task_id="why", pipeline="p", target="true"),
        CaptureLineageOperator(task_id="capture", pipeline="p"),
        DeriveSketchOperator(task_id="sketch", pipeline="p"),
    ],
)
def test_what_asks_about_runs_is_skipped(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", "0")
    with pytest.raises(AirflowSkipException, match="lineage is switched off"):
        operator.asked(lambda lineage: pytest.fail("the store was opened"))


@pytest.fixture
def off(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def session(self: LineageHook, app_name: str) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(LineageHook, "spark", session)
    monkeypatch.setattr(LineageHook, "lineage", lambda *_, **__: pytest.fail("the store was opened"))
    monkeypatch.setenv("AIRFLOW_LINEAGE_ENABLED", "0")


def executed(function: Any, **options: Any) -> Any:
    operator: Any = LineagePySparkOperator(task_id="examine", python_callable=function, **options)
    return type(operator).execute.__wrapped__(operator, {})


@reasoned_udf("bigint", name="doubled_without_lineage")
def doubled(number: int) -> int:
    return 2 * number


def test_reasoned_udfs_decide_and_the_result_is_written(off: None, tmp_path: Path) -> None:
    def pipeline(spark: Any, rows: int) -> Any:
        doubled.register(spark)
        return spark.sql(f"SELECT doubled_without_lineage(id) AS two FROM range({rows})")

    result = executed(pipeline, output=f"{tmp_path}/out", op_kwargs={"rows": 3}, lineage_name="doubles")
    place = {"kind": "path", "target": f"{tmp_path}/out", "format": "parquet", "mode": "error"}
    assert (result["lineage"], result["pipeline"], result["output"]) == ("off", "doubles", place)
    assert sorted(pq.read_table(tmp_path / "out").column("two").to_pylist()) == [0, 2, 4]
    with pytest.raises(InvalidOutput, match="exists"):
        executed(pipeline, output=f"{tmp_path}/out", op_kwargs={"rows": 3})
    assert executed(pipeline, op_kwargs={"rows": 3})["output"] is None


def test_what_the_function_returns_is_the_xcom(off: None, tmp_path: Path) -> None:
    def writes(spark: Any, folder: str) -> int:
        spark.range(5).write.parquet(folder)
        return 5

    assert executed(writes, op_kwargs={"folder": f"{tmp_path}/written"}) == 5
    assert pq.read_table(tmp_path / "written").num_rows == 5
    with pytest.raises(InvalidOutput, match="it returned"):
        executed(writes, op_kwargs={"folder": f"{tmp_path}/again"}, output=f"{tmp_path}/out")
    with pytest.raises(InvalidOption, match="append_key='k' replaces what a recorded run appended, and lineage is off"):
        executed(writes, op_kwargs={"folder": f"{tmp_path}/more"}, output=f"{tmp_path}/out+append", append_key="k")
    assert not (tmp_path / "more").exists()
