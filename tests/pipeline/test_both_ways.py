"""Rows of lineage as a user asks for them: `Run.backward` to the sources, `Run.forward` to the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage, LineageRows, Run
from airflow_lineage_provider.errors import (
    AnswerTooLarge,
    EmptyTarget,
    InvalidOption,
    InvalidTarget,
    SparkRequired,
    TargetTooLarge,
    UnsupportedOperator,
)
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy

pytestmark = pytest.mark.spark

TOTALS = "SELECT country, sum(amount) AS total FROM credits JOIN people ON person = pid WHERE amount > 10 GROUP BY country"
PAIRS = "SELECT a.cid AS one, b.cid AS other FROM credits a JOIN credits b ON a.person = b.person AND a.cid < b.cid"


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    rows: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
        "people": ("pid int, country string", [(1, "NL"), (2, "NL"), (3, "DE"), (4, "FR")]),
        "credits": ("cid int, person int, amount int", [(10, 1, 20), (11, 1, 30), (12, 2, 40), (13, 3, 50), (14, 3, 5)]),
    }
    folder = tmp_path_factory.mktemp("both_ways")
    for name, (schema, data) in rows.items():
        spark.createDataFrame(data, schema).coalesce(1).write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    yield
    for name in rows:
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def totals(spark: SparkSession, store: Store, tables: None) -> Run:
    run = Lineage(spark, store=store).run(TOTALS, name="totals")
    run.close()
    return run


def pairs(found: LineageRows, column: str) -> list[tuple[int, Any]]:
    """Which row that was asked about leads to which row, by a column's value."""
    values = found.rows.column(column).to_pylist()
    return [(asked, values[row]) for asked, row in zip(*(one.to_pylist() for one in found.links.columns), strict=True)]


def test_the_source_rows_behind_rows(totals: Run) -> None:
    found = totals.backward("country = 'NL'")
    assert list(found) == ["credits", "people"]
    assert sorted(found["credits"].rows.column("cid").to_pylist()) == [10, 11, 12]
    assert sorted(found["people"].rows.column("pid").to_pylist()) == [1, 2]
    one = totals.backward([{"country": "NL"}, {"country": "DE"}], "CREDITS")
    assert isinstance(one, LineageRows)
    assert len(one) == 4 == pa.table(one).num_rows
    by_country = {country: {cid for asked, cid in pairs(one, "cid") if asked == at} for at, country in enumerate(countries(totals))}
    assert by_country == {"NL": {10, 11, 12}, "DE": {13}}
    assert isinstance(one.to_pandas(), pd.DataFrame)
    assert one.guarantee.level == "exact"
    assert one.engine.startswith("lazy: ")
    assert repr(found["people"]) == f"<2 rows of people for country = 'NL': exact, {found['people'].engine}>"


def countries(run: Run) -> list[Any]:
    return run.result_table().column("country").to_pylist()  # type: ignore[no-any-return]


def test_the_rows_of_the_result_that_descend_from_rows(totals: Run) -> None:
    found = totals.forward("amount >= 40")
    assert sorted(pairs(found, "country")) == [(0, "NL"), (1, "DE")] or sorted(pairs(found, "country")) == [(0, "DE"), (1, "NL")]
    assert sorted(found.rows.column("total").to_pylist()) == [50, 90]
    assert (found.table, found.guarantee.level, found.engine) == ("result", "exact", "lazy: spark")
    assert totals.forward({"pid": 2}).rows.to_pylist() == [{"country": "NL", "total": 90}]
    assert totals.forward(at=[0], table="people").rows.num_rows == 1
    nothing = totals.forward("amount = 5", "credits")
    assert len(nothing) == nothing.links.num_rows == 0
    assert nothing.rows.column_names == ["country", "total"]


def test_a_table_that_is_read_twice_is_one(lineage: Lineage) -> None:
    run = lineage.run(PAIRS, name="pairs")
    run.close()
    assert sorted(run.backward("one = 10", "credits").rows.column("cid").to_pylist()) == [10, 11]
    assert run.forward("cid = 11", "credits").rows.to_pylist() == [{"one": 10, "other": 11}]
    assert len(run.forward("cid IN (10, 11)", "credits")) == 1
    for asked in (run, captured(run)):
        places = asked.backward("one = 10", "credits", by_leaf=True)
        assert {name: one.rows.column("cid").to_pylist() for name, one in places.items()} == {"credits": [10], "credits_2": [11]}
        assert {one.table for one in places.values()} == {"credits"}
        (whole,) = asked.backward("one = 10").values()
        assert sorted(rid for one in places.values() for rid in one.rids.tolist()) == whole.rids.tolist()


def captured(run: Run) -> Run:
    run.capture()
    return run


@pytest.mark.parametrize("strategy", ["rerun", "full_materialization"])
def test_every_strategy_gives_the_same(lineage: Lineage, strategy: Strategy) -> None:
    run = lineage.run(TOTALS, name="totals", strategy=strategy)
    run.close()
    assert sorted(run.backward("total = 90", "credits").rows.column("cid").to_pylist()) == [10, 11, 12]
    assert run.forward("cid = 12").rows.to_pylist() == [{"country": "NL", "total": 90}]


@pytest.mark.parametrize(("text", "target"), [(TOTALS, "country = 'NL'"), (PAIRS, "one = 10")])
def test_rows_of_an_explanation_are_followed_without_spark_as_with_it(lineage: Lineage, store: Store, text: str, target: str) -> None:
    run = lineage.run(text, name="followed")
    run.close()
    explanation = Lineage(store=store).get_run(run.id).explain(target, save=False)
    followed = 0
    for source in explanation.sources.values():
        for row in range(len(source)):
            (keyed,) = source.keyed
            one = keyed.only(row)
            without, with_spark = Lineage(store=store).get_run(run.id).forward(one), run.forward(one)
            assert without.rows.equals(with_spark.rows)
            assert without.numbers == with_spark.numbers
            assert (without.links.equals(with_spark.links), without.guarantee.level) == (True, "exact")
            assert with_spark.engine == "lazy: spark" != without.engine
            assert len(without) >= 1
            followed += 1
    assert followed >= 2


@pytest.mark.parametrize(
    "asked", ["amount > 20", "person IS NULL OR cid = 12", "cid IN (10, 14, 99)", [{"cid": 11}, {"cid": 12}], {"amount": 30}]
)
def test_source_rows_are_found_without_spark_as_with_it(totals: Run, store: Store, asked: Any) -> None:
    without, with_spark = Lineage(store=store).get_run(totals.id).forward(asked, "credits"), totals.forward(asked, "credits")
    assert without.rows.equals(with_spark.rows)
    assert (without.links, without.numbers, without.asked_rows) == (with_spark.links, with_spark.numbers, with_spark.asked_rows)
    assert with_spark.engine == "lazy: spark" != without.engine
    assert len(without) >= 1


def test_a_session_that_could_be_started_is_started_where_it_must(totals: Run, store: Store, spark: SparkSession) -> None:
    started: list[str] = []

    def start(why: str) -> SparkSession:
        started.append(why)
        return spark

    lineage = Lineage(store=store, start_spark=start)
    assert len(lineage.get_run(totals.id).forward("amount > 20", "credits"))
    assert started == []
    assert len(lineage.get_run(totals.id).forward("reverse(CAST(amount AS string)) LIKE '0%'", "credits"))
    assert len(started) == 1


def test_python_functions(lineage: Lineage, spark: SparkSession) -> None:
    def largest(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.nlargest(1, "amount")

    def of_each(session: SparkSession) -> DataFrame:
        return session.table("credits").groupBy("person").applyInPandas(largest, "cid int, person int, amount int")

    run = lineage.run(of_each, name="largest")
    run.close()
    found = run.backward("cid = 11", "credits")
    assert sorted(found.rows.column("cid").to_pylist()) == [10, 11]
    assert found.guarantee.level == "superset"
    with pytest.raises(UnsupportedOperator, match="largest"):
        run.forward("cid = 11")


def test_what_cannot_be_asked(totals: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidTarget, match=r"no source table 'loans'; it has credits .*; people"):
        totals.backward("true", "loans")
    with pytest.raises(InvalidTarget, match="name the rows to explain in exactly one way"):
        totals.backward()
    with pytest.raises(InvalidTarget, match="name the source rows in exactly one way"):
        totals.forward()
    with pytest.raises(EmptyTarget):
        totals.backward("country = 'XX'")
    with pytest.raises(EmptyTarget):
        totals.forward("amount = 1000")
    with pytest.raises(TargetTooLarge):
        totals.forward("amount > 0", max_rows=2)
    with pytest.raises(InvalidOption, match="max_rows"):
        totals.backward("true", max_rows=0)
    alone = Lineage(store=store).get_run(totals.id)
    with pytest.raises(SparkRequired):
        alone.forward("reverse(CAST(amount AS string)) = '0'", "credits")
    with pytest.raises(EmptyTarget, match="no row of credits matches amount = 1000"):
        alone.forward("amount = 1000")
    with pytest.raises(TargetTooLarge, match="matches more than 2 rows of credits"):
        alone.forward("amount > 0", max_rows=2)
    monkeypatch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "1")
    with pytest.raises(AnswerTooLarge, match="3 of credits"):
        totals.backward("country = 'NL'", "credits").to_arrow()
    with pytest.raises(AnswerTooLarge, match="2 rows of the result descend from"):
        totals.forward("amount > 10")
