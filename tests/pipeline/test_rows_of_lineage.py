"""Rows of lineage as what a further run reads: base queries of the next (Smoke, Sec. 6.4), against the same computed of lists of rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, Run
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.errors import EmptyTarget, InvalidOption, PlanError, SourceUnavailable
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.in_turn import STRATEGIES, sampled

pytestmark = pytest.mark.spark

Flight = dict[str, Any]


@pytest.fixture(scope="module")
def flights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Flight]]:
    chance, made = random.Random(7), tmp_path_factory.mktemp("drilled")
    names = ("id", "carrier", "day", "delay")
    rows = [(at, chance.choice(["AA", "UA", "DL", None]), chance.randint(1, 4), chance.randint(-20, 140)) for at in range(60)]
    # Rows 0 and 1 are the same but for their place.
    rows[1] = rows[0]
    frame = spark.createDataFrame(rows, "id int, carrier string, day int, delay int")
    frame.repartition(3).write.parquet(str(made / "flights"))
    spark.read.parquet(str(made / "flights")).createOrReplaceTempView("drill_flights")
    yield [dict(zip(names, row, strict=True)) for row in rows]
    spark.catalog.dropTempView("drill_flights")


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, flights: list[Flight]) -> Lineage:
    return Lineage(spark, store=store)


@pytest.fixture(scope="module")
def carriers(lineage: Lineage) -> Run:
    return lineage.run("SELECT carrier, count(*) AS n FROM drill_flights GROUP BY carrier", name="drill carriers", capture="eager")


def ids(rows: LineageRows) -> list[int]:
    return sorted(rows.rows.column("id").to_pylist())


def expected(flights: list[Flight], **values: Any) -> list[int]:
    return sorted(one["id"] for one in flights if all(one[name] == value for name, value in values.items()))


@pytest.mark.parametrize("strategy", sampled(STRATEGIES))
def test_each_answer_is_the_base_of_the_next(lineage: Lineage, carriers: Run, flights: list[Flight], strategy: Strategy) -> None:
    base = carriers.backward("carrier = 'AA'", table="drill_flights")
    by_day = lineage.run(
        "SELECT f.day, count(*) AS n, sum(delay) AS late FROM {flights} f GROUP BY f.day", name="drill days", sources={"flights": base},
        strategy=strategy, capture="lazy" if strategy == "rerun" else "eager",
    )  # fmt: skip
    found = {row["day"]: row["n"] for row in (row.asDict() for row in by_day.result.collect())}
    assert found == {day: n for day in range(1, 5) if (n := len(expected(flights, carrier="AA", day=day)))}
    for day in [*found][:2]:
        rows = by_day.backward(f"day = {day}", table="drill_flights")
        assert ids(rows) == expected(flights, carrier="AA", day=day)
        assert rows.engine.startswith("index: ") == (strategy != "rerun")
        assert ids(base.where("day = :day", day=day)) == ids(rows)
    last = lineage.run("SELECT max(delay) AS worst FROM {f} WHERE delay < 100", name="drill worst", sources={"f": rows})
    delays = [one["delay"] for one in flights if (one["carrier"], one["day"]) == ("AA", day) and one["delay"] < 100]
    assert last.result_table().to_pylist() == [{"worst": max(delays, default=None)}]
    assert len(last.backward("true", table="drill_flights")) == len(delays)
    assert by_day.plan.sources[0].version == carriers.plan.sources[0].version
    assert len(carriers.linked("carrier = 'UA'", by_day)) == 0
    assert len(carriers.linked("carrier = 'AA'", by_day)) == len(found)


def test_it_is_explained_without_spark(lineage: Lineage, carriers: Run, flights: list[Flight], store: Store) -> None:
    late = carriers.backward("carrier = 'UA'", table="drill_flights").where("delay > 60")
    run = lineage.run("SELECT day, count(*) AS n FROM {late} GROUP BY day", name="drill late", sources={"late": late})
    there = Lineage(store=store).get_run(run.id)
    for at, row in enumerate(there.result_table(2).to_pylist()):
        found = there.explain(None, at=at, save=False)
        table = found.sources["drill_flights"]
        wanted = [one["id"] for one in flights if one["carrier"] == "UA" and one["delay"] > 60 and one["day"] == row["day"]]
        assert sorted(table.rows.column("id").to_pylist()) == sorted(wanted)
        assert (table.guarantee.level, len(wanted)) == ("exact", row["n"])
    assert there.backward("true", table="drill_flights").engine.startswith("lazy: duckdb")
    (source,) = there.plan.sources.values()
    assert source.rows_of is not None
    assert (source.rows_of.run, source.rows_of.rows) == (carriers.id, len(late))
    assert [(one.name, one.rows) for one in there.stored] == [("result", there.result_table().num_rows), ("rows_0", len(late))]
    # Other rows of the table are none that could be asked about, whoever looks for them.
    assert len(run.forward("carrier = 'UA'", table="drill_flights")) == there.result_table().num_rows
    assert len(there.forward("carrier = 'UA'", table="drill_flights")) == there.result_table().num_rows
    with pytest.raises(EmptyTarget):
        there.forward("carrier = 'AA'", table="drill_flights")


TWICE = {
    "a join": "SELECT a.id, b.id AS other FROM {f} a JOIN {f} b ON a.day = b.day AND a.id < b.id",
    "a subquery": "SELECT id, 0 AS other FROM drill_flights WHERE day IN (SELECT day FROM {f})",
    "a common table": "WITH c AS (SELECT id, day FROM {f}) SELECT a.id, b.id AS other FROM c a JOIN c b ON a.day = b.day AND a.id < b.id",
    "a union": "SELECT id, 0 AS other FROM {f} UNION ALL SELECT id, 1 FROM drill_flights WHERE id > 50 UNION ALL SELECT id, 2 FROM {f}",
    "correlated": "SELECT id, (SELECT max(id) FROM {f} f WHERE f.day = d.day) AS other FROM drill_flights d",
    "of the user's": "SELECT a.id, 0 AS other FROM {f} a LEFT SEMI JOIN drill_flights b ON a.id = b.id + 1",
}


@pytest.mark.parametrize("text", [TWICE[name] for name in sampled(TWICE)], ids=sampled(TWICE))
def test_they_are_read_several_times(lineage: Lineage, carriers: Run, spark: SparkSession, text: str) -> None:
    base = carriers.backward("carrier = 'DL'", table="drill_flights")
    run = lineage.run(text, name="drill twice", sources={"f": base})
    spark.createDataFrame(base.to_pandas()).createOrReplaceTempView("drill_given")
    wanted = spark.sql(text.replace("{f}", "drill_given")).collect()
    rows = [tuple(row.values()) for row in run.result_table().to_pylist()]
    assert sorted(rows, key=repr) == sorted((tuple(row) for row in wanted), key=repr)
    # Rows of a table and the whole table are two tables of the run: what is read as a part leads to a part.
    tables = tables_of(run.plan)
    assert len(tables) == len({one.rows_of for one in run.plan.sources.values()})
    for name, found in run.backward("true").items():
        assert tables[name][0].rows_of is None or set(ids(found)) <= set(ids(base))
    spark.catalog.dropTempView("drill_given")


def test_a_function_takes_them_as_frames(lineage: Lineage, carriers: Run, flights: list[Flight]) -> None:
    base, seen = carriers.backward("carrier IS NULL", table="drill_flights"), []

    def worst(spark: SparkSession, late: DataFrame, least: int) -> DataFrame:
        seen.append(late.count())
        return late.where(f"delay >= {least}").groupBy("day").count()

    run = lineage.run(worst, params={"least": 0}, sources={"late": base})
    assert seen == [len(expected(flights, carrier=None))]
    wanted = [one["id"] for one in flights if one["carrier"] is None and one["delay"] >= 0]
    assert ids(run.backward("true", table="drill_flights")) == sorted(wanted)


def test_what_cannot_be_read_so(lineage: Lineage, carriers: Run, spark: SparkSession, tmp_path: Path) -> None:
    base = carriers.backward("carrier = 'AA'", table="drill_flights")
    for given, text, told in (
        ({"f": [1]}, "SELECT * FROM {f}", "f is \\[1\\], and no rows of lineage"),
        ({"f": base}, "SELECT 1", "the SQL text does not read it: write FROM {f}"),
        ({"a b": base}, "SELECT * FROM {a b}", "is no name that a pipeline can read"),
        (
            {"f": carriers.forward("id = 3", table="drill_flights")},
            "SELECT * FROM {f}",
            "is rows of a result, which no pipeline can read again",
        ),
    ):
        with pytest.raises(InvalidOption, match=told):
            lineage.run(text, sources=given)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="a DataFrame reads what it reads"):
        lineage.run(spark.range(3), sources={"f": base})
    with pytest.raises(InvalidOption, match="f is among the sources and among the params"):
        lineage.run("SELECT * FROM {f} WHERE id = :f", params={"f": 1}, sources={"f": base})
    with pytest.raises(PlanError, match="does not read f, the rows of lineage that it is given"):
        lineage.run(lambda spark, f: spark.range(3), name="drill nothing", sources={"f": base})
    spark.createDataFrame([(1,)], "a int").createOrReplaceTempView("drill_local")
    local = lineage.run("SELECT * FROM drill_local", name="drill local").backward("true", table="drill_local")
    with pytest.raises(InvalidOption, match="known by snapshot, and only rows of Parquet files"):
        lineage.run("SELECT * FROM {f}", sources={"f": local})
    spark.catalog.dropTempView("drill_local")


def test_a_table_that_is_another_now(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(10).coalesce(1).write.parquet(str(tmp_path / "t"))
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("drill_t")
    base = lineage.run("SELECT id % 2 AS odd, count(*) AS n FROM drill_t GROUP BY 1", name="drill odd").backward("odd = 1", table="drill_t")
    text = "SELECT sum(id) AS s FROM {t}"
    run = lineage.run(text, name="drill sum", sources={"t": base})
    spark.range(10, 14).coalesce(1).write.mode("append").parquet(str(tmp_path / "t"))
    # What was added since is not in it.
    again = lineage.run(text, name="drill sum", sources={"t": base})
    assert run.result_table() == again.result_table()
    assert sorted(again.backward("true", table="drill_t").rows.column("id").to_pylist()) == [1, 3, 5, 7, 9]
    assert again.plan.sources[0].version == run.plan.sources[0].version
    spark.range(10).coalesce(1).write.mode("overwrite").parquet(str(tmp_path / "t"))
    with pytest.raises(SourceUnavailable, match=r"t is to be rows of drill_t as run .* read it, and drill_t is another now"):
        lineage.run(text, name="drill sum", sources={"t": base})
    assert run.backward("true", table="drill_t").guarantee.level == "unavailable"
    spark.catalog.dropTempView("drill_t")
