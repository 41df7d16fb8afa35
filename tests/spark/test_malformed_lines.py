"""Lines that are malformed in columns which a pipeline does not read: the run has the pipeline's rows, or is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.spark.capturing.capture import capture

pytestmark = pytest.mark.spark

LINES = [("x", 1, 2), (1, 1, "x"), (3, 2, 4), ("y", 5, "y")]
SCHEMA = "k int, v int, w int"


@pytest.mark.parametrize("form", ["csv", "json"])
def test_which_lines_are_malformed_does_not_hang_on_what_lineage_reads(spark: SparkSession, tmp_path: Path, form: str) -> None:
    rows = [",".join(map(str, one)) if form == "csv" else json.dumps(dict(zip("kvw", one, strict=True))) for one in LINES]
    (tmp_path / f"a.{form}").write_text("\n".join(rows))
    spark.read.schema(SCHEMA).option("mode", "dropMalformed").format(form).load(str(tmp_path)).createOrReplaceTempView("dropped")
    spark.read.schema(f"{SCHEMA}, _corrupt_record string").format(form).load(str(tmp_path)).createOrReplaceTempView("marked")
    # What the columns that are read say of lines, other columns would say otherwise.
    assert len(spark.sql("SELECT v FROM dropped").collect()) == 4
    assert len(spark.sql("SELECT * FROM dropped").collect()) == 1
    for query, left in [
        ("SELECT v FROM dropped", "k, w"),
        ("SELECT (SELECT max(v) FROM dropped) AS m, * FROM dropped", "k, w"),
        ("SELECT k, v, _corrupt_record IS NULL AS is_right FROM marked", "w"),
    ]:
        with pytest.raises(UnsupportedOperator, match=f"does not read {left}: with all columns"):
            capture(spark.sql(query))
    for query in ("SELECT k + v + w AS s FROM dropped", "SELECT k, v, w FROM marked WHERE _corrupt_record IS NULL", "SELECT v FROM marked"):
        assert capture(spark.sql(query)).sources
    spark.table("marked").cache().createOrReplaceTempView("kept")
    try:
        assert capture(spark.sql("SELECT v FROM kept WHERE _corrupt_record IS NULL")).sources  # Spark keeps all columns
    finally:
        spark.table("marked").unpersist()
