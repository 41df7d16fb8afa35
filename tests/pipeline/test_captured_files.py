"""Captured lineage over awkward files, and under settings of Spark that run the pipeline otherwise: the index is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.capture import ends
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import CaptureMode

pytestmark = pytest.mark.spark

COUNTRIES = "element_at(array('NL', 'DE', 'FR', NULL), CAST(id % 4 + 1 AS int)) AS country"
JOINED = """SELECT c.country, count(*) AS n, sum(o.amount) AS total FROM captured_orders o JOIN captured_clients c ON o.client = c.id
            WHERE o.amount > 5 GROUP BY c.country"""
SETTINGS: dict[str, dict[str, str]] = {
    "adaptive": {"spark.sql.adaptive.enabled": "true"},
    "not adaptive, one partition": {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"},
    "sort-merge join, seven partitions": {
        "spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": "7",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("captured_files")
    spark.range(0, 200, numPartitions=3).selectExpr("id", "id % 20 AS client", "id % 37 AS amount").write.parquet(str(folder / "orders"))
    spark.range(0, 20, numPartitions=1).selectExpr("id", COUNTRIES).write.parquet(str(folder / "clients"))
    (folder / "many").mkdir()
    for number in range(310):  # (Spark takes seconds for so many)
        ids = [] if number in (5, 200) else [number, 310 + number] if number < 10 else [number]  # (two files have no row)
        table = pa.table(
            {"id": pa.array(ids, pa.int64()), "country": pa.array([("NL", "DE", "FR", None)[one % 4] for one in ids], pa.string())}
        )
        pq.write_table(table, folder / "many" / f"part-{number:05}.parquet")
    divided = spark.range(0, 60, numPartitions=2).selectExpr("id", COUNTRIES, "id % 3 AS month")
    divided.write.partitionBy("country", "month").parquet(str(folder / "divided"))
    for name in ("orders", "clients", "many", "divided"):
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(f"captured_{name}")
    yield folder
    for name in ("orders", "clients", "many", "divided"):
        spark.catalog.dropTempView(f"captured_{name}")


def captured(spark: SparkSession, store: Store, text: str, mode: CaptureMode = "defer") -> Run:
    from airflow_lineage_provider import Capture

    made = Lineage(spark, store=store).run(text, name="captured files", capture=Capture(mode=mode))
    made.close()
    assert made.index is not None
    assert not made.index.problem
    return made


def ids_behind(run: Run, table: str, key: str) -> dict[Any, list[int]]:
    """The ids of the rows of a table behind each row of the result, by its key."""
    found = run.backward("true", table, lazy=False)
    assert (found.guarantee.level, found.count) == ("exact", len(found.rows))
    ids, keys = found.rows.column("id").to_pylist(), run.result_table().column(key).to_pylist()
    behind: dict[Any, list[int]] = {one: [] for one in keys}
    for asked, row in zip(*(found.links.column(name).to_pylist() for name in ("asked", "row")), strict=True):
        behind[keys[asked]].append(ids[row])
    return {one: sorted(own) for one, own in behind.items()}


def by_hand(query: str) -> dict[Any, list[int]]:
    return {key: sorted(ids) for key, ids in duckdb.execute(query).fetchall()}


def test_three_hundred_files(spark: SparkSession, store: Store, files: Path) -> None:
    assert len(list((files / "many").glob("*.parquet"))) == 310
    run = captured(spark, store, "SELECT country, count(*) AS n FROM captured_many WHERE id % 3 > 0 GROUP BY country")
    expected = by_hand(f"SELECT country, list(id) FROM read_parquet('{files}/many/*.parquet') WHERE id % 3 > 0 GROUP BY country")
    assert ids_behind(run, "captured_many", "country") == expected
    found = Lineage(spark, store=store).get_run(run.id).forward("id = 310", "captured_many", lazy=False)
    assert found.rows.column("country").to_pylist() == [next(key for key, ids in expected.items() if 310 in ids)]
    places = f"""SELECT id, row_number() OVER (ORDER BY filename, file_row_number) - 1 AS rid
        FROM read_parquet('{files}/many/*.parquet', filename = true, file_row_number = true)"""
    rids = [rid for (rid,) in duckdb.execute(f"SELECT rid FROM ({places}) WHERE id % 3 > 0 ORDER BY rid").fetchall()]
    assert run.backward("true", "captured_many").rids.tolist() == rids


def test_partition_columns(spark: SparkSession, store: Store, files: Path) -> None:
    run = captured(spark, store, "SELECT month, max(country) AS last FROM captured_divided WHERE country <> 'FR' GROUP BY month")
    table = f"read_parquet('{files}/divided/*/*/*.parquet', hive_partitioning = true)"
    expected = by_hand(f"SELECT CAST(month AS int), list(id) FROM {table} WHERE country IN ('NL', 'DE') GROUP BY month")
    assert ids_behind(run, "captured_divided", "month") == expected
    found = run.forward("id = 4", "captured_divided", lazy=False)  # of NL
    assert found.rows.column("month").to_pylist() == [1]
    assert not len(run.forward("id = 2", "captured_divided", lazy=False))  # of FR
    rows = run.backward("month = 1", "captured_divided").rows
    assert {(row["country"], row["month"]) for row in rows.to_pylist()} == {("NL", 1), ("DE", 1)}


def test_from_end_to_end_across_a_stored_segment(spark: SparkSession, store: Store, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT total % 3 AS rest, count(*) AS n FROM ({JOINED}) GROUP BY total % 3"
    run = Lineage(spark, store=store).run(text, name="captured files", strategy="full_materialization")
    run.close()
    for name in ("SLOW", "_FEW", "_QUICKER"):
        monkeypatch.setattr(ends, name, 0)
    whole = {one.to: one.because for one in run.capture() if one.whole}
    assert whole.keys() == {"captured_orders", "captured_clients"}
    assert all(" ms by way of segment 1, " in one for one in whole.values())
    joined = f"read_parquet('{files}/orders/*.parquet') o JOIN read_parquet('{files}/clients/*.parquet') c ON o.client = c.id"
    totals = f"SELECT o.id, sum(o.amount) OVER (PARTITION BY c.country) AS total FROM {joined} WHERE o.amount > 5"
    assert ids_behind(run, "captured_orders", "rest") == by_hand(f"SELECT total % 3, list(id) FROM ({totals}) GROUP BY 1")
    found = run.backward("true", "captured_orders", lazy=False)
    assert (found.engine.startswith("index: "), found.engine.endswith(", from end to end")) == (True, True)
    answer = run.explain("true", save=False)
    assert sorted(answer.sources["captured_orders"].rows.column("id").to_pylist()) == sorted(found.rows.column("id").to_pylist())


def test_settings_of_spark_make_no_other_index(spark: SparkSession, store: Store, files: Path) -> None:
    found = {}
    for name, conf in SETTINGS.items():
        before = {one: spark.conf.get(one, None) for one in conf}
        for one, value in conf.items():
            spark.conf.set(one, value)
        try:
            for mode in ("defer", "inject"):
                run = captured(spark, store, JOINED, mode)
                keys = run.result_table().column("country").to_pylist()
                for table in ("captured_orders", "captured_clients"):
                    each = run.backward("true", table, lazy=False).per_target.to_pylist()
                    found[name, mode, table] = dict(zip(keys, each, strict=True))
        finally:
            for one, earlier in before.items():
                spark.conf.unset(one) if earlier is None else spark.conf.set(one, earlier)
    for table in ("captured_orders", "captured_clients"):
        first, *others = (one for (_, _, of), one in found.items() if of == table)
        assert len(others) == 2 * len(SETTINGS) - 1
        assert all(one == first for one in others)
    joined = f"read_parquet('{files}/orders/*.parquet') o JOIN read_parquet('{files}/clients/*.parquet') c ON o.client = c.id"
    expected = by_hand(f"SELECT c.country, list(o.id) FROM {joined} WHERE o.amount > 5 GROUP BY c.country")
    assert ids_behind(run, "captured_orders", "country") == expected
