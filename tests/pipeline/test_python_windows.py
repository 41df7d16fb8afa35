"""Python functions over windows: the result is Spark's, and the lineage is the rows of the frame, as of every window function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import LongType

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.in_turn import STRATEGIES, in_turn, sampled
from tests.pipeline.small_files import view
from tests.pipeline.test_python_functions import spread, weighed

pytestmark = pytest.mark.spark

ROWS = [(i, i % 3, "ab"[i % 2], None if i == 5 else i * 10) for i in range(8)]


@pandas_udf(LongType())
def rank(values: pd.Series) -> int:
    return int(values.sum())


@pytest.fixture
def lineage(spark: SparkSession, store: Store, tmp_path: Path) -> Iterator[Lineage]:
    view(spark, tmp_path, "a", ROWS, "rid int, k int, s string, x int")
    for name, function in {"spread": spread, "weighed": weighed, "summed_up": rank}.items():
        spark.udf.register(name, function)
    yield Lineage(spark, store=store)
    spark.catalog.dropTempView("a")
    for name in ("spread", "weighed", "summed_up"):
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")


def _of_frames(spark: SparkSession) -> DataFrame:
    window = Window.partitionBy("s").orderBy("rid")
    return spark.table("a").select("rid", spread("rid").over(window.rowsBetween(-1, 0)).alias("d"), F.rank().over(window).alias("r"))


def _named_as_one_of_sparks(spark: SparkSession) -> DataFrame:
    return spark.table("a").select("rid", rank("rid").over(Window.partitionBy("s")).alias("d"))


Pipeline = Callable[[SparkSession], DataFrame] | str
# (pipeline, target, the rids of the rows behind it)
CASES: dict[str, tuple[Pipeline, str, set[int]]] = {
    "a whole partition": ("SELECT rid, spread(x) OVER (PARTITION BY s) AS d FROM a", "rid = 2", {0, 2, 4, 6}),
    "all rows": ("SELECT rid, spread(x) OVER () AS d FROM a WHERE k = 1", "rid = 4", {1, 4, 7}),
    "rows before": (
        "SELECT rid, spread(x) OVER (PARTITION BY s ORDER BY rid ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS d FROM a", "rid = 4", {2, 4},
    ),
    "values around": ("SELECT rid, weighed(rid, k) OVER (ORDER BY rid RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS d FROM a",
                      "rid = 3", {2, 3, 4}),
    "up to the peers": ("SELECT rid, spread(rid) OVER (PARTITION BY s ORDER BY k) AS d FROM a", "rid = 4", {0, 4, 6}),
    "beside a function of Spark's": (_of_frames, "rid = 3", {1, 3}),
    "by the value, in an expression, under a selection": (
        "SELECT rid FROM (SELECT rid, spread(rid) OVER (PARTITION BY s ORDER BY rid ROWS 1 PRECEDING) + 1 AS d FROM a) WHERE d = 1",
        "rid = 0", {0},
    ),
    "of a group's aggregates": (
        "SELECT s, summed_up(count(x)) OVER (ORDER BY s) AS n FROM a GROUP BY s", "s = 'a'", {0, 2, 4, 6},
    ),
    "grouped above": ("SELECT d, count(*) AS n FROM (SELECT spread(rid) OVER (PARTITION BY k) AS d FROM a) GROUP BY d", "d = 3", {2, 5}),
    "a function with a name of Spark's": (_named_as_one_of_sparks, "rid = 1", {1, 3, 5, 7}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "strategy"), in_turn(sampled(CASES), STRATEGIES))
def test_the_rows_of_the_frame(lineage: Lineage, spark: SparkSession, name: str, strategy: Strategy) -> None:
    pipeline, target, expected = CASES[name]
    run = lineage.run(pipeline, name=name, strategy=strategy)
    plain = spark.sql(pipeline) if isinstance(pipeline, str) else pipeline(spark)
    assert sorted(map(tuple, run.result.collect())) == sorted(map(tuple, plain.collect()))
    run.close()
    found = lineage.get_run(run.id).explain(target, save=False)
    assert set(found.sources["a"].column("rid").to_pylist()) == expected
    assert found.guarantee.level == "exact"


def test_nothing_is_left_in_the_session(lineage: Lineage, spark: SparkSession) -> None:
    before = spark.sql("SHOW USER FUNCTIONS").collect()  # other tests' runs, which nobody has closed, have theirs
    run = lineage.run(_of_frames, name="left")
    run.close()
    assert spark.sql("SHOW USER FUNCTIONS").collect() == before


def test_verified_columns_and_why_not(lineage: Lineage) -> None:
    run = lineage.run(_of_frames, name="asked")
    assert run.explain("rid = 3", verify=True, save=False).verified is None
    (found,) = [one for one in run.columns().columns if one.name == "d"]
    told = {(one.source.column, one.transformation.subtype): one.transformation.udfs for one in found.inputs}
    assert told == {("rid", "AGGREGATION"): ("spread",), ("rid", "WINDOW"): (), ("s", "WINDOW"): ()}
    fates = run.why_not("rid = 3", table="a")
    assert fates.survived(0)
    assert fates.of(0)[0].path[-1].descendants == 3  # in its own frame and the next, and ranked before the last
    run.close()
    dropped = lineage.run("SELECT * FROM (SELECT rid, spread(rid) OVER (PARTITION BY k) AS d FROM a) WHERE d > 3", name="dropped")
    (fate,) = lineage.get_run(dropped.id).why_not("rid = 5").fates
    assert fate.drop is not None
    assert "(d > cast(3 AS double)) is false" in fate.drop.text
    assert fate.drop.rows[0].values["d"] == 3.0
