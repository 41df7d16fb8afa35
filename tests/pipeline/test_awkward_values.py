"""Values and types that are hard to hold, to group by or to ask for: they work, or are refused by name before the run."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.spark.capturing.capture import capture

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_source_text_that_is_no_utf_8(lineage: Lineage, spark: SparkSession, tmp_path: Path, format: str) -> None:
    path = tmp_path / "broken"
    path.mkdir()
    if format == "csv":
        (path / "part.csv").write_bytes(b"1,a\xff\n2,ok\n")
    else:
        raw = pa.array([b"a\xff", b"ok"])
        text = pa.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
        parquet.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "word": text}), path / "part.parquet")
    run = lineage.run(lambda session: session.read.schema("id int, word string").format(format).load(str(path)).select("id"), name="broken")
    found = run.explain("id = 1")
    assert found.sources["broken"].num_rows == 1
    screen = io.StringIO()
    found.show(Console(file=screen, width=200))
    shown = [screen.getvalue(), found.to_html(), str(found.to_dict()), lineage.derivation(found.id).to_html()]
    # Spark reads such bytes of a CSV file as a mark of replacement.
    assert all(("\\xff" in one.replace("\\\\", "\\")) if format == "parquet" else ("\ufffd" in one) for one in shown)


def test_dates_that_python_cannot_hold(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "far")
    spark.sql("SELECT 1 AS id, date'+12921-08-29' AS d, timestamp'-0044-03-15 12:00:00' AS t").write.parquet(path)
    found = lineage.run(lambda session: session.read.parquet(path).select("id"), name="far").explain("id = 1")
    found.show(Console(file=io.StringIO()))
    assert "12921" in found.to_html()


GROUPS = {
    "GROUP BY": lambda frame: frame.groupBy("m").count(),
    "an expression": lambda frame: frame.selectExpr("named_struct('m', m) AS s").groupBy("s").count(),
}


@pytest.mark.parametrize("way", GROUPS)
def test_groups_by_a_map_are_refused_before_the_run(spark: SparkSession, way: str) -> None:
    frame: DataFrame = GROUPS[way](spark.sql("SELECT id, map('k', id % 2) AS m FROM range(4)"))
    with pytest.raises(UnsupportedOperator, match="map"):
        capture(frame)


def test_groups_by_the_entries_of_a_map(lineage: Lineage, spark: SparkSession) -> None:
    sql = "SELECT array_sort(map_entries(map('k', id % 2))) AS e, count(*) AS n FROM range(4) GROUP BY 1"
    found = lineage.run(sql, name="entries").explain("n = 2 AND e[0].value = 1")
    assert sorted(found.sources["range"].column("id").to_pylist()) == [1, 3]


def test_a_subquery_that_spark_refuses_is_refused_by_name(spark: SparkSession) -> None:
    for name in ("sa", "sb", "sc"):
        spark.range(3).selectExpr("id AS x", "id AS y").createOrReplaceTempView(name)
    sql = "SELECT * FROM sa JOIN sb ON sa.x = sb.x AND EXISTS (SELECT 1 FROM sc WHERE sc.x = sa.y AND sc.y = sb.y)"
    with pytest.raises(UnsupportedOperator, match="subquery"):
        capture(spark.sql(sql))
