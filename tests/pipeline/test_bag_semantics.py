"""Each of equal result rows has its own lineage: section 2.1 of the forward-lineage paper, with the tables of its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.explanation import Explanation
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, links_of

pytestmark = pytest.mark.spark

Rows = list[tuple[Any, ...]]

STORE: Rows = [("01", "Target", "Palo Alto", "CA"), ("02", "Target", "Albany", "NY"), ("03", "Macy's", "San Francisco", "CA"),
         ("04", "Macy's", "New York City", "NY")]  # fmt: skip
ITEM: Rows = [("01", "binder", "stationery"), ("02", "pencil", "stationery"), ("03", "shirt", "clothing"), ("04", "pants", "clothing"),
        ("05", "pot", "kitchenware")]  # fmt: skip
SALES: Rows = [("01", "01", "01", 4, 1000), ("02", "01", "02", 1, 3000), ("03", "01", "04", 30, 600), ("04", "02", "01", 5, 800),
         ("05", "02", "02", 2, 2000), ("06", "02", "04", 35, 800), ("07", "03", "03", 45, 1500), ("08", "03", "04", 60, 600),
         ("09", "04", "03", 50, 2100), ("10", "04", "04", 70, 1200), ("11", "04", "05", 30, 200)]  # fmt: skip
TABLES: dict[str, tuple[Rows, str, str]] = {
    "store": (STORE, "s_id string, s_name string, city string, state string", "s_id"),
    "item": (ITEM, "i_id string, i_name string, category string", "i_id"),
    "sales": (SALES, "t_id string, s_id string, i_id string, price int, num int", "t_id"),
}
Q1 = """SELECT d.s_name, i.i_name FROM store d, item i, sales s
WHERE d.s_id = s.s_id AND i.i_id = s.i_id AND i.category = 'stationery'"""
# Table 6: the lineage of each row, by the ids of store, item and sales.
TABLE_6 = [
    (("Target", "binder"), {"store 01", "item 01", "sales 01"}),
    (("Target", "binder"), {"store 02", "item 01", "sales 04"}),
    (("Target", "pencil"), {"store 01", "item 02", "sales 02"}),
    (("Target", "pencil"), {"store 02", "item 02", "sales 05"}),
]


def views(spark: SparkSession, folder: Path, form: str, copies: int = 1) -> None:
    for name, (rows, schema, _) in TABLES.items():
        path = str(folder / name)
        spark.createDataFrame(rows * copies, schema).coalesce(1).write.format(form).save(path)
        spark.read.format(form).schema(schema).load(path).createOrReplaceTempView(name)


def lineages(found: Explanation) -> list[tuple[tuple[str, ...], set[str]]]:
    """Each target row with the ids behind it, sorted."""
    behind: list[set[str]] = [set() for _ in range(found.target.num_rows)]
    for link in links_of(found)["target"].to_pylist():
        row = found.sources[link["source"]].slice(link["source_row"], 1).to_pylist()[0]
        behind[link["row"]].add(f"{link['source']} {row[TABLES[link['source']][2]]}")
    rows = [tuple(row.values()) for row in found.target.to_pylist()]
    return sorted(zip(rows, behind, strict=True), key=lambda pair: (pair[0], sorted(pair[1])))


@pytest.mark.parametrize("strategy", ["function_materialization", "rerun", "full_materialization"])
def test_each_duplicate_has_its_own_lineage(spark: SparkSession, store: Store, tmp_path: Path, strategy: Strategy) -> None:
    views(spark, tmp_path, "parquet")
    run = Lineage(spark, store=store).run(Q1, strategy=strategy)
    found = run.explain("true", save=False)
    run.close()
    assert lineages(found) == sorted(TABLE_6, key=lambda pair: (pair[0], sorted(pair[1])))
    assert found.guarantee.level == "exact"


def test_without_keys_identical_source_rows_are_given_together_and_marked(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    """CSV rows have no position and no key: two identical rows cannot be told apart, and the answer is their union."""
    views(spark, tmp_path, "csv", copies=2)
    lineage = Lineage(spark, store=store)
    run = lineage.run("SELECT t_id, price FROM sales WHERE t_id = '01'")
    found = run.explain("true", save=False)
    run.close()
    assert found.target.num_rows == 2
    assert found.sources["sales"].column("t_id").to_pylist() == ["01", "01"]
    assert sorted((link["row"], link["source_row"]) for link in links_of(found)["target"].to_pylist()) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert guarantees_of(found)["sales"].level == "superset"
    assert "identical rows" in guarantees_of(found)["sales"].cause
