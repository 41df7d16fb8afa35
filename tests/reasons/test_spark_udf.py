"""Reasoned UDFs in Spark: SQL and DataFrame API, both modes, all types, errors, and scripts of their own."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.util import PythonEvalType

from airflow_lineage_provider.reasons import ReasonedUdf, reasoned_udf, registry
from airflow_lineage_provider.reasons.payload import Json, from_json
from airflow_lineage_provider.reasons.spark_function import spark_function
from tests.in_turn import sampled
from udfs.paper_credit_exam import credit_exam

pytestmark = [
    pytest.mark.spark,
    # py4j leaves its sockets to the garbage collector when a session stops.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def _value_of(struct: Any) -> Any:
    return struct["value"]


@pytest.fixture(scope="module", autouse=True)
def _a_zone_of_its_own(spark: SparkSession) -> Iterator[None]:
    """A session in another time zone than the machine, Arrow and the tests: what depends on it shows."""
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    before = dict(registry._DECLARED)
    yield
    registry._DECLARED.clear()
    registry._DECLARED.update(before)


@pytest.fixture
def applications(spark: SparkSession) -> DataFrame:
    rows = [("0001", 3400, 810, 4000), ("0002", 2200, 1350, 20000), ("0003", None, 1, 1)]
    return spark.createDataFrame(rows, "id string, income int, debt int, amount int")


def test_the_dataframe_api(applications: DataFrame) -> None:
    called = applications.select("id", credit_exam(F.col("income"), "debt", applications.amount))
    assert called.columns == ["id", "credit_exam(income, debt, amount)"]
    assert [row[1] for row in called.orderBy("id").collect()] == ["Accept", "Reject", None]
    by_name = applications.where(credit_exam.column("income", "debt", "amount") == "Reject")
    assert [row.id for row in by_name.collect()] == ["0002"]


def test_sql(spark: SparkSession, applications: DataFrame) -> None:
    credit_exam.register(spark)
    found = spark.sql("select CREDIT_EXAM(income, debt, amount) judge, count(*) n from {t} group by 1 order by 1", t=applications)
    assert [tuple(row) for row in found.collect()] == [(None, 1), ("Accept", 1), ("Reject", 1)]
    credit_exam.register(spark, "another name")
    assert registry.get("another name") is credit_exam
    assert spark.sql("select `another name`(3400, 810, 4000)").collect()[0][0] == "Accept"
    spark.sql("drop temporary function `another name`")


def test_grouping_by_the_same_call(applications: DataFrame) -> None:
    judge = credit_exam(F.col("income"), "debt", "amount")
    found = applications.groupBy(judge).agg(F.count("*").alias("n"), F.first(credit_exam.column("income", "debt", "amount")))
    assert found.count() == 3


def test_reasoning_mode(applications: DataFrame) -> None:
    function = credit_exam.spark_function("reasoning")
    explained = applications.select("id", function("income", "debt", "amount").alias("r"))
    assert explained.schema["r"].dataType.simpleString() == "struct<value:string,reason:string>"
    rows = [row.r for row in explained.orderBy("id").collect()]
    assert [row.value for row in rows] == ["Accept", "Reject", None]
    assert [row.reason and from_json(row.reason) for row in rows] == [Json(["Income", "LoanAmount"]), Json(["Debt", "LoanAmount"]), None]


def test_reasoning_mode_without_a_reason(applications: DataFrame) -> None:
    @reasoned_udf("bigint")
    def double(income: int | None) -> int | None:
        return None if income is None else 2 * income

    found = applications.select(double.spark_function("reasoning")("income").alias("r")).select("r.*").collect()
    assert sorted(map(str, found)) == sorted(
        ["Row(value=6800, reason=None)", "Row(value=4400, reason=None)", "Row(value=None, reason=None)"]
    )


UTC = dt.UTC
TYPES = [
    ("boolean", True),
    ("tinyint", -128),
    ("smallint", 3),
    ("int", 1),
    ("bigint", 2**60),
    ("float", 1.5),
    ("double", 0.1),
    ("string", "ü'\"\x00"),
    ("binary", b"\x00\xff"),
    ("date", dt.date(1500, 2, 28)),
    ("timestamp", dt.datetime(2020, 11, 1, 5, 30, tzinfo=UTC)),
    ("timestamp_ntz", dt.datetime(2020, 3, 8, 2, 30)),
    ("decimal(38,18)", decimal.Decimal("12345678901234567890.123456789012345678")),
    ("array<struct<a:int,b:array<string>>>", [(1, ["x", None])]),
    ("map<string,decimal(10,2)>", {"a": decimal.Decimal("1.50"), "b": None}),
    ("struct<a:int,`b c`:timestamp>", (1, dt.datetime(2021, 1, 1, tzinfo=UTC))),
    ("interval day to second", dt.timedelta(days=1, microseconds=3)),
    ("void", None),
]


@pytest.mark.parametrize(("kind", "value"), sampled(TYPES, 2), ids=[kind for kind, _ in sampled(TYPES, 2)])
def test_every_type_goes_through_unchanged(spark: SparkSession, kind: str, value: Any) -> None:
    same = ReasonedUdf(lambda x: x, kind, name="same", main_with_reason=lambda x: (x, [str(x)]))
    frame = spark.createDataFrame([(value,), (None,)], f"x {kind}")
    found = frame.select("x", same(frame.x).alias("y"), same.spark_function("reasoning")("x").alias("r"))
    assert found.schema["y"].dataType == _value_of(found.schema["r"].dataType).dataType == frame.schema["x"].dataType
    # Compared by Spark, which Python's conversions cannot disturb.
    unlike = found.where(
        "cast(x as string) is distinct from cast(y as string) or cast(x as string) is distinct from cast(r.value as string)"
    )
    assert unlike.collect() == []
    assert found.where("x is null").count() == (2 if kind == "void" else 1)


def test_not_a_number(spark: SparkSession) -> None:
    same = ReasonedUdf(lambda x: x, "double", name="same", main_with_reason=lambda x: (x, {"seen": x}))
    frame = spark.sql("select double('NaN') x union all select double('-Infinity')")
    rows = frame.select(same.spark_function("reasoning")("x").alias("r")).select("r.*").collect()
    assert {str(row.value) for row in rows} == {"nan", "-inf"}
    assert {row.reason for row in rows} >= {'{"kind":"json","value":{"seen":{"$float":"NaN"}},"version":1}'}


def test_timestamps_are_in_utc_whatever_the_session_s_zone(spark: SparkSession) -> None:
    hour = ReasonedUdf(lambda at: f"{at.hour} {at.utcoffset()}", "string", name="hour")
    assert spark.sql("select timestamp'2020-07-01T12:00:00Z' at").select(hour.column("at")).collect()[0][0] == "12 0:00:00"


@pytest.mark.parametrize("vectorized", ["pandas", "arrow"])
def test_vectorised(spark: SparkSession, vectorized: Any) -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b if vectorized == "pandas" else pc.add(a, b)

    total = ReasonedUdf(add, "bigint", name="total", vectorized=vectorized, main_with_reason=lambda a, b: (add(a, b), ["sum"] * len(a)))
    frame = spark.range(25_000).withColumn("b", F.col("id") * 2)
    assert frame.where(total.column("id", "b") != F.col("id") * 3).count() == 0
    explained = frame.select("id", total.spark_function("reasoning")("id", "b").alias("r"))
    assert explained.where("r.value = 3 * id and r.reason like '%\"sum\"%'").count() == 25_000


def test_a_non_deterministic_udf_says_so(spark: SparkSession) -> None:
    udf = ReasonedUdf(lambda x: x, "bigint", name="u", deterministic=False)
    assert not udf.spark_function("normal").deterministic
    assert not udf.spark_function("reasoning").deterministic
    assert credit_exam.spark_function("normal").deterministic
    assert spark.range(3).select(udf.column("id")).count() == 3


def test_a_failing_row_is_named_at_the_driver(spark: SparkSession) -> None:
    ratio = ReasonedUdf(
        lambda debt, income: debt / income, "double", name="ratio", main_with_reason=lambda debt, income: (debt / income, "why")
    )
    frame = spark.sql("select * from values (1, 1), (2, 0), (3, 1) as t(debt, income)")
    for mode in ("normal", "reasoning"):
        with pytest.raises(PythonException, match=r"UdfFailed: UDF 'ratio' failed on debt=2, income=0: ZeroDivisionError"):
            frame.select(ratio.spark_function(mode)("debt", "income")).collect()


def test_another_value_in_reasoning_mode_fails_the_query(spark: SparkSession) -> None:
    udf = ReasonedUdf(lambda a: a, "bigint", name="liar", main_with_reason=lambda a: (a + (a == 5), "why"))
    with pytest.raises(PythonException, match=r"ReasonValueMismatch: UDF 'liar' gives 5 in normal mode and 6 in reasoning mode on a=5"):
        spark.range(10).select(udf.spark_function("reasoning")("id")).collect()


def test_normal_mode_never_calls_reasoning_mode(spark: SparkSession) -> None:
    def explode(a: int) -> Any:
        raise AssertionError("called")

    udf = ReasonedUdf(lambda a: a, "bigint", name="u", main_with_reason=explode)
    assert spark.range(3).select(udf.column("id")).count() == 3


def test_a_value_of_another_type_fails_the_query(spark: SparkSession) -> None:
    udf = ReasonedUdf(lambda a: str(a), "bigint", name="text")
    with pytest.raises(
        PythonException, match=r"UdfFailed: UDF 'text' failed on a=0: its value '0' \(str\) is not of the declared type int64"
    ):
        spark.range(1).select(udf.column("id")).collect()


SCRIPT = """
import sys
from pyspark.sql import SparkSession
from airflow_lineage_provider.reasons import reasoned_udf

LIMIT = 2
class Judge:
    def __call__(self, x):
        return "high" if helper(x) > LIMIT else "low"
judge = Judge()

@reasoned_udf("string")
def level(x):
    return judge(x)

@level.with_reason
def _(x):
    return level.main(x), {"x", "limit"}

def helper(x):
    return x + 1

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
spark = builder.config("spark.pyspark.python", sys.executable).getOrCreate()
level.register(spark)
print([row[0] for row in spark.sql("select level(id) from range(3) order by id").collect()])
print(spark.range(1).select(level.spark_function("reasoning")("id").alias("r")).first().r.reason)
print(level.describe()["module"], level.version)
"""


def test_a_udf_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_GATEWAY_PORT"}
    command = [sys.executable, str(tmp_path / "script.py")]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert ran[:2] == ["['low', 'low', 'high']", '{"kind":"json","value":["limit","x"],"version":1}']
    assert ran[2].startswith("__main__ ")


# --- types that only newer Sparks have ----------------------------------------------------------------------------------


@reasoned_udf("time")
def an_hour_later(at: dt.time | None) -> dt.time | None:
    return None if at is None else at.replace(hour=(at.hour + 1) % 24)


@an_hour_later.with_reason
def _(at: dt.time | None) -> tuple[dt.time | None, Any]:
    return an_hour_later.main(at), {"from": str(at)}


@reasoned_udf("string collate UTF8_LCASE")
def kind_of(text: str) -> str:
    return text[:1]


@reasoned_udf("struct<doc: variant, all: array<variant>>")
def wrapped(doc: Any) -> Any:
    return None if doc is None else {"doc": doc, "all": [doc, None]}


@pytest.mark.parametrize("mode", ["normal", "reasoning"])
def test_times(spark: SparkSession, mode: str, request: pytest.FixtureRequest) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    request.addfinalizer(lambda: spark.conf.unset("spark.sql.timeType.enabled"))
    frame = spark.sql("SELECT time'22:59:01' AS at UNION ALL SELECT NULL")
    called = an_hour_later.spark_function(mode)("at")  # type: ignore[arg-type]
    found = frame.select((called if mode == "normal" else called.value).alias("later"))
    assert found.schema["later"].dataType.simpleString() == "time(6)"
    assert {row.later for row in found.collect()} == {dt.time(23, 59, 1), None}


@pytest.mark.parametrize("mode", ["normal", "reasoning"])
def test_collated_strings(spark: SparkSession, mode: str) -> None:
    called = kind_of.spark_function(mode)("text")  # type: ignore[arg-type]
    texts = spark.sql("SELECT explode(array('Apple', 'avocado')) AS text")
    found = texts.select((called if mode == "normal" else called.value).alias("kind"))
    assert found.schema["kind"].dataType.simpleString() == "string collate UTF8_LCASE"
    assert found.distinct().count() == 1


def test_variants(spark: SparkSession) -> None:
    frame = spark.sql("""SELECT parse_json('{"a": [1, 2]}') AS doc UNION ALL SELECT NULL""")
    made = frame.select(wrapped.column("doc").alias("made"))
    found = made.selectExpr("to_json(made.doc) AS doc", "to_json(made.all[0]) AS first", "size(made.all) AS n")
    assert {tuple(row) for row in found.collect()} == {('{"a":[1,2]}', '{"a":[1,2]}', 2), (None, None, None)}


def test_a_worker_of_another_pyspark_changes_no_values(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a PySpark without UDFs over arrays is given gives the same under its worker, and is refused under one that hands on series."""
    monkeypatch.delattr("pyspark.sql.pandas.functions.arrow_udf", raising=False)
    monkeypatch.setattr("airflow_lineage_provider.reasons.spark_function.evaluated_as", lambda: PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF)
    same = ReasonedUdf(lambda x: x, "bigint", name="same")
    frame = spark.sql("SELECT 1152921504606846977 AS x UNION ALL SELECT NULL")
    called = spark_function(same, "normal")("x").alias("same")
    if spark.version < "4.1":
        assert {row.same for row in frame.select(called).collect()} == {2**60 + 1, None}
        return
    with pytest.raises(PythonException, match=r"EnvironmentProblem: the worker of this PySpark \(\d.*\) does not hand on Arrow's arrays"):
        frame.select(called).collect()
