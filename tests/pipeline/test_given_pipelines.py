"""What may be given as a pipeline: a function, a SQL text, a frame of Spark's or of pandas on Spark; and how its run is called."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import PlanError, UnsupportedOperator
from airflow_lineage_provider.running.given_pipeline import frame_of, pipeline_name
from tests.answers import sources_of


class Nightly:
    def __call__(self, spark: Any) -> Any:
        return None


def examine(spark: Any, month: int = 1) -> Any:
    return None


@pytest.mark.parametrize(
    ("pipeline", "name"),
    [
        ("SELECT 1", "sql"),
        (examine, "examine"),
        (functools.partial(examine, month=2), "examine"),
        (Nightly(), "Nightly"),
        (lambda spark: None, r"lambda@test_given_pipelines.py:36"),
        (eval("lambda spark: None"), "lambda"),
    ],
)
def test_the_name_of_a_run(pipeline: Any, name: str) -> None:
    assert pipeline_name(pipeline) == name


@pytest.mark.parametrize(
    ("pipeline", "params", "message"),
    [
        (lambda spark: None, {}, r"returned nothing \(None\): does it end with return"),
        (lambda spark: pd.DataFrame(), {}, "returned a DataFrame of pandas: its rows have left Spark"),
        (lambda spark: [1], {}, "returned a value of type list"),
        (7, {}, "7 is not a pipeline"),
        (None, {}, "None is not a pipeline"),
        (examine, {"year": 1}, "the parameters .*year"),
        (lambda: None, {}, "too many positional"),
        (" ", {}, "empty SQL text"),
    ],
)
def test_what_is_no_pipeline(pipeline: Any, params: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        frame_of(None, pipeline, params, "mine")  # type: ignore[arg-type]


@pytest.fixture
def numbers(spark: SparkSession, tmp_path: Path) -> str:
    path = str(tmp_path / "numbers")
    spark.range(6).write.parquet(path)
    return path


@pytest.mark.spark
def test_frames_that_stand_already(lineage: Lineage, spark: SparkSession, numbers: str) -> None:
    run = lineage.run(spark.read.parquet(numbers).where("id > 1").selectExpr("id * 2 AS x"))
    assert run.summary.pipeline == "dataframe"
    assert sources_of(run.explain("x = 6", save=False))["numbers"].column("id").to_pylist() == [3]
    with pytest.raises(PlanError, match="takes no parameters"):
        lineage.run(spark.range(1), params={"a": 1})


@pytest.mark.spark
def test_pandas_on_spark(lineage: Lineage, spark: SparkSession, numbers: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark.read.parquet(numbers).pandas_api()
        frame = frame[frame["id"] > 1]
        frame["x"] = frame["id"] * 2
        indexed = spark.read.parquet(numbers).pandas_api().reset_index()
    for pipeline in (frame, lambda spark: frame):
        run = lineage.run(pipeline)
        assert sorted(map(tuple, run.result.collect())) == [(n, 2 * n) for n in range(2, 6)]
        found = run.explain("x = 6", save=False)
        assert found.sources["numbers"].column("id").to_pylist() == [3]
        assert found.guarantee.level == "exact"
    with pytest.raises(UnsupportedOperator, match=r"the default index of a pandas-on-Spark frame.*index_col"):
        lineage.run(cast("Any", indexed))


@pytest.mark.spark
def test_sql_that_spark_cannot_read(lineage: Lineage) -> None:
    for text in ("SELEC 1", "SELECT nothing FROM nowhere"):
        with pytest.raises(PlanError, match="the SQL of pipeline sql cannot be read"):
            lineage.run(text)
    with pytest.raises(PlanError) as long:
        lineage.run("9" * 20_000)
    assert len(str(long.value)) < 4_000
    with pytest.raises(PlanError) as long:
        lineage.run("SELECT 1 AS one", params={"x" * 20_000: 1 << 20_000})
    assert len(str(long.value)) < 4_000
