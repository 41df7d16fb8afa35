"""Rows of a table that runs wrote, and others too, or that are not there any more: what the way through these runs is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.recorded_run import Run
from tests.answers import guarantees_of, links_of
from tests.in_turn import sampled
from tests.pipeline.across.small_runs import sources, sql

pytestmark = pytest.mark.spark


def written(lineage: Lineage, tables: Path, output: str, where: str = "true", columns: str = "client, amount") -> Run:
    return lineage.run(sql(f"SELECT {columns} FROM {{orders}} WHERE {where}", orders=str(tables / "orders")), name="a", output=output)


def read(lineage: Lineage, form: str, path: str, query: str) -> Run:
    """A run over what lies there, read with the columns that ``orders`` were written with."""
    assert lineage.spark is not None
    view = lineage.spark.read.schema("client string, amount int").format(form).load(path)
    view.createOrReplaceTempView("there")
    return lineage.run(query, name="b")


def told(found: Any) -> tuple[dict[str, list[Any]], dict[str, str]]:
    return sources(found), {name: one.level for name, one in guarantees_of(found).items()}


def test_what_a_table_is_worth_goes_on_to_the_tables_behind_it(lineage: Lineage, tables: Path) -> None:
    """A Python function of groups gives no more than all rows of the group: neither behind another run, nor beside one."""
    written(lineage, tables, str(tables / "o"))

    def grouped(spark: SparkSession) -> Any:
        of_both = spark.read.parquet(str(tables / "o")).join(spark.read.parquet(str(tables / "clients")), "client")
        return of_both.groupBy("client").applyInPandas(lambda rows: rows, "client string, amount int, country string")

    b = lineage.run(grouped, name="b")
    found = b.explain("amount = 10", save=False)
    assert told(found)[0] == {"orders": [1, 2]}
    assert {name: one.level for name, one in guarantees_of(found).items()} == {"orders": "superset", "clients": "superset", "o": "superset"}
    assert {name: one.guarantee.level for name, one in b.backward("amount = 10", across=True).items()} == {
        "orders": "superset", "clients": "superset",
    }  # fmt: skip


def test_an_output_that_was_overwritten_since_is_not_what_was_read(lineage: Lineage, tables: Path, spark: SparkSession) -> None:
    out = str(tables / "o")
    written(lineage, tables, f"json:{out}")
    b = read(lineage, "json", out, "SELECT client, count(*) AS n FROM there GROUP BY client")
    spark.sql("SELECT 'cy' AS client, 7 AS amount UNION ALL SELECT 'bob', 1").coalesce(1).write.mode("overwrite").json(out)
    for client in ("cy", "ann"):  # the rows of one are there as they were, those of the other are not
        found = b.explain(f"client = '{client}'", save=False)
        assert found.guarantee.level == "unavailable", client
        assert "changed" in found.guarantee.cause
        assert {one.guarantee.level for one in b.backward(f"client = '{client}'", across=True).values()} == {"unavailable"}


@pytest.mark.parametrize("form", sampled(["csv", "json"]))
def test_rows_that_somebody_else_wrote_beside_them(lineage: Lineage, tables: Path, spark: SparkSession, form: str) -> None:
    """No file says whose a row is: one that is like a run's is traced, and is shown as what it may be besides."""
    out = str(tables / "o")
    written(lineage, tables, f"{form}:{out}")
    spark.sql("SELECT 'cy' AS client, 7 AS amount").coalesce(1).write.mode("append").format(form).save(out)
    b = read(lineage, form, out, "SELECT client, count(*) AS n FROM there GROUP BY client")
    found = b.explain("client = 'cy'", save=False)
    ends = next(name for name in found.sources if name != "orders")
    assert sources(found) == {"orders": [5]}
    assert found.sources[ends].rows.to_pylist() == [{"client": "cy", "amount": 7}] * 2
    assert {one.level for one in guarantees_of(found).values()} == {"superset"}
    assert "no recorded run wrote" in found.sources[ends].guarantee.cause
    linked = [(one["source"], one["source_row"]) for one in links_of(found)["target"].to_pylist()]
    assert sorted(linked) == sorted([("orders", 0), (ends, 0), (ends, 1)])


def test_rows_of_a_run_that_cannot_be_asked_any_more(lineage: Lineage, tables: Path) -> None:
    out = str(tables / "o")
    first = written(lineage, tables, f"json:{out}+append", "rid = 5")
    second = written(lineage, tables, f"json:{out}+append", "rid = 5 OR rid = 3")
    b = read(lineage, "json", out, "SELECT * FROM there")
    assert told(b.explain("client = 'cy'", save=False)) == (
        {"orders": [5]},
        {"orders": "superset", "there": "superset", "there_2": "superset"},
    )
    lineage.drop(second.id)
    found = b.explain("client = 'cy'", save=False)
    ends = next(name for name in found.sources if name != "orders")
    assert sources(found) == {"orders": [5]}
    assert found.sources[ends].rows.num_rows == 2
    assert {one.level for one in guarantees_of(found).values()} == {"superset"}
    assert second.id in found.sources[ends].guarantee.cause
    alone = b.explain("client = 'bob'", save=False)
    assert (list(alone.sources), alone.guarantee.level) == ([ends], "exact")
    assert first.id not in alone.sources[ends].guarantee.cause
