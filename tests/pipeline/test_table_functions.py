"""Table functions in Python, scripts and BIN BY: the result is Spark's under every strategy, and the lineage says what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import udtf

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.answers import guarantees_of
from tests.in_turn import STRATEGIES, in_turn, sampled

pytestmark = pytest.mark.spark


def _made(handler: type, returns: str | None) -> Any:
    """PySpark's types leave open whether this is a function or a decorator of one."""
    return udtf(handler, returnType=returns)


ROWS = [(i, i % 3, "ab"[i % 2]) for i in range(8)]
OTHERS = [(100 + i, i) for i in range(3)]


class Upwards:
    def eval(self, start: int, end: int) -> Iterator[tuple[int]]:
        for number in range(start, end):
            yield (number,)


class Running:
    """It hands a sum from row to row."""

    def __init__(self) -> None:
        self.total = 0

    def eval(self, value: int) -> Iterator[tuple[int]]:
        self.total += value
        yield (self.total,)


class Last:
    def eval(self, value: int) -> None:
        self.value = value

    def terminate(self) -> Iterator[tuple[int]]:
        yield (self.value,)


class Summed:
    """Of a partition, or of a table: the rows, their ids' sum, and the names of their columns."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def eval(self, row: Row, shift: int = 0) -> None:
        self.rows.append(row)
        self.shift = shift

    def terminate(self) -> Iterator[tuple[int, int, str]]:
        if self.rows:
            names = ",".join(self.rows[0].__fields__)
            yield len(self.rows), sum(row["rid"] for row in self.rows) + self.shift, names


class ByKind:
    """It says itself how its table is partitioned, and gives what it was told."""

    def __init__(self, told: Any) -> None:
        self.kind: str | None = None
        self.rids: list[int] = []

    @staticmethod
    def analyze(table: Any) -> Any:
        from pyspark.sql.types import IntegerType, StringType, StructType
        from pyspark.sql.udtf import AnalyzeResult, OrderingColumn, PartitioningColumn

        shape = StructType().add("s", StringType()).add("first", IntegerType()).add("last", IntegerType())
        return AnalyzeResult(schema=shape, partitionBy=[PartitioningColumn("s")], orderBy=[OrderingColumn("rid")])

    def eval(self, row: Row) -> Iterator[tuple[str, int, int]]:
        self.kind = row["s"]
        self.rids.append(row["rid"])
        if len(self.rids) == 2:
            yield row["s"], self.rids[0], -1

    def terminate(self) -> Iterator[tuple[str | None, int, int]]:
        yield self.kind, self.rids[0], self.rids[-1]


FUNCTIONS = {"upwards": (Upwards, "n int"), "running": (Running, "n int"), "last_one": (Last, "n int"),
             "summed": (Summed, "n int, total int, names string"), "by_kind": (ByKind, None)}  # fmt: skip

Pipeline = Callable[[SparkSession], DataFrame] | str
BINS = """SELECT rid, bin_start, amount, bin_distribute_ratio AS part FROM (
    SELECT rid, timestamp'2024-01-01 00:00:00' AS begun, timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, rid) AS ended,
        100.0D AS amount FROM a WHERE rid > 0)
  BIN BY (RANGE begun TO ended BIN WIDTH INTERVAL '4' MINUTE ALIGN TO TIMESTAMP '2024-01-01 00:00:00' DISTRIBUTE UNIFORM (amount))"""
# (pipeline, target, rids of a, guarantee)
CASES: dict[str, tuple[Pipeline, str, set[int], str]] = {
    "called for each row": ("SELECT rid, n FROM a, LATERAL upwards(k, rid)", "rid = 5 AND n = 3", {5}, "exact"),
    "called with names": ("SELECT rid, n FROM a, LATERAL upwards(end => rid, start => k)", "rid = 5 AND n = 3", {5}, "exact"),
    "called for each row of a group": (
        "SELECT s, n FROM (SELECT s, max(rid) AS m FROM a GROUP BY s), LATERAL upwards(m - 1, m)", "n = 6", {1, 3, 5, 7}, "exact",
    ),
    "and then grouped": (
        "SELECT n, count(*) AS c FROM a, LATERAL upwards(0, rid) GROUP BY n", "n = 5", {6, 7}, "exact",
    ),
    "and joined": ("SELECT b.rid AS other, n FROM b JOIN (SELECT n, rid FROM a, LATERAL upwards(k, rid)) c ON b.k + 4 = c.rid",
                   "n = 5", {6}, "exact"),
    "with something to hand from row to row": ("SELECT rid, n FROM a, LATERAL running(k)", "rid = 7", set(range(8)), "superset"),
    "with rows at the end": ("SELECT n FROM (SELECT * FROM a WHERE k = 1), LATERAL last_one(rid)", "n >= 0", {1, 4, 7}, "superset"),
    "of a table": ("SELECT * FROM summed(TABLE(SELECT * FROM a WHERE k = 1) WITH SINGLE PARTITION)", "n = 3", {1, 4, 7}, "superset"),
    "of partitions": ("SELECT * FROM summed(TABLE(a) PARTITION BY s ORDER BY rid DESC)", "n = 4 AND total = 12",
                      {0, 2, 4, 6}, "superset"),
    "of partitions by an expression": ("SELECT total FROM summed(row => TABLE(a) PARTITION BY rid % 4)", "total = 10", {3, 7}, "superset"),
    "of partitions with a key that is NULL": (
        "SELECT total FROM summed(TABLE(SELECT rid, nullif(k, 0) AS k FROM a) PARTITION BY k)", "total = 9", {0, 3, 6}, "superset",
    ),
    "that says its partitions": ("SELECT * FROM by_kind(TABLE(a))", "s = 'b' AND last = 7", {1, 3, 5, 7}, "superset"),
    "that says its partitions, in between": ("SELECT * FROM by_kind(TABLE(a))", "s = 'a' AND last = -1", {0, 2, 4, 6}, "superset"),
    "by the API": (
        lambda s: _made(Summed, "n int, total int, names string")(s.table("a").asTable().partitionBy("s")),
        "total = 16", {1, 3, 5, 7}, "superset",
    ),
    "a script": ("SELECT TRANSFORM(rid, s) USING 'cat' AS (rid int, s string) FROM a WHERE k = 1", "rid = 4", {1, 4, 7}, "superset"),
    "bins": (BINS, "rid = 6 AND part < 0.5", {6}, "exact"),
    "a bin's rows": (f"SELECT bin_start, count(*) AS n, sum(amount) AS shared FROM ({BINS}) GROUP BY bin_start",
                     "minute(bin_start) = 4", {5, 6, 7}, "exact"),
}  # fmt: skip


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    tmp_path = tmp_path_factory.mktemp("tables")
    for name, rows, shape in (("a", ROWS, "rid int, k int, s string"), ("b", OTHERS, "rid int, k int")):
        spark.createDataFrame(rows, shape).coalesce(1).write.parquet(str(tmp_path / name))
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    for name, (handler, kind) in FUNCTIONS.items():
        spark.udtf.register(name, _made(handler, kind))
    spark.conf.set("spark.sql.binByRelationOperator.enabled", "true")
    yield Lineage(spark, store=store)
    spark.conf.unset("spark.sql.binByRelationOperator.enabled")
    for name in FUNCTIONS:
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")
    for name in ("a", "b"):
        spark.catalog.dropTempView(name)


def _plain(spark: SparkSession, pipeline: Pipeline) -> list[Any]:
    return sorted(map(tuple, (spark.sql(pipeline) if isinstance(pipeline, str) else pipeline(spark)).collect()))


@pytest.mark.parametrize(("name", "strategy"), in_turn(sampled(CASES, 7), STRATEGIES))
def test_the_rows_and_their_lineage(lineage: Lineage, spark: SparkSession, name: str, strategy: Strategy) -> None:
    pipeline, target, expected, level = CASES[name]
    if name.startswith(("bins", "a bin")) and not _has_bins(spark):
        pytest.skip("this Spark has no BIN BY")
    run = lineage.run(pipeline, name=name, strategy=strategy)
    assert sorted(map(tuple, run.result.collect())) == _plain(spark, pipeline)
    run.close()
    found = lineage.get_run(run.id).explain(target, save=False)
    assert set(found.sources["a"].column("rid").to_pylist()) == expected
    assert guarantees_of(found)["a"].level == level
    if level == "superset":
        assert "one after another" in guarantees_of(found)["a"].cause


def _has_bins(spark: SparkSession) -> bool:
    return tuple(map(int, spark.version.split(".")[:2])) >= (4, 3)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_function_of_constants_is_data_of_the_session(lineage: Lineage, strategy: Strategy) -> None:
    run = lineage.run("SELECT n + 1 AS m FROM upwards(3, 5)", strategy=strategy)
    assert sorted(map(tuple, run.result.collect())) == [(4,), (5,)]
    run.close()
    found = lineage.get_run(run.id).explain("m = 5", save=False)
    assert "one row" in guarantees_of(found)


def test_a_reasoned_argument_and_a_reason_above(lineage: Lineage, spark: SparkSession) -> None:
    spark.udf.register("twice", lambda x: 2 * x, "int")
    pipeline = "SELECT rid, twice(n) AS d FROM a, LATERAL upwards(rid, twice(rid))"
    run = lineage.run(pipeline)
    assert sorted(map(tuple, run.result.collect())) == _plain(spark, pipeline)
    run.close()
    found = lineage.get_run(run.id).explain("rid = 3 AND d = 8", save=False)
    assert found.sources["a"].column("rid").to_pylist() == [3]
    spark.sql("DROP TEMPORARY FUNCTION twice")


def test_the_columns_behind_it(lineage: Lineage) -> None:
    run = lineage.run("SELECT rid, n FROM a, LATERAL upwards(k, rid)")
    run.close()
    (made,) = run.columns().column("n")
    assert {(one.source.column, one.transformation.subtype) for one in made.inputs} == {("k", "TRANSFORMATION"), ("rid", "TRANSFORMATION")}


def test_forward_is_refused_by_name(lineage: Lineage) -> None:
    run = lineage.run("SELECT rid, n FROM a, LATERAL upwards(k, rid)")
    run.close()
    with pytest.raises(UnsupportedOperator, match="only its code knows"):
        lineage.get_run(run.id).why_not("rid = 0", table="a")


def test_a_frame_above_them(lineage: Lineage, spark: SparkSession) -> None:
    pipeline = "SELECT sum(n) AS n FROM a, LATERAL upwards(k, rid) WHERE rid < 5"
    run = lineage.run(lambda s: s.sql(pipeline).withColumn("one", F.lit(1)))
    assert [tuple(row) for row in run.result.collect()] == [(9, 1)] == [(*spark.sql(pipeline).first(), 1)]  # type: ignore[misc]
    run.close()
