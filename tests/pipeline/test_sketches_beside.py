"""Sketches of several runs of one instance: those that are read beside each other under a limit are of one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider import Lineage
from tests.pipeline.sketched import bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")

FIRST = "SELECT v FROM alike JOIN partners ON alike.k = partners.k ORDER BY v LIMIT 1"
ON = {"alike": "k", "partners": "k"}


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Rows of which many are alike in v: one of key 9 first, three of key 1 last; of the partners it is the other way round."""
    folder = tmp_path_factory.mktemp("beside")
    for name, rows in (
        ("alike", [(9, 0), (8, 5), (7, 5), (6, 5), (1, 0), (1, 0), (1, 0)]),
        ("partners", [(9, 0), (9, 1), (9, 2), (8, 0), (7, 0), (6, 0), (1, 0)]),
    ):
        spark.createDataFrame(rows, f"k int, {'v' if name == 'alike' else 'w'} int").coalesce(1).write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    yield folder
    for name in ON:
        spark.catalog.dropTempView(name)


def test_sketches_of_two_runs_are_not_mixed(spark: SparkSession, lineage: Lineage) -> None:
    """A join that is hashed gives rows in the order of the file, one that is sorted by the key: two runs take other rows of those alike."""
    from airflow_lineage_provider.spark.session import apply_conf

    ways = {"hashed": "10MB", "sorted": "-1"}
    read = {}
    for way, most in ways.items():
        with apply_conf(spark, {"spark.sql.autoBroadcastJoinThreshold": most, "spark.sql.shuffle.partitions": "1"}):
            run = lineage.run(FIRST, name=way, sketches="capture", sketch_on=ON)
        assert [row.v for row in run.result.collect()] == [0]
        read[way] = {one.table: one.rows for one in run.sketches if one.state == "captured"}
    assert read == {"hashed": {"alike": 1, "partners": 3}, "sorted": {"alike": 3, "partners": 1}}, "each is the smallest of one table"
    run = lineage.run(FIRST, name="through", sketches="use", verify_sketches=True)
    assert [one.state for one in run.sketches] == ["used", "used"], run.sketches
    assert len({one.run_id for one in run.sketches}) == 1
    assert bag(run.result) == bag(spark.sql(FIRST))
