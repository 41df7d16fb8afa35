"""`Run.columns(across=True)`: the plans of several runs, joined at their tables, have the column lineage of one pipeline in one piece."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.cli import main
from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled
from tests.pipeline.across.small_runs import sql
from tests.tracing.told_columns import texts

pytestmark = pytest.mark.spark

# Two steps each, of which the second reads the first as {between}: what one run writes and the next one reads, or a subquery.
STEPS = {
    "group, then filter": (
        "SELECT client, sum(amount) AS total FROM {orders} GROUP BY client",
        "SELECT upper(client) AS who, total FROM {between} WHERE total > 5",
    ),
    "a model, then count": (
        "SELECT rid, client, extent(amount) AS size FROM {orders} WHERE rid < 6",
        "SELECT size, count(*) AS n, max(client) AS last FROM {between} GROUP BY size",
    ),
    "join with another table": (
        "SELECT client, amount * 2 AS twice FROM {orders} WHERE amount > 1",
        "SELECT country, twice FROM {between} JOIN {clients} ON between.client = clients.client",
    ),
    "read on two ways": (
        "SELECT rid, client, amount FROM {orders} WHERE client IS NOT NULL",
        "SELECT f.rid, s.amount FROM (SELECT * FROM {between}) f JOIN (SELECT * FROM {between}) s ON f.client = s.client",
    ),
    "a column that nobody reads": ("SELECT client, amount, rid FROM {orders} WHERE amount > 6", "SELECT count(*) AS n FROM {between}"),
    "in an existence test": (
        "SELECT client FROM {orders} WHERE amount > 6",
        "SELECT country FROM {clients} WHERE NOT EXISTS (SELECT 1 FROM {between} WHERE between.client = clients.client)",
    ),
}


def tables_of(tables: Path) -> dict[str, str]:
    return {name: f"parquet.`{tables / name}` AS {name}" for name in ("orders", "clients")}


@pytest.mark.parametrize("name", sampled(STEPS, one_in=2))
def test_two_runs_are_as_one(lineage: Lineage, tables: Path, name: str) -> None:
    first, second = STEPS[name]
    lineage.run(first.format(**tables_of(tables)), name="first", output=str(tables / "between"))
    run = lineage.run(second.format(**tables_of(tables), between=f"parquet.`{tables / 'between'}` AS between"), name="second")
    whole = lineage.run(second.format(**tables_of(tables), between=f"({first.format(**tables_of(tables))}) AS between"), name="whole")
    expected = texts(whole.columns())
    assert texts(run.columns(across=True)) == expected
    assert texts(run.columns()) != expected
    assert texts(whole.columns(across=True)) == expected


def test_a_table_of_two_runs_and_one_of_nobody(lineage: Lineage, spark: SparkSession, tables: Path) -> None:
    """Its columns are those of both runs, and its own where somebody else has added files."""
    for kind, rows in (("old", "amount < 10"), ("new", "amount >= 10")):
        text = f"SELECT rid, {'client' if kind == 'old' else 'upper(client)'} AS client FROM {{orders}} WHERE {rows}"
        lineage.run(sql(text, orders=str(tables / "orders")), name=kind, output=f"{tables / 'both'}+append")
    run = lineage.run(sql("SELECT client FROM {both}", both=str(tables / "both")), name="reads both")
    found = texts(run.columns(across=True))
    assert found == {"client": {"orders.client IDENTITY", "orders.client TRANSFORMATION"}, "*": {"orders.amount FILTER"}}
    spark.createDataFrame([(9, "eve")], "rid int, client string").write.parquet(str(tables / "both"), mode="append")
    run = lineage.run(sql("SELECT client FROM {both}", both=str(tables / "both")), name="reads both")
    assert texts(run.columns(across=True))["client"] == found["client"] | {"both.client IDENTITY"}


def test_over_three_runs_and_two_tables_of_one_name(lineage: Lineage, tables: Path) -> None:
    first = lineage.run(sql("SELECT rid, client, amount + 1 AS more FROM {orders}", orders=str(tables / "orders")), name="first",
                        output=str(tables / "step" / "orders"))  # fmt: skip
    text = "SELECT client, avg(more) AS mean FROM {orders} GROUP BY client"
    second = lineage.run(sql(text, orders=str(tables / "step" / "orders")), name="second", output=str(tables / "means"))
    run = lineage.run(sql("SELECT extent(CAST(mean AS int)) AS size FROM {means}", means=str(tables / "means")), name="third")
    assert texts(run.columns(across=True)) == {"size": {"orders.amount AGGREGATION by extent"}, "*": {"orders.client GROUP_BY"}}
    # A run that was dropped is where it ends.
    lineage.drop(first.id)
    assert texts(run.columns(across=True)) == {"size": {"orders.more AGGREGATION by extent"}, "*": {"orders.client GROUP_BY"}}
    lineage.drop(second.id)
    assert texts(run.columns(across=True)) == texts(run.columns()) == {"size": {"means.mean TRANSFORMATION by extent"}, "*": set()}


@pytest.fixture
def read(lineage: Lineage, tables: Path) -> Run:
    lineage.run(sql("SELECT client, amount FROM {orders}", orders=str(tables / "orders")), name="w", output=str(tables / "between"))
    return lineage.run(sql("SELECT amount FROM {between}", between=str(tables / "between")), name="r")


def test_without_spark_and_in_a_shell(read: Run, store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    again = Lineage(store=store).get_run(read.id)
    assert texts(again.columns(across=True)) == {"amount": {"orders.amount IDENTITY"}, "*": set()}
    for asked, source in (([], "between"), (["--across"], "orders")):
        assert main(["explain-columns", read.id, "--json", *asked]) == 0
        (column,) = json.loads(capfd.readouterr().out)["columns"]
        assert [one["source"] for one in column["inputs"]] == [source]
    with pytest.raises(InvalidOption, match="by_leaf=True"):
        read.columns(across=True, by_leaf=True)


def test_runs_that_are_not_to_be_read_are_where_it_ends(read: Run, lineage: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "may_read", lambda record: record.pipeline != "w")
    assert texts(read.columns(across=True))["amount"] == {"between.amount IDENTITY"}
