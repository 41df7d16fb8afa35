"""Names that are taken, long, alike or odd: of columns, paths and partitions; settings of the parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, sources_of
from tests.in_turn import sampled
from tests.pipeline.small_files import kind_of, rids, view

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "name",
    sampled(["lineage_row_number", "lineage_tag", "target_row", "target_present", "lineage_present", "lineage_0_file", "lineage_file"], 2),
)
def test_names_that_lineage_uses_itself(lineage: Lineage, spark: SparkSession, tmp_path: Path, name: str) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b"), (3, "b")], "rid int, g string")
    sql = f"SELECT g AS {name}, count(*) AS target_x FROM w GROUP BY g"
    run = lineage.run(sql)
    assert sorted(map(tuple, run.result.collect())) == [("a", 1), ("b", 2)]
    assert run.result.columns == [name, "target_x"]
    found = run.explain(f"{name} = 'b'")
    assert found.target.column_names == [name, "target_x"]
    assert rids(found, "w") == [2, 3]
    run = lineage.run(f"SELECT rid AS {name} FROM w")
    assert sorted(row[0] for row in run.result.collect()) == [1, 2, 3]
    assert rids(run.explain(f"{name} = 3"), "w") == [3]


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("spark.sql.parser.escapedStringLiterals", r"SELECT rid, 'a\nb' AS t FROM w WHERE g rlike '^\w$'"),
        ("spark.sql.ansi.doubleQuotedIdentifiers", "SELECT \"rid\", 'it''s \"x\"' AS t FROM w"),
        ("spark.sql.parser.quotedRegexColumnNames", "SELECT rid, g AS `a.b` FROM w"),
        ("spark.sql.variable.substitute", "SELECT rid, concat('$', '{env:HOME}') AS t, '${' AS u FROM w"),
    ],
)
def test_settings_of_the_parser(lineage: Lineage, spark: SparkSession, tmp_path: Path, name: str, sql: str) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b")], "rid int, g string")
    before = spark.conf.get(name)
    spark.conf.set(name, "true")
    try:
        plain = spark.sql(sql).collect()
        run = lineage.run(sql)
        assert run.result.collect() == plain
        assert rids(run.explain("rid = 2"), "w") == [2]
    finally:
        spark.conf.set(name, str(before))


def test_long_names_that_begin_alike(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a", "x"), (2, "a", "y"), (3, "b", "x")], "rid int, g string, h string")
    one, two = "k" * 70 + "1", "k" * 70 + "2"
    kind_of.register(spark)
    run = lineage.run(
        f"SELECT {one}, {two}, kind, count(*) AS n FROM (SELECT g AS {one}, h AS {two}, kind_of(rid) AS kind FROM w) GROUP BY ALL"
    )
    found = run.explain(f"{one} = 'a' AND {two} = 'y'")
    assert rids(found, "w") == [2]


def test_names_that_differ_in_case_only(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        for format in ("parquet", "json", "local"):
            frame = spark.createDataFrame([(1, "a", "A"), (2, "b", "B")], "rid int, g string, G string")
            if format != "local":
                frame.coalesce(1).write.format(format).save(str(tmp_path / format))
                frame = spark.read.format(format).schema("rid int, g string, G string").load(str(tmp_path / format))
            frame.createOrReplaceTempView("w")
            run = lineage.run("SELECT G, g, count(*) AS n FROM w GROUP BY g, G", keys={"w": ["G"]} if format == "json" else None)
            assert sorted(map(tuple, run.result.collect())) == [("A", "a", 1), ("B", "b", 1)]
            found = run.explain("G = 'B'")
            assert next(iter(sources_of(found).values())).to_pylist() == [{"rid": 2, "g": "b", "G": "B"}]
            assert found.target.to_pylist() == [{"G": "B", "g": "b", "n": 1}]
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    assert sources_of(found)


@pytest.mark.parametrize("name", sampled(["a%20b", "a b", "größe", "a%b", "a#b?c", "a+b", "x'y", "a=b"], 2))
def test_odd_paths(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    spark.createDataFrame([(1, "a"), (2, "b")], "rid int, g string").write.parquet(path)
    run = lineage.run(lambda session: session.read.parquet(path))
    found = Lineage(store=store).get_run(run.id).explain("rid = 2")
    assert [t.column("rid").to_pylist() for t in sources_of(found).values()] == [[2]]
    assert {one.level for one in guarantees_of(found).values()} == {"exact"}


def test_odd_partitions(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "p")
    spark.createDataFrame([(1, "a b"), (2, "a/b"), (3, "a%b"), (4, None), (5, "ü:=#?")], "rid int, g string").write.partitionBy(
        "g"
    ).parquet(path)
    run = lineage.run(lambda session: session.read.parquet(path))
    for rid in range(1, 6):
        found = run.explain(f"rid = {rid}")
        assert rids(found, "p") == [rid]
        assert guarantees_of(found)["p"].level == "exact"


@pytest.mark.parametrize("strategy", ["function_materialization", "full_materialization"])
def test_columns_without_a_name(lineage: Lineage, spark: SparkSession, tmp_path: Path, strategy: Strategy) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b"), (3, "b")], "rid int, g string")
    sql = "SELECT g, n AS `` FROM (SELECT count(rid) AS ``, g, 1 AS n FROM w GROUP BY g) JOIN VALUES (1, 2) AS t(``, y) ON y = 2"
    run = lineage.run(sql, strategy=strategy)
    assert sorted(map(tuple, run.result.collect())) == [("a", 1), ("b", 1)]
    assert rids(run.explain("g = 'b'"), "w") == [2, 3]
    run = lineage.run("SELECT * FROM VALUES (1, 2), (3, 4) AS t(``, y) WHERE y > 2", strategy=strategy)
    assert [tuple(row) for row in run.result.collect()] == [(3, 4)]
    assert run.result.columns == ["", "y"]
    assert run.explain("y = 4").sources["t"].column("y").to_pylist() == [4]
