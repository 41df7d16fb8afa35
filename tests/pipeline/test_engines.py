"""Which engine answers: PostgreSQL what was stored, DuckDB what is in local Parquet files, Spark the rest; and all answer alike."""

from __future__ import annotations

import datetime
import math
import shutil
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

AWKWARD = pa.table({
    "id": pa.array(range(1, 9), pa.int64()),
    "team": ["a", "A", "é", "a ", None, "a", "😀", ""],
    "score": [math.nan, -0.0, 0.0, 1.5, None, math.inf, 5e-324, -math.inf],
    "rate": [0.0, 1.5, None, 2.5, math.inf, -1.0, 1.5, 5e-324],
    "price": pa.array([Decimal("1.50"), Decimal("-0.01"), None, Decimal("99.99"), Decimal("1.50"), Decimal(0), Decimal(7), Decimal(8)],
                      pa.decimal128(4, 2)),
    "tags": [["x"], [], None, [None], ["y", "z"], ["x"], [""], ["😀"]],
    "place": [{"x": 1, "y": [n]} for n in range(8)],
})  # fmt: skip
"""The tracing queries need none of the nested columns, and the source rows have them."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(2):
        (tmp_path / "players").mkdir(exist_ok=True)
        parquet.write_table(AWKWARD.slice(number * 4, 4), tmp_path / "players" / f"part-{number}.parquet")
    return tmp_path


def over(folder: Path, query: str) -> Callable[[SparkSession], DataFrame]:
    def pipeline(spark: SparkSession) -> DataFrame:
        spark.read.parquet(str(folder / "players")).createOrReplaceTempView("players")
        return spark.sql(query)

    return pipeline


def engines(found: Explanation) -> set[str]:
    return {query.engine for query in found.queries}


def ids(found: Explanation, table: str = "players") -> list[int]:
    return sorted(found.sources[table].rows.column("id").to_pylist())


GROUPS = {
    "a group": ("SELECT team, count(*) AS n FROM players GROUP BY team", "team = 'a'", [1, 6]),
    "a group of NULL": ("SELECT team, count(*) AS n FROM players GROUP BY team", "team IS NULL", [5]),
    "real numbers": ("SELECT count(*) AS n FROM players WHERE rate > 1.5D", "true", [4, 5]),
    "a real number": ("SELECT rate, count(*) AS n FROM players GROUP BY rate", "rate = 1.5D", [2, 7]),
    "decimals": ("SELECT price, max(id) AS m FROM players GROUP BY price", "price = 1.50", [1, 5]),
    "distinct": ("SELECT DISTINCT team FROM players WHERE id > 3", "team = 'a '", [4]),
    "two levels": ("SELECT max(n) AS m FROM (SELECT team, count(*) AS n FROM players GROUP BY team)", "true", list(range(1, 9))),
}


@pytest.mark.parametrize("name", sampled(GROUPS, 2))
def test_duckdb_and_spark_alike(lineage: Lineage, store: Store, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query, target, expected = GROUPS[name]
    run = lineage.run(over(folder, query), name="engines")
    found = Lineage(store=store).get_run(run.id).explain(target, save=False)
    assert ids(found) == expected
    nested = AWKWARD.select(["tags", "place"]).take([number - 1 for number in found.sources["players"].rows.column("id").to_pylist()])
    assert found.sources["players"].rows.select(["tags", "place"]).to_pylist() == nested.to_pylist()
    assert "duckdb" in engines(found)
    assert "spark" not in engines(found)
    assert engines(run.explain(target, save=False)) == engines(found)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    by_spark = run.explain(target, save=False)
    assert ids(by_spark) == expected
    assert "spark" in engines(by_spark)
    assert by_spark.guarantee == found.guarantee
    with pytest.raises(SparkRequired, match="DuckDB is not installed"):
        Lineage(store=store).get_run(run.id).explain(target, save=False)


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ("SELECT count(*) AS n FROM players WHERE score > 1.5D", "true"),
        ("SELECT count(*) AS n FROM players WHERE score = 0.0D", "true"),
        ("SELECT score, count(*) AS n FROM players GROUP BY score", [{"score": math.nan}]),
        ("SELECT score, count(*) AS n FROM players GROUP BY score", "score = 0.0D"),
    ],
)
def test_nan_and_negative_zero(lineage: Lineage, store: Store, folder: Path, query: str, target: Any) -> None:
    """Spark skips a file by statistics that leave NaN out: which rows its run had, it alone tells."""
    run = lineage.run(over(folder, query), name="engines")
    with pytest.raises(SparkRequired, match="NaN"):
        Lineage(store=store).get_run(run.id).explain(target, save=False)
    found = run.explain(target, save=False)
    assert found.target.column("n").to_pylist() == [len(ids(found))]
    assert "spark" in engines(found)


def test_stored_rows_and_files_in_one_query(lineage: Lineage, store: Store, spark: SparkSession, folder: Path) -> None:
    def pipeline(session: SparkSession) -> DataFrame:
        # A table that only the session holds is stored with the run.
        teams = session.createDataFrame([("a", "first"), ("é", "second"), (None, "none")], "team string, title string")
        teams.createOrReplaceTempView("teams")
        session.read.parquet(str(folder / "players")).createOrReplaceTempView("players")
        return session.sql("SELECT title, count(*) AS n FROM players AS p JOIN teams AS t ON p.team <=> t.team GROUP BY title")

    run = lineage.run(pipeline, name="engines")
    found = Lineage(store=store).get_run(run.id).explain("title = 'first'", save=False)
    assert ids(found) == [1, 6]
    assert "duckdb" in engines(found)
    assert "spark" not in engines(found)


COMPUTED = """SELECT upper(trim(name)) AS u, length(name) AS l, substring(name, 1, 1) || '.' AS i, year(born) AS y, trunc(born, 'MM') AS m,
    rate * 2 + 1 AS r, rate / 4 AS q, greatest(lower(name), 'b') AS g, pmod(hash(name, born, rate), 1000) AS h,
    round(rate / 3.0D, 2) AS t, split(name, 'nn')[0] AS s, initcap(name) AS c, TRY_CAST(name AS int) AS o, count(*) AS n
  FROM computed
  WHERE contains(name, 'a') AND abs(id) < 100 AND date_add(born, 1) > DATE '1999-01-01' AND datediff(DATE '2030-01-01', born) > 0
  GROUP BY ALL"""


def test_groups_of_what_is_computed(lineage: Lineage, store: Store, spark: SparkSession, folder: Path) -> None:
    """As people write it in SQL: DuckDB finds the rows of each group, those that Spark finds."""
    days = [datetime.date(2000, 1, 31), datetime.date(2000, 1, 1), None, datetime.date(1990, 5, 5), datetime.date(2024, 2, 29)]
    names = [" anna", "Anna ", "adam", "hana", None]
    table = {"id": [1, 2, 3, 4, 5], "name": names, "born": pa.array(days, pa.date32()), "rate": [0.1, 0.1, 0.5, None, 2.0]}
    parquet.write_table(pa.table(table), folder / "computed.parquet")
    spark.read.parquet(str(folder / "computed.parquet")).createOrReplaceTempView("computed")
    run = lineage.run(COMPUTED, name="engines")
    found = Lineage(store=store).get_run(run.id).explain("n > 0", save=False)
    assert "spark" not in engines(found)
    assert ids(found, "computed") == [1, 2]
    assert found.target.num_rows == len({" anna", "Anna "})
    spark.catalog.dropTempView("computed")


TIMES = """SELECT date_trunc('HOUR', at) AS h, to_date(at) AS d, hour(at) AS o, date_format(at, 'yyyy-MM-dd HH') AS f,
    CAST(at AS string) AS s, left(name, 2) || right(name, 1) AS i, regexp_extract(name, '([a-z]+) ([0-9]+)', 2) AS g,
    replace(name, ' ', '_') AS r, floor(id / 2) AS e, CAST(id / 2 AS int) AS c, pmod(id, 2) AS p, day + INTERVAL '1' MONTH AS m,
    day - INTERVAL '1' DAY AS y, nullif(name, '') AS u, count(*) AS n
  FROM timed WHERE at >= '2024-01-31 05:00:00' AND name RLIKE '^row'
  GROUP BY ALL"""


def test_groups_by_time_in_files_of_sparks_own(lineage: Lineage, store: Store, spark: SparkSession, folder: Path) -> None:
    """Spark's writer has moments as INT96 values, unless it is told otherwise."""
    columns = [
        "id", "concat('row ', id) AS name", "date_add(DATE'2024-01-30', CAST(id AS int)) AS day",
        "timestamp_micros(1706659200000000L + id * 1800000001L) AS at",
    ]  # fmt: skip
    spark.range(40).selectExpr(*columns).repartition(2).write.parquet(str(folder / "timed"))
    (file, *_) = (folder / "timed").glob("*.parquet")
    assert parquet.ParquetFile(file).schema.column(3).physical_type == "INT96"
    spark.read.parquet(str(folder / "timed")).createOrReplaceTempView("timed")
    with apply_conf(spark, {"spark.sql.session.timeZone": "+01:00"}):
        run = lineage.run(TIMES, name="engines")
    found = Lineage(store=store).get_run(run.id).explain("n > 0", save=False)
    assert "spark" not in engines(found)
    behind = sorted((row["row"], row["source_row"]) for row in found.target_links.to_pylist())
    assert len(behind) == found.target.num_rows == sum(found.target.column("n").to_pylist()) > 0
    rows = found.sources["timed"].rows.to_pylist()
    for row, source in behind:
        made = {name: found.target.column(name)[row].as_py() for name in ("i", "g", "r", "c", "d")}
        local = rows[source]["at"] + datetime.timedelta(hours=1)
        number = rows[source]["id"]
        assert made == {"i": f"ro{number % 10}", "g": str(number), "r": f"row_{number}", "c": number // 2, "d": local.date()}
    spark.catalog.dropTempView("timed")


@pytest.mark.parametrize("asked", ["country = 'a/b=%'", "country IS NULL", "year = 2023", "day = DATE '2024-02-29'", "zone = '007'"])
def test_partitions(lineage: Lineage, store: Store, spark: SparkSession, folder: Path, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values that stand in the names of folders."""
    rows = [
        (n, country, year, f"2024-02-{29 - year % 2}", zone)
        for n, (country, year, zone) in enumerate([("a/b=%", 2023, "007"), ("é 😀'", 2024, "x"), (None, 2024, "007"), ("NL", 2023, "x")])
    ]
    made = spark.createDataFrame(rows, "id int, country string, year int, day string, zone string")
    made.write.partitionBy("country", "year", "day", "zone").parquet(str(folder / "divided"))
    spark.read.parquet(str(folder / "divided")).createOrReplaceTempView("divided")
    assert dict(spark.table("divided").dtypes)["day"] == "date"
    query = "SELECT country, year, day, zone, count(*) AS n, max(id) AS most FROM divided GROUP BY ALL"
    run = lineage.run(query, name="engines")
    found = Lineage(store=store).get_run(run.id).explain(asked, save=False)
    assert "spark" not in engines(found)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    by_spark = run.explain(asked, save=False)
    assert "spark" in engines(by_spark)
    assert sorted(map(str, found.sources["divided"].rows.to_pylist())) == sorted(map(str, by_spark.sources["divided"].rows.to_pylist()))
    assert ids(found, "divided") == sorted(found.target.column("most").to_pylist()) != []
    spark.catalog.dropTempView("divided")


@pytest.mark.parametrize("how", ["changed", "gone", "added"])
def test_files_that_are_others_now(lineage: Lineage, store: Store, folder: Path, how: str) -> None:
    run = lineage.run(over(folder, GROUPS["a group"][0]), name="engines")
    match how:
        case "changed":
            parquet.write_table(AWKWARD.slice(0, 3), folder / "players" / "part-0.parquet")
        case "gone":
            (folder / "players" / "part-1.parquet").unlink()
        case _:
            parquet.write_table(AWKWARD.slice(0, 4), folder / "players" / "part-2.parquet")
    alone = Lineage(store=store).get_run(run.id)
    if how == "added":
        found = alone.explain("team = 'a'", save=False)
        assert ids(found) == [1, 6]
        assert found.stale
        return
    with pytest.raises(SparkRequired, match="as they were"):
        alone.explain("team = 'a'", save=False)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT soundex(team) AS t, count(*) AS n FROM players GROUP BY soundex(team)", "soundex is not on the list"),
        ("SELECT upper(team) AS t, count(*) AS n FROM players GROUP BY upper(team)", "not in ASCII"),
        ("SELECT score * 2 AS s, count(*) AS n FROM players GROUP BY score * 2", "duckdb"),
    ],
)
def test_what_only_spark_answers_is_said(lineage: Lineage, store: Store, folder: Path, query: str, reason: str) -> None:
    run = lineage.run(over(folder, query), name="engines")
    with pytest.raises(SparkRequired, match=reason):
        Lineage(store=store).get_run(run.id).explain("n > 0", save=False)
    assert "spark" in engines(run.explain("n > 0", save=False))


def test_without_ansi(lineage: Lineage, store: Store, spark: SparkSession, folder: Path) -> None:
    """What would wrap around there, and fail here, is not asked."""
    with apply_conf(spark, {"spark.sql.ansi.enabled": "false"}):
        run = lineage.run(over(folder, "SELECT id + id AS s, count(*) AS n FROM players GROUP BY id + id"), name="engines")
    with pytest.raises(SparkRequired, match="ansi"):
        Lineage(store=store).get_run(run.id).explain("s = 2", save=False)


def test_a_row_and_its_engine_are_shown(lineage: Lineage, store: Store, folder: Path) -> None:
    run = lineage.run(over(folder, GROUPS["a group"][0]), name="engines")
    found: Any = Lineage(store=store).get_run(run.id).explain("team = 'a'", save=False)
    (query,) = (one for one in found.queries if one.engine == "duckdb")
    assert "FROM" in query.sql
    assert "players" in query.sql


def test_partitions_of_a_table(
    lineage: Lineage, store: Store, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their own folders; one that the catalog has elsewhere leaves all of them to Spark."""
    spark.sql("CREATE TABLE divided_table (id int, country string, year int) USING parquet PARTITIONED BY (country, year)")
    rows = "(1, 'a/b=%', 2023), (2, 'é 😀', 2024), (3, NULL, 2024), (4, 'NL', 2023), (5, 'NL', 2023)"
    spark.sql(f"INSERT INTO divided_table VALUES {rows}")
    query = "SELECT country, year, count(*) AS n, max(id) AS most FROM divided_table GROUP BY ALL"
    run = lineage.run(query, name="engines")
    found = Lineage(store=store).get_run(run.id).explain("n > 0", save=False)
    assert "spark" not in engines(found)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "duckdb", None)
        by_spark = run.explain("n > 0", save=False)
    assert "spark" in engines(by_spark)
    behind = [sorted(map(str, one.sources["divided_table"].rows.to_pylist())) for one in (found, by_spark)]
    assert behind[0] == behind[1]
    assert len(behind[0]) == 5
    parquet.write_table(pa.table({"id": pa.array([6], pa.int32())}), tmp_path / "6.parquet")
    (tmp_path / "country=x" / "year=1").mkdir(parents=True)
    shutil.move(tmp_path / "6.parquet", tmp_path / "country=x" / "year=1" / "6.parquet")
    spark.sql(f"ALTER TABLE divided_table ADD PARTITION (country='NL', year=2025) LOCATION '{tmp_path}/country=x/year=1'")
    elsewhere = lineage.run(query, name="engines")
    with pytest.raises(SparkRequired):
        Lineage(store=store).get_run(elsewhere.id).explain("year = 2025", save=False)
    (row,) = elsewhere.explain("year = 2025", save=False).sources["divided_table"].rows.to_pylist()
    assert row == {"id": 6, "country": "NL", "year": 2025}
    spark.sql("DROP TABLE divided_table")


def test_more_than_a_thousand_files(lineage: Lineage, store: Store, folder: Path) -> None:
    """Told by one digest of them all: still as they were, they are read in one scan."""
    (part,) = (folder / "players").glob("part-1*")
    for number in range(2, 1_002):
        shutil.copyfile(part, folder / "players" / f"part-{number}.parquet")
    run = lineage.run(over(folder, "SELECT team, count(*) AS n FROM players GROUP BY team"), name="engines")
    again = Lineage(store=store).get_run(run.id)
    found = again.explain("team = 'a'", save=False)
    assert "spark" not in engines(found)
    assert ids(found) == [1, *[6] * 1_001]
    shutil.copyfile(folder / "players" / "part-0.parquet", folder / "players" / "part-7.parquet")
    with pytest.raises(SparkRequired):
        again.explain("team = 'a'", save=False)
