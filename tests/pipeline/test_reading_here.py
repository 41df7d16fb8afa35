"""Source rows that an explanation reads without Spark: the very values that the run read, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.store import Store
from tests.answers import guarantees_of, sources_of

pytestmark = pytest.mark.spark

LEGACY = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "America/Los_Angeles",
}


def test_old_dates_of_the_legacy_calendar(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path) -> None:
    with apply_conf(spark, LEGACY):
        days = spark.sql("SELECT date(d) AS d, id FROM VALUES ('1500-01-01', 1), ('0001-01-01', 2), ('2024-02-29', 3) AS v(d, id)")
        days.coalesce(1).write.parquet(str(tmp_path / "days"))
    run = lineage.run(lambda session: session.read.parquet(str(tmp_path / "days")).select("id"), name="days")
    found = Lineage(store=store).get_run(run.id).explain("id IN (1, 2, 3)")
    assert {str(row["d"]) for row in found.sources["days"].to_pylist()} == {"1500-01-01", "0001-01-01", "2024-02-29"}
    assert guarantees_of(found)["days"].level == "exact"


def test_old_timestamps_of_the_legacy_calendar_are_read_by_spark(
    lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path
) -> None:
    with apply_conf(spark, LEGACY):
        spark.sql("SELECT timestamp'1500-01-01 12:00:00' AS t, 1 AS id").write.parquet(str(tmp_path / "moments"))
    run = lineage.run(lambda session: session.read.parquet(str(tmp_path / "moments")).select("id"), name="moments")
    with pytest.raises(SparkRequired, match="calendar"):
        Lineage(store=store).get_run(run.id).explain("id = 1")
    expected = spark.read.parquet(str(tmp_path / "moments")).selectExpr("unix_micros(t)").first()
    assert [row.value for row in sources_of(run.explain("id = 1"))["moments"].column("t")] == [expected[0]]  # type: ignore[index]
