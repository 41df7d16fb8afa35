"""TPC-H through sketches: a query gives plain Spark's rows again, whatever of its sources it reads through one."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage, Run, SketchOn
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled
from tests.tpch.data import KEYS
from tests.tpch.workloads import QUERIES, Workload, is_same_row, sql

pytestmark = pytest.mark.spark
pytest.importorskip("z3")

CASES = sampled([one for one in QUERIES if one[0] == "tpch"], 8)


def keys_of(text: str) -> dict[str, list[str]]:
    """The primary keys of the tables that a query reads."""
    return {name: list(key) for name, key in KEYS.items() if re.search(rf"\b{name}\b", text)}


def gives_plain_rows(run: Run, workload: Workload, query: str, spark: SparkSession) -> None:
    left = list(workload.plain(query, spark))
    for row in run.result.collect():
        same = next((one for one in left if is_same_row(one, tuple(row))), None)
        assert same is not None, f"plain Spark does not give {row}"
        left.remove(same)
    assert not left, f"the run does not give {left}"


@pytest.mark.parametrize(("workload", "query"), CASES, indirect=["workload"])
def test_a_query_through_sketches_gives_plain_rows(workload: Workload, query: str, spark: SparkSession, store: Store) -> None:
    """Fine sketches of the columns that are chosen; what cannot be sketched says why."""
    lineage, text = Lineage(spark, store=store), sql("tpch", query)
    first = lineage.run(text, name=f"sketched {query}", sketches="capture", keys=keys_of(text))
    gives_plain_rows(first, workload, query, spark)
    again = lineage.run(text, name=f"sketched {query}", sketches="use", keys=keys_of(text))
    gives_plain_rows(again, workload, query, spark)
    by_leaf = {one.leaf: one for one in first.sketches}
    assert len(by_leaf) == len(again.sketches) > 0
    for one in again.sketches:
        assert one.because
        assert (one.state == "used") == (by_leaf[one.leaf].state == "captured"), (one, by_leaf[one.leaf])


@pytest.mark.parametrize("query", sampled(["q10", "q18", "q03"], one_in=3))
@pytest.mark.parametrize("workload", ["tpch"], indirect=True)
def test_coarse_fragments_give_plain_rows(workload: Workload, query: str, spark: SparkSession, store: Store) -> None:
    """Fragments of the order's or the customer's key in which there is much else."""
    lineage, text = Lineage(spark, store=store), sql("tpch", query)
    column, cuts = ("c_custkey", tuple(range(3, 150, 3))) if query == "q10" else ("o_orderkey", tuple(range(100, 6000, 100)))
    on = {"customer" if query == "q10" else "orders": SketchOn(column=column, cuts=cuts)}
    keys = keys_of(text)
    first = lineage.run(text, name=f"coarse {query}", sketches="capture", sketch_on=on, keys=keys)
    again = lineage.run(text, name=f"coarse {query}", sketches="use", sketch_on=on, keys=keys, verify_sketches=True)
    gives_plain_rows(again, workload, query, spark)
    assert {one.column: one.state for one in first.sketches}[column] == "captured", first.sketches
