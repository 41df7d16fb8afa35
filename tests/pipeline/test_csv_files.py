"""CSV files, asked with Spark and without: the same rows of files, and the same lineage."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import reduce
from itertools import groupby
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.sources import whole_files
from airflow_lineage_provider.sources.kept import Kept
from airflow_lineage_provider.spark.identity import row_digest
from airflow_lineage_provider.store import Store
from tests.sources.csv_cases import READ, RECORDED, recorded, written

pytestmark = pytest.mark.spark

PLAYERS = """id,team,score,price,born
1,a,1.5,1.50,2001-01-31
2,A,,-0.01,
3,"é, b",0.25,,1999-12-31
4,"a ",100,99.99,2001-01-31
5,,7,0,2000-02-29
6,a,1.5,1.5,2001-01-31
6,a,1.5,1.5,2001-01-31
"""
SCHEMA = "id int, team string, score double, price decimal(4,2), born date"


def as_spark_reads(spark: SparkSession, folder: Path) -> dict[str, list[list[str]]]:
    """What Spark reads of every case, in one job."""

    def how(name: str) -> str:
        return json.dumps([READ[name].schema, dict(READ[name].options)])

    names = sorted(READ)
    frames = []
    for _, together in groupby(sorted(names, key=how), key=how):
        alike = list(together)
        files = [str(written(folder, name, READ[name])) for name in alike]
        frame = spark.read.schema(READ[alike[0]].schema).options(**READ[alike[0]].options).csv(files)
        row = F.to_json(F.struct(*(F.col(name).alias(f"c{i}") for i, name in enumerate(frame.columns))), _AS_WRITTEN)
        frames.append(frame.select(F.col("_metadata.file_name").alias("file"), F.expr(row_digest(frame.columns)), row))
    found: dict[str, list[list[str]]] = {name: [] for name in names}
    for file, digest, row in sorted(reduce(DataFrame.unionAll, frames).collect()):
        found[names[int(file.split(".")[0])]].append([digest, row])
    return found


_AS_WRITTEN = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def test_what_is_recorded_of_awkward_files_is_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    """`tests/sources/test_csv.py` holds against it what is read without Spark."""
    found = as_spark_reads(spark, tmp_path)
    if "RECORD" in os.environ:
        RECORDED.parent.mkdir(exist_ok=True)
        RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    assert found == recorded()


def over(path: Path, query: str, schema: str = SCHEMA, **options: str) -> Callable[[SparkSession], DataFrame]:
    def pipeline(spark: SparkSession) -> DataFrame:
        read = spark.read.options(header="true", **options)
        (read.schema(schema) if schema else read.option("inferSchema", "true")).csv(str(path)).createOrReplaceTempView("players")
        return spark.sql(query)

    return pipeline


def engines(found: Explanation) -> set[str]:
    return {query.engine for query in found.queries}


def rows(found: Explanation) -> list[str]:
    return sorted(map(str, found.sources["players"].rows.to_pylist()))


@pytest.fixture
def players(tmp_path: Path) -> Path:
    (tmp_path / "players").mkdir()
    lines = PLAYERS.splitlines(keepends=True)
    (tmp_path / "players" / "part-0.csv").write_text("".join(lines[:4]))
    (tmp_path / "players" / "part-1.csv").write_text("".join([lines[0], *lines[4:]]))
    return tmp_path / "players"


ASKED = {
    "a group": ("SELECT team, count(*) AS n FROM players GROUP BY team", "team = 'a'", 3),
    "a group of NULL": ("SELECT team, count(*) AS n FROM players GROUP BY team", "team IS NULL", 1),
    "by a condition": ("SELECT count(*) AS n, max(price) AS m FROM players WHERE score >= 1.5D AND born > DATE '2000-02-29'", "true", 4),
    "rows": ("SELECT id, born FROM players WHERE price < 50", "id = 5", 1),
}


@pytest.mark.parametrize(("name", "schema"), [*((name, SCHEMA) for name in ASKED), ("by a condition", "")])
def test_with_spark_and_without(
    lineage: Lineage, store: Store, players: Path, name: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, target, count = ASKED[name]
    run = lineage.run(over(players, query, schema), name="csv")
    found = Lineage(store=store).get_run(run.id).explain(target, save=False)
    assert len(rows(found)) == count
    assert "spark" not in engines(found)
    monkeypatch.setattr(whole_files, "KEPT", Kept(0))
    monkeypatch.setitem(sys.modules, "duckdb", None)
    by_spark = run.explain(target, save=False)
    assert rows(by_spark) == rows(found)
    assert by_spark.guarantee == found.guarantee
    with pytest.raises(SparkRequired, match="DuckDB is not installed"):
        Lineage(store=store).get_run(run.id).explain(target, save=False)


def test_partitions(lineage: Lineage, store: Store, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values in the names of folders, by Spark's own writer: the schema names them in another order, or Spark infers all of it."""
    given = [(1, "a/b=%", 7, "x"), (2, "é 😀'", 8, "y"), (3, None, 7, "z"), (4, "a/b=%", 7, "x")]
    made = spark.createDataFrame(
        [(*row, f"2024-02-{20 + row[0] % 2}") for row in given], "id int, land string, y int, s string, day string"
    )
    made.write.partitionBy("land", "y", "day").csv(str(tmp_path / "players"), header=True)
    query = "SELECT land, y, day, count(*) AS n, max(id) AS most FROM players GROUP BY ALL"
    for schema in ("day date, id int, land string, y bigint, s string", ""):
        run = lineage.run(over(tmp_path / "players", query, schema), name="csv")
        found = Lineage(store=store).get_run(run.id).explain("n > 0", save=False)
        assert "spark" not in engines(found)
        with monkeypatch.context() as patch:
            patch.setattr(whole_files, "KEPT", Kept(0))
            patch.setitem(sys.modules, "duckdb", None)
            by_spark = run.explain("n > 0", save=False)
        assert "spark" in engines(by_spark)
        assert rows(found) == rows(by_spark)
        assert found.sources["players"].rows.num_rows == len(given)
        assert found.guarantee == by_spark.guarantee


@pytest.mark.parametrize("kind", ["json", "orc"])
def test_json_and_orc(
    lineage: Lineage, store: Store, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """As Spark's writers write them, in partitions."""
    rows_given = [
        (1, "a", 1.5, "1.50", "2001-01-31"),
        (2, "A", None, "-0.01", None),
        (3, 'é, "b"', 0.25, None, "1999-12-31"),
        (4, None, 100.0, "7", None),
    ]
    made = spark.createDataFrame(rows_given, "id int, team string, score double, price string, born string")
    made = made.selectExpr("id", "team", "score", "CAST(price AS decimal(4,2)) AS price", "CAST(born AS date) AS born", "id % 2 AS half")
    made.union(made.limit(1)).write.partitionBy("half").format(kind).save(str(tmp_path / "players"))
    schema = "id int, team string, score double, price decimal(4,2), born date"

    def pipeline(session: SparkSession) -> DataFrame:
        session.read.schema(schema + ", half int").format(kind).load(str(tmp_path / "players")).createOrReplaceTempView("players")
        return session.sql(
            "SELECT team, half, count(*) AS n, max(price) AS p FROM players WHERE score IS NULL OR score > 0.2D GROUP BY ALL"
        )

    run = lineage.run(pipeline, name=kind)
    found = Lineage(store=store).get_run(run.id).explain("n > 0", save=False)
    assert "spark" not in engines(found)
    assert len(rows(found)) == 5
    monkeypatch.setattr(whole_files, "KEPT", Kept(0))
    monkeypatch.setitem(sys.modules, "duckdb", None)
    by_spark = run.explain("n > 0", save=False)
    assert "spark" in engines(by_spark)
    assert rows(by_spark) == rows(found)
    assert by_spark.guarantee == found.guarantee


def test_a_key_that_is_named(lineage: Lineage, store: Store, players: Path) -> None:
    run = lineage.run(over(players, ASKED["a group"][0]), name="csv", keys={"players": ["id", "team"]})
    found = Lineage(store=store).get_run(run.id).explain("team = 'a'", save=False)
    assert rows(found) == rows(run.explain("team = 'a'", save=False))
    assert found.sources["players"].rows.column("id").to_pylist() == [1, 6, 6]
    assert found.sources["players"].guarantee.level == "superset"


@pytest.mark.parametrize("how", ["awkward", "changed", "added"])
def test_what_only_spark_answers(lineage: Lineage, store: Store, players: Path, how: str) -> None:
    """A value that can be read in two ways, or files that are not those that the run read."""
    query, target, _ = ASKED["a group"]
    if how == "awkward":
        (players / "part-0.csv").write_text("id,team,score,price,born\n01,a,1.5,1.50,2001-01-31\n")
    run = lineage.run(over(players, query), name="csv")
    if how != "awkward":
        (players / f"part-{0 if how == 'changed' else 2}.csv").write_text("id,team,score,price,born\n7,a,1.5,1.50,2001-01-31\n")
    alone = Lineage(store=store).get_run(run.id)
    if how == "added":
        assert rows(alone.explain(target, save=False)) == rows(run.explain(target, save=False))
        return
    with pytest.raises(SparkRequired, match="column id of .*part-0.csv: not all of its texts" if how == "awkward" else "as they were"):
        alone.explain(target, save=False)
    assert len(rows(run.explain(target, save=False))) == 3
