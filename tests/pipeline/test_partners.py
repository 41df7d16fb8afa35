"""How many rows of a join's other side would have done, term by term: against the pairs of all rows, evaluated by Spark one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.why_not import Descendant
from airflow_lineage_provider.deriving.why_not import evidence
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

TERMS = [
    "l.k = r.k", "l.x < r.y", "l.k <=> r.k", "l.x IS NOT NULL", "r.y > 2", "l.x + 1 = r.y * 2", "l.k <> 'b'", "r.k IN ('a', 'c')",
    "l.f = r.f", "length(l.k) = 1", "l.x % 2 = r.y % 2",
]  # fmt: skip


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    draw, folder = random.Random(5), tmp_path_factory.mktemp("partners")
    floats = [0.0, -0.0, float("nan"), None, 1.5]
    left = [(i, draw.choice(["a", "b", "c", None]), draw.choice([1, 2, 3, None]), draw.choice(floats)) for i in range(14)]
    right = [(draw.choice(["a", "b", None]), draw.choice([1, 2, 3, 4, None]), draw.choice(floats)) for _ in range(9)]
    _view(spark, folder / "l", left, "id int, k string, x int, f double", "l")
    _view(spark, folder / "r", right, "k string, y int, f double", "r")
    yield Lineage(spark, store=store)
    for name in "lr":
        spark.catalog.dropTempView(name)


def _view(spark: SparkSession, path: Path, rows: list[Any], schema: str, name: str) -> None:
    spark.createDataFrame(rows, schema).write.parquet(str(path))
    spark.read.parquet(str(path)).createOrReplaceTempView(name)


@pytest.mark.parametrize("seed", sampled(range(4), 2))
def test_against_all_pairs(lineage: Lineage, spark: SparkSession, seed: int) -> None:
    terms = random.Random(seed).sample(TERMS, 2 + seed % 2)
    kind = ("JOIN", "LEFT ANTI JOIN")[seed % 2]
    run = lineage.run(f"SELECT l.id FROM l {kind} r ON {' AND '.join(terms)}", name="partners")
    run.close()
    found = lineage.get_run(run.id).why_not("true", table="l")
    counted = ", ".join(f"count(CASE WHEN {one} THEN 1 END)" for one in (" AND ".join(terms), *terms))
    pairs = {row[0]: tuple(row[1:]) for row in spark.sql(f"SELECT l.id, count(*), {counted} FROM l CROSS JOIN r GROUP BY l.id").collect()}
    dropped = [fate for fate in found.fates if fate.drop is not None]
    assert dropped
    for fate in dropped:
        assert fate.drop is not None
        (row,) = fate.drop.rows
        total, met, *each = pairs[found.rows.column("id")[fate.row].as_py()]
        assert (row.others_total, row.others_count) == (total, met)
        # (Terms are those of the plan, which may have them in another order.)
        assert sorted(term.met or 0 for term in row.terms) == sorted(each)
        _check_others(row, met, anti=kind != "JOIN")


def _check_others(row: Descendant, met: int, *, anti: bool) -> None:
    assert len(row.others) == len(row.other_rows) == (min(met, evidence.MOST_OTHERS) if anti else 0)
