"""Pipelines that go through the driver: lineage ends at rows that were made in the session, and says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of, sources_of
from tests.in_turn import sampled

pytestmark = pytest.mark.spark

DETOURS: dict[str, Callable[[SparkSession, DataFrame], DataFrame]] = {
    "pandas": lambda spark, loans: spark.createDataFrame(loans.toPandas()),
    "arrow": lambda spark, loans: spark.createDataFrame(loans.toArrow()),
    "collect": lambda spark, loans: spark.createDataFrame(loans.collect(), loans.schema),
    # (What rdd.toDF does; that makes it in the session that was made last, which may be another test's.)
    "rdd": lambda spark, loans: spark.createDataFrame(loans.rdd, loans.schema),
    "parallelize": lambda spark, loans: spark.createDataFrame(spark.sparkContext.parallelize(loans.collect()), loans.schema),
    "checkpoint": lambda _, loans: loans.localCheckpoint(),
    "cached": lambda spark, loans: spark.createDataFrame(loans.collect(), loans.schema).cache(),
}


@pytest.mark.parametrize("way", sampled(DETOURS, 2))
def test_a_way_through_the_driver(lineage: Lineage, spark: SparkSession, tmp_path: Path, way: str) -> None:
    path, limits = str(tmp_path / "loans"), str(tmp_path / "limits")
    spark.sql("SELECT * FROM VALUES (1, 10.5D), (2, 20.5D) AS v(id, amount)").coalesce(1).write.parquet(path)
    spark.sql("SELECT * FROM VALUES (1, 5), (2, 6) AS v(id, most)").coalesce(1).write.parquet(limits)

    def pipeline(session: SparkSession) -> DataFrame:
        detour = DETOURS[way](session, session.read.parquet(path)).alias("detour")
        return detour.join(session.read.parquet(limits), "id").where("amount > most")

    found = lineage.run(pipeline, name=way).explain("id = 1")
    detour, limit = sorted(sources_of(found), key=lambda name: name == "limits")
    assert found.sources[detour].to_pylist() == [{"id": 1, "amount": 10.5}]
    assert (guarantees_of(found)[detour].level, guarantees_of(found)[detour].origin) == ("exact", "unknown")
    assert "lineage ends here" in guarantees_of(found)[detour].cause
    assert (guarantees_of(found)[limit].origin, guarantees_of(found)[limit].cause) == ("known", "")
    assert found.guarantee.origin == "unknown"
    assert _everywhere(lineage, found)


def _everywhere(lineage: Lineage, found: Any) -> bool:
    """Whether page, JSON, terminal and the stored answer say it."""
    import io

    from rich.console import Console

    screen = io.StringIO()
    found.show(Console(file=screen, width=200))
    again = lineage.derivation(found.id)
    said = "origin unknown"
    return (
        said in found.to_html()
        and said in screen.getvalue()
        and {found.to_dict()["guarantee"]["origin"], again.guarantee.origin} == {"unknown"}
    )


def test_rows_that_nobody_asked_about_have_no_origin(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "loans")
    spark.range(3).coalesce(1).write.parquet(path)
    run = lineage.run(lambda session: session.read.parquet(path).union(session.createDataFrame([(9,)], "id long")), name="union")
    assert run.explain("id = 1").guarantee.origin == "known"
    assert run.explain("id = 9").guarantee.origin == "unknown"


@pytest.mark.parametrize("strategy", sampled(["function_materialization", "rerun"]))
def test_a_recursive_query(lineage: Lineage, spark: SparkSession, tmp_path: Path, strategy: Strategy) -> None:
    for name, rows in (("parts", "(1, 0), (2, 1), (3, 2), (4, 0)"), ("prices", "(1, 5), (2, 6), (3, 7), (4, 8)")):
        columns = "id, above" if name == "parts" else "id, price"
        spark.sql(f"SELECT * FROM VALUES {rows} AS v({columns})").coalesce(1).write.parquet(str(tmp_path / name))
    text = (
        f"WITH RECURSIVE below AS (SELECT 1 AS id, 0 AS depth UNION ALL SELECT p.id, depth + 1 FROM parquet.`{tmp_path}/parts` p "
        f"JOIN below ON p.above = below.id) SELECT below.id, depth, price FROM below JOIN parquet.`{tmp_path}/prices` p ON p.id = below.id"
    )
    run = lineage.run(text, name="below", strategy=strategy)
    assert sorted(map(tuple, run.result.collect())) == [(1, 0, 5), (2, 1, 6), (3, 2, 7)]
    run.close()
    found = lineage.get_run(run.id).explain("id = 3")
    assert found.sources["p"].to_pylist() == [{"id": 3, "price": 7}]
    (below,) = set(sources_of(found)) - {"p"}
    assert found.sources[below].to_pylist() == [{"id": 3, "depth": 2}]
    assert (guarantees_of(found)[below].level, guarantees_of(found)[below].origin) == ("exact", "unknown")
    assert "a recursive query" in guarantees_of(found)[below].cause
