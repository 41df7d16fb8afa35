"""`Run.refresh`: rows computed anew from their lineage are those that are stored."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import EmptyTarget, InvalidOption, NotCaptured, SparkRequired, TracingError
from airflow_lineage_provider.store import Store
from tests.pipeline.small_files import view

pytestmark = pytest.mark.spark

ROWS = [(rid, "abc"[rid % 3], rid / 7) for rid in range(30)]


def test_groups_come_out_of_their_rows_again(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", ROWS, "rid int, g string, x double")
    run = lineage.run("SELECT g, count(*) AS n, sum(x) AS s, avg(x) AS a FROM w WHERE rid > 2 GROUP BY g HAVING count(*) > 1")
    found = run.refresh("g = 'b'")
    (row,) = found.recomputed.to_pylist()
    assert (row["g"], row["n"], row["s"]) == ("b", 9, pytest.approx(sum(x for rid, g, x in ROWS if g == "b" and rid > 2)))
    assert (found.equal, found.missing, found.others, found.guarantee.level, found.stale) == (True, (), 0, "exact", ())
    assert found.stored.column("n").to_pylist() == [9]
    assert run.refresh("true").recomputed.num_rows == 3
    with pytest.raises(EmptyTarget):
        run.refresh("g = 'z'")
    with pytest.raises(SparkRequired, match="refreshing"):
        Lineage(store=store).get_run(run.id).refresh("g = 'b'")


def test_rows_that_come_out_besides_are_counted(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", ROWS[:4], "rid int, g string, x double")
    run = lineage.run("SELECT rid, part FROM w LATERAL VIEW explode(array(1, 2)) p AS part")
    found = run.refresh("rid = 3 AND part = 2")
    assert (found.equal, found.others, found.stored.to_pylist()) == (True, 1, [{"rid": 3, "part": 2}])


def test_a_changed_source_gives_another_row_and_is_named(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"g": ["a", "a", "b"], "x": [1, 2, 3]})
    pq.write_table(table, tmp_path / "w.parquet")
    spark.read.parquet(str(tmp_path / "w.parquet")).createOrReplaceTempView("w")
    run = lineage.run("SELECT g, sum(x) AS s FROM w GROUP BY g")
    assert run.refresh("true").equal
    pq.write_table(table.set_column(1, "x", pa.array([1, 2, 7])), tmp_path / "w.parquet")
    found = run.refresh("true")
    (changed,) = found.missing
    assert found.stored.to_pylist()[changed] == {"g": "b", "s": 3}
    assert (found.equal, found.others, {"g": "b", "s": 7} in found.recomputed.to_pylist()) == (False, 1, True)
    assert "w.parquet" in found.stale[0]


def test_what_cannot_be_repeated_is_refused(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", ROWS, "rid int, g string, x double")
    run = lineage.run("SELECT g, count(*) AS n FROM (SELECT * FROM w LIMIT 7) GROUP BY g")
    with pytest.raises(TracingError, match="has a limit, a random function"):
        run.refresh("n > 0")


def test_lineage_that_was_captured_alone(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", ROWS, "rid int, g string, x double")
    run = lineage.run("SELECT g, count(*) AS n FROM w GROUP BY g")
    with pytest.raises(NotCaptured, match=r"was not captured: Run\.capture\(\)"):
        run.refresh("g = 'b'", lazy=False)
    run.capture("backward")
    found = run.refresh("g = 'b'", lazy=False)
    assert (found.equal, found.stored.to_pylist()) == (True, [{"g": "b", "n": 10}])
    with pytest.raises(InvalidOption, match="lazy='no' is not known"):
        run.refresh("g = 'b'", lazy="no")  # type: ignore[arg-type]
