"""A pipeline whose frame is of another session than the lineage's: its views, its functions and its settings are meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.pipeline.small_files import kind_of, view

pytestmark = pytest.mark.spark


def views_of(session: SparkSession) -> list[str]:
    return [row["viewName"] for row in session.sql("SHOW VIEWS").collect()]


@pytest.mark.parametrize("given", ["a frame", "a function"])
def test_it_runs_in_the_session_of_its_frame(spark: SparkSession, store: Store, tmp_path: Path, given: str) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.ansi.enabled", "false")
    view(other, tmp_path, "only_there", [(1, "7"), (2, "no number"), (3, None)], "x int, s string")
    kind_of.register(other)
    frame = other.sql("SELECT x, kind_of(x) AS kind, CAST(s AS INT) AS n FROM only_there")
    views = views_of(spark), views_of(other)
    lineage = Lineage(spark, store=store)
    run = lineage.run(frame if given == "a frame" else lambda _: frame, name="of another session")
    assert sorted(map(tuple, run.result.collect())) == [(1, "odd", 7), (2, "even", None), (3, "odd", None)]
    explanation = run.explain("kind = 'odd' AND n IS NULL")
    assert explanation.sources["only_there"].column("x").to_pylist() == [3]
    assert store.run(run.id).conf["spark.sql.ansi.enabled"] == "false"
    run.close()
    assert (views_of(spark), views_of(other)) == views
