"""What a derivation reads, months later: the run's own rows, and sources as they are now."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import TracingError
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, sources_of
from tests.pipeline.small_files import kind_of, rids, view

pytestmark = pytest.mark.spark


def test_a_second_run_reads_the_files_again(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "again")
    sql = lambda session: session.read.schema("rid int").parquet(path)  # noqa: E731
    spark.createDataFrame([(1,)], "rid int").write.parquet(path)
    first = lineage.run(sql, name="again")
    spark.createDataFrame([(2,)], "rid int").write.mode("overwrite").parquet(path)
    second = lineage.run(sql, name="again")
    assert second.result.collect() == [(2,)]
    assert lineage.get_run(second.id).result_table().to_pylist() == [{"rid": 2}]
    first.close()
    assert second.result.storageLevel.useMemory or second.result.collect() == [(2,)]


@pytest.mark.parametrize("strategy", ["function_materialization", "rerun"])
def test_files_added_to_a_table_with_reader_options(lineage: Lineage, spark: SparkSession, tmp_path: Path, strategy: Strategy) -> None:
    """The files that the run read are read again alone, as the table reads them: header, separator and the text of NULL."""
    (tmp_path / "first.csv").write_text("id;word\n1;one\n2;-\n")
    spark.sql(
        f"CREATE TABLE added_to (id INT, word STRING) USING csv OPTIONS (header 'true', sep ';', nullValue '-') LOCATION '{tmp_path}'"
    )
    try:
        run = lineage.run("SELECT count(*) AS n, max(word) AS most FROM added_to", keys={"added_to": ["id"]}, strategy=strategy)
        (tmp_path / "second.csv").write_text("id;word\n3;three\n")
        spark.catalog.refreshTable("added_to")
        found = run.explain("n = 2")
        assert found.guarantee.level == "exact"
        assert sorted(found.sources["added_to"].to_pylist(), key=lambda row: row["id"]) == [
            {"id": 1, "word": "one"},
            {"id": 2, "word": None},
        ]
    finally:
        spark.sql("DROP TABLE added_to")


def test_a_union_of_judged_rows_with_columns_that_nobody_reads(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a", "p"), (2, "a", "q"), (3, "b", "r")], "rid int, g string, note string")
    view(spark, tmp_path, "v", [(11, "a", "p"), (12, "c", "q")], "rid int, g string, note string")
    kind_of.register(spark)
    sql = """SELECT kind, count(*) AS n FROM (
        SELECT kind_of(rid) AS kind, note, g FROM w UNION ALL SELECT g, note, g FROM v
        ) GROUP BY kind"""
    run = lineage.run(sql)
    assert Counter(map(tuple, run.result.collect())) == Counter(map(tuple, spark.sql(sql).collect()))
    found = run.explain("kind = 'odd'")
    assert rids(found, "w") == [1, 3]
    assert rids(run.explain("kind = 'a'"), "v") == [11]
    counted = lineage.run(f"SELECT count(*) AS n FROM ({sql}) WHERE n > 0")
    assert counted.explain("true").sources["w"].num_rows == 3
    many = "SELECT count(*) AS n FROM (SELECT kind_of(rid) AS kind FROM w WHERE kind_of(rid) = 'odd' UNION ALL SELECT g FROM v)"
    found = lineage.run(many).explain("true")
    assert (rids(found, "w"), rids(found, "v")) == ([1, 3], [11, 12])


def test_an_order_dependent_function_below_another_aggregation_is_not_run_again(lineage: Lineage, spark: SparkSession) -> None:
    from airflow_lineage_provider.rewrite.pipeline import rewrite
    from airflow_lineage_provider.spark.capturing.capture import capture

    spark.range(10).selectExpr("id AS rid", "id % 3 AS g", "id % 2 AS x").createOrReplaceTempView("r")
    for function in ("first(rid)", "max_by(rid, 1)", "collect_set(rid)", "mode(rid)"):
        frame = spark.sql(
            "SELECT m, count(*) AS c FROM (SELECT g, max(f) AS m FROM "
            f"(SELECT g, x, {function} AS f FROM r GROUP BY g, x) GROUP BY g) GROUP BY m"
        )
        plan = rewrite(capture(frame).pipeline)
        assert [s.pinned for s in plan.segments] == [False, True], function


def test_a_source_without_traced_rows_needs_no_spark(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")
    view(spark, tmp_path, "v", [(11, "b")], "rid int, g string", "csv")
    run = lineage.run("SELECT rid FROM w UNION ALL SELECT rid FROM v")
    found = Lineage(store=store).get_run(run.id).explain("rid = 1")
    assert rids(found, "w") == [1]
    assert rids(found, "v") == []


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("sql", ["SELECT rid FROM w", "SELECT count(*) AS rid FROM w"])
def test_a_source_that_is_no_longer_of_its_format(lineage: Lineage, spark: SparkSession, tmp_path: Path, format: str, sql: str) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string", format)
    run = lineage.run(sql)
    (file,) = (tmp_path / "w").glob(f"*.{format}")
    file.write_bytes(b"garbage" * 100)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    if format == "parquet" and "count" not in sql:
        assert guarantees_of(run.explain("rid = 1"))["w"].level == "unavailable"
    else:
        with_named_error(run)


def with_named_error(run: Any) -> None:
    """The table is said to be unavailable, or Spark's error is told as one of ours."""
    with suppress(TracingError):
        assert guarantees_of(run.explain("rid = 1"))["w"].level == "unavailable"


def test_one_file_read_with_two_schemas(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "01"), (2, "02")], "rid int, n string", "csv")

    def pipeline(session: SparkSession) -> DataFrame:
        numbers = session.read.schema("rid int, n int").csv(str(tmp_path / "w"))
        texts = session.read.schema("rid int, n string").csv(str(tmp_path / "w"))
        return numbers.alias("a").join(texts.alias("b"), "rid").selectExpr("rid", "a.n AS a", "b.n AS b")

    found = lineage.run(pipeline).explain("rid = 2")
    assert {one.level for one in guarantees_of(found).values()} == {"exact"}
    assert sorted(str(t.column("n").to_pylist()) for t in sources_of(found).values()) == ["['02']", "[2]"]


def test_derivations_at_once_in_one_session(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    kind_of.register(spark)
    runs = []
    for number in range(2):
        view(spark, tmp_path, f"w{number}", [(100 * number + i, "a") for i in range(10)], "rid int, g string", "csv")
        runs.append(lineage.run(f"SELECT g, kind_of(rid) AS k, count(*) AS n FROM w{number} GROUP BY g, kind_of(rid)"))
        runs.append(lineage.run(f"SELECT g, count(*) AS n FROM w{number} WHERE rid % 2 = 1 GROUP BY g"))

    def explained(at: int) -> list[Any]:
        return [runs[at].explain("true", verify=True, save=False) for _ in range(3)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(explained, range(4)))
    for at, explanations in enumerate(found):
        for one in explanations:
            number = at // 2
            expected = [100 * number + i for i in range(10) if at % 2 == 0 or i % 2]
            assert rids(one, f"w{number}") == expected
            assert one.verified, one.verification


def test_the_stored_result_keeps_its_order(lineage: Lineage, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    try:
        run = lineage.run("SELECT id FROM range(0, 5000, 1, 8) ORDER BY id % 10, id DESC")
        expected = [row[0] for row in run.result.collect()]
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    again = lineage.get_run(run.id)
    assert [row[0] for row in again.result.collect()] == expected
    assert again.result_table().column("id").to_pylist() == expected


def test_thousands_of_target_rows(lineage: Lineage, spark: SparkSession) -> None:
    run = lineage.run("SELECT id FROM range(5000)")
    found = run.explain([{"id": n} for n in range(4000)])
    assert found.target.num_rows == 4000
