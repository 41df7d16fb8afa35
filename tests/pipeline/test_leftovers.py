"""Nothing is left behind, or lost in a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import LineageError, UdfFailed
from airflow_lineage_provider.running.output import Output
from tests.pipeline.small_files import kind_of, view

pytestmark = pytest.mark.spark


@reasoned_udf("int")
def two_lines(x: int) -> int:
    if x == 3:
        raise ValueError("the first line\nthe second line")
    return x


def test_a_failure_while_cleaning_up_hides_nothing(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")

    def gone(name: str) -> bool:
        raise RuntimeError("the session is gone")

    def interrupted(self: Output, frame: DataFrame, journal: object) -> None:
        monkeypatch.setattr(type(spark.catalog), "dropTempView", lambda self, name: gone(name))
        raise KeyboardInterrupt

    monkeypatch.setattr(Output, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lineage.run("SELECT rid FROM w", name="interrupted", output=str(tmp_path / "out"))
    monkeypatch.undo()
    (record,) = lineage.runs("interrupted")
    assert record.status == "failed"


def leftovers(spark: SparkSession) -> set[str]:
    views = {row["tableName"] for row in spark.sql("SHOW TABLES LIKE 'lineage_*'").collect()}
    return views | {f[0] for f in spark.sql("SHOW USER FUNCTIONS").collect() if f[0].startswith("lineage_")}


def test_nothing_is_left_behind(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    before = leftovers(spark)
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string", "csv")
    kind_of.register(spark)
    run = lineage.run("SELECT kind_of(rid) AS k, count(*) AS n FROM w GROUP BY kind_of(rid)")
    run.explain("n = 1", verify=True)
    assert leftovers(spark) > before
    run.close()
    assert leftovers(spark) == before
    with pytest.raises(LineageError):
        lineage.run("SELECT kind_of(rid) AS k FROM w", output="table:w.x.y.z.v")
    assert leftovers(spark) == before


def test_an_error_of_several_lines_still_names_the_row(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (3, "b")], "rid int, g string")
    two_lines.register(spark)
    with pytest.raises(UdfFailed, match=r"(?s)first line.*second line.*w: rid=3"):
        lineage.run("SELECT two_lines(rid) AS x FROM w", keys={"w": ["rid"]})
