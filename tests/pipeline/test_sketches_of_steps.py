"""Sketches of columns by functions of which a pipeline groups: their cuts begin steps of these, and the rows are the plain run's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airflow_lineage_provider import Lineage, SketchOn
from airflow_lineage_provider.spark.session import apply_conf
from tests.in_turn import sampled
from tests.pipeline.sketched import bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_sketches")]
pytest.importorskip("z3")

FUNCTIONS = {
    "a moment's day": ("date_trunc('DAY', at)", "at"),
    "a clock's hour": ("date_trunc('hour', clock)", "clock"),
    "a date of a moment": ("to_date(at)", "at"),
    "a month": ("trunc(day, 'MM')", "day"),
    "a part of a number": ("floor(id / 40)", "id"),
    "a quotient": ("id div 40", "id"),
    "first letters": ("left(name, 2)", "name"),
    "a window": ("window(at, '12 hours')", "at"),
    "where a window begins": ("window(at, '12 hours').start", "at"),
    "a day and an hour": ("struct(to_date(clock), hour(clock))", "clock"),
}

IN_BERLIN = ("a moment's day", "a date of a moment")


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Moments of two months, half an hour and more apart."""
    made = str(tmp_path_factory.mktemp("steps") / "moments")
    rows = spark.range(2_000).selectExpr(
        "id", "timestamp_seconds(1733000000 + id * 2411) AS at", "timestamp_ntz'2024-11-30 21:13:20' + id * INTERVAL '211' SECOND AS clock",
        "date_add(DATE'2015-01-05', CAST(id AS INT)) AS day", "concat(char(65 + id DIV 80), char(97 + id DIV 10 % 8), id) AS name",
        "CASE WHEN id % 400 BETWEEN 100 AND 330 THEN id % 7 ELSE 9 END AS v",
    )  # fmt: skip
    rows.coalesce(1).write.parquet(made)
    return made


@pytest.mark.parametrize("name", sampled(FUNCTIONS))
def test_groups_of_steps(spark: SparkSession, lineage: Lineage, place: str, name: str) -> None:
    """Cuts at percentiles begin no steps, and are moved; of a group that is cut in two one half would pass."""
    zone = "Europe/Berlin" if name in IN_BERLIN else "+05:30"
    function, column = FUNCTIONS[name]
    sql = f"SELECT {function} AS step, min(v) AS least, count(*) AS n FROM parquet.`{place}` GROUP BY 1 HAVING min(v) > 5"
    with apply_conf(spark, {"spark.sql.session.timeZone": zone}):
        on = {"moments": SketchOn(column=column, fragments=30)}
        run = lineage.run(sql, name=name, sketches="capture", sketch_on=on)
        (use,) = run.sketches
        assert use.state == "captured", use
        assert use.count > 4, use
        again = lineage.run(sql, name=name, sketches="use", verify_sketches=True)
        assert [(one.state, one.rows) for one in again.sketches] == [("used", use.rows)]
        assert bag(again.result) == bag(run.result) == bag(spark.sql(sql))
        assert run.result.count() > 0
        (aligned,) = [one for one in lineage.safe_columns(sql).columns if one.column == column]
        assert aligned.aligned
