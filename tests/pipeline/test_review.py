"""Corners of running and deriving: what is easily lost, mixed or left behind."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from airflow_lineage_provider import Lineage, reasoned_udf
from airflow_lineage_provider.errors import LineageError, TracingError, UdfFailed
from airflow_lineage_provider.output import Output
from airflow_lineage_provider.store import Store

pytestmark = pytest.mark.spark


@pytest.fixture
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


def view(spark: SparkSession, path: Path, name: str, rows: list[Any], schema: str, format: str = "parquet") -> None:
    """A table of files under a temporary name."""
    where = str(path / name)
    spark.createDataFrame(rows, schema).coalesce(1).write.format(format).save(where)
    spark.read.format(format).schema(schema).load(where).createOrReplaceTempView(name)


def rids(found: Any, table: str) -> list[int]:
    return sorted(found.source[table].column("rid").to_pylist())


@reasoned_udf("double")
def ratio(x: float) -> float:
    return x / 3


@reasoned_udf("string")
def plainly_named(x: int) -> str:
    return "reasoned"


@reasoned_udf("int")
def two_lines(x: int) -> int:
    if x == 3:
        raise ValueError("the first line\nthe second line")
    return x


@reasoned_udf("string")
def kind_of(x: int) -> str:
    return "odd" if x % 2 else "even"


@pytest.mark.parametrize(
    "name", ["lineage_row_number", "lineage_tag", "target_row", "target_present", "lineage_present", "lineage_0_file", "lineage_file"]
)
def test_names_that_lineage_uses_itself(lineage: Lineage, spark: SparkSession, tmp_path: Path, name: str) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b"), (3, "b")], "rid int, g string")
    sql = f"SELECT g AS {name}, count(*) AS target_x FROM w GROUP BY g"
    run = lineage.run(sql)
    assert sorted(map(tuple, run.result.collect())) == [("a", 1), ("b", 2)]
    assert run.result.columns == [name, "target_x"]
    found = run.explain(f"{name} = 'b'")
    assert found.target.column_names == [name, "target_x"]
    assert rids(found, "w") == [2, 3]
    run = lineage.run(f"SELECT rid AS {name} FROM w")
    assert sorted(row[0] for row in run.result.collect()) == [1, 2, 3]
    assert rids(run.explain(f"{name} = 3"), "w") == [3]


def test_a_second_run_reads_the_files_again(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "again")
    sql = lambda session: session.read.schema("rid int").parquet(path)  # noqa: E731
    spark.createDataFrame([(1,)], "rid int").write.parquet(path)
    first = lineage.run(sql, name="again")
    spark.createDataFrame([(2,)], "rid int").write.mode("overwrite").parquet(path)
    second = lineage.run(sql, name="again")
    assert second.result.collect() == [(2,)]
    assert lineage.get(second.id).result_table().to_pylist() == [{"rid": 2}]
    first.close()
    assert second.result.storageLevel.useMemory or second.result.collect() == [(2,)]


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("spark.sql.parser.escapedStringLiterals", r"SELECT rid, 'a\nb' AS t FROM w WHERE g rlike '^\w$'"),
        ("spark.sql.ansi.doubleQuotedIdentifiers", "SELECT \"rid\", 'it''s \"x\"' AS t FROM w"),
        ("spark.sql.parser.quotedRegexColumnNames", "SELECT rid, g AS `a.b` FROM w"),
        ("spark.sql.variable.substitute", "SELECT rid, concat('$', '{env:HOME}') AS t, '${' AS u FROM w"),
    ],
)
def test_settings_of_the_parser(lineage: Lineage, spark: SparkSession, tmp_path: Path, name: str, sql: str) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (2, "b")], "rid int, g string")
    before = spark.conf.get(name)
    spark.conf.set(name, "true")
    try:
        plain = spark.sql(sql).collect()
        run = lineage.run(sql)
        assert run.result.collect() == plain
        assert rids(run.explain("rid = 2"), "w") == [2]
    finally:
        spark.conf.set(name, str(before))


def test_a_plain_udf_with_a_declared_name_stays_the_users_own(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")

    def answer(x):  # type: ignore[no-untyped-def]
        return "plain"

    answer.__name__ = "plainly_named"
    own = F.udf(answer, "string")
    run = lineage.run(lambda session: session.table("w").select(own("rid").alias("x")))
    assert run.result.collect() == [("plain",)]


def test_the_registered_udf_is_run_not_the_latest_declared(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")

    def declare(answer: str) -> Any:
        @reasoned_udf("string", name="declared_twice")
        def declared_twice(x: int) -> str:
            return answer

        return declared_twice

    declare("first").register(spark)
    declare("second")
    run = lineage.run("SELECT declared_twice(rid) AS x FROM w")
    assert run.result.collect() == spark.sql("SELECT declared_twice(rid) AS x FROM w").collect()


def test_running_leaves_the_users_udf_as_it_is(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")
    kind_of.register(spark)
    run = lineage.run("SELECT kind_of(max(rid)) AS k FROM w")
    run.explain("k = 'odd'", verify=True)
    assert kind_of.spark_function("normal").deterministic


KEY_ROWS: dict[str, tuple[str, list[Any], Any]] = {
    "double": ("double", [math.nan, math.nan, 0.0, -0.0, 1.5, None], None),
    "float": ("float", [math.nan, math.nan, 0.0, -0.0, 0.1, None], None),
    "array": ("array<int>", [[1, None], [1, None], [], None, [2], [1]], None),
    "array double": ("array<double>", [[0.0], [-0.0], [math.nan], [math.nan], None, [1.0]], None),
    "struct": ("struct<a:int,b:string>", [(1, "x"), (1, "x"), (1, None), (None, None), None, (2, "y")], None),
    "binary": ("binary", [b"\x00", b"\x00", b"", None, b"\xff", b"a"], None),
    "decimal": ("decimal(38,3)", ["1.000", "1.000", None, "-1.5", "0", "2"], None),
    "boolean": ("boolean", [True, True, False, None, None, False], None),
    "ntz": (
        "timestamp_ntz",
        ["2024-03-31 02:30:00", "2024-03-31 02:30:00", "2024-03-31 03:30:00", None, "1600-01-01 00:00:00", "9999-01-01 00:00:00"],
        None,
    ),
    "timestamp": (
        "timestamp",
        ["2024-03-31 02:30:00", "2024-03-31 02:30:00", "2024-10-27 02:30:00", None, "1600-01-01 00:00:00", "1970-01-01 00:00:00"],
        None,
    ),
    "date": ("date", ["2024-03-31", "2024-03-31", "0001-01-01", None, "1582-10-10", "9999-12-31"], None),
    "string": ("string", ["a", "a", "a ", "A", None, "\u0000"], None),
    "collated": ("string collate UTF8_LCASE", ["a", "A", "a ", "b", None, "B"], None),
    "char": ("string", ["a", "a ", "a", "b", None, "B"], None),
    "interval": ("interval day to second", ["1", "1", "2", None, "3", "4"], None),
}


# JSON does not hold day-time intervals.
FORMATS = [(form, kind) for form in ("parquet", "json key", "local") for kind in KEY_ROWS if (form, kind) != ("json key", "interval")]


@pytest.mark.parametrize(("format", "kind"), FORMATS)
def test_groups_of_every_type(lineage: Lineage, spark: SparkSession, tmp_path: Path, kind: str, format: str) -> None:
    type_text, values, _ = KEY_ROWS[kind]
    plain = {"decimal", "ntz", "timestamp", "date", "collated"}
    rows = [(i, v) for i, v in enumerate(values)]
    raw = spark.createDataFrame(rows, f"rid int, k {'string' if kind in plain or kind == 'interval' else type_text}")
    made = f"CAST(k AS {type_text})" if kind != "interval" else "make_dt_interval(CAST(k AS int))"
    frame = raw.selectExpr("rid", f"{made} AS k")
    keys = None
    if format == "parquet":
        frame.coalesce(1).write.parquet(str(tmp_path / "typed"))
        frame = spark.read.parquet(str(tmp_path / "typed"))
    elif format == "json key":
        frame.coalesce(1).write.json(str(tmp_path / "typed"), ignoreNullFields=False)
        frame = spark.read.schema(frame.schema).json(str(tmp_path / "typed"))
        keys = {"typed": ["rid"]}
    frame.createOrReplaceTempView("typed")
    groups = frame.groupBy("k").agg(F.collect_list("rid").alias("r"), F.min("rid").alias("m")).collect()
    run = lineage.run("SELECT k, min(rid) AS m FROM typed GROUP BY k", keys=keys)
    assert sorted(row["m"] for row in run.result.collect()) == sorted(g["m"] for g in groups)
    by_first = {group["m"]: sorted(group["r"]) for group in groups}
    found = run.explain("true", save=False)
    (name,) = found.source
    assert {one.level for one in found.guarantees.values()} == {"exact"}
    ids, asked = found.source[name].column("rid").to_pylist(), found.target.column("m").to_pylist()
    behind: dict[int, list[int]] = {}
    for link in found.links["target"].to_pylist():
        behind.setdefault(asked[link["row"]], []).append(ids[link["source_row"]])
    assert {first: sorted(some) for first, some in behind.items()} == by_first, found.queries
    # NULL alone is asked about in another way than among others.
    for first in [group["m"] for group in groups if group["k"] is None]:
        assert rids(run.explain(f"m = {first}", save=False), name) == by_first[first]
    if format != "parquet":
        return
    nested = lineage.run("SELECT DISTINCT k FROM (SELECT k, count(*) AS c FROM typed GROUP BY k HAVING count(*) > 1)", keys=keys)
    found = nested.explain("true", save=False)
    assert rids(found, next(iter(found.source))) == sorted(r for g in groups if len(g["r"]) > 1 for r in g["r"])


def test_long_names_that_begin_alike(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a", "x"), (2, "a", "y"), (3, "b", "x")], "rid int, g string, h string")
    one, two = "k" * 70 + "1", "k" * 70 + "2"
    kind_of.register(spark)
    run = lineage.run(
        f"SELECT {one}, {two}, kind, count(*) AS n FROM (SELECT g AS {one}, h AS {two}, kind_of(rid) AS kind FROM w) GROUP BY ALL"
    )
    found = run.explain(f"{one} = 'a' AND {two} = 'y'")
    assert rids(found, "w") == [2]


def test_a_union_of_judged_rows_with_columns_that_nobody_reads(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a", "p"), (2, "a", "q"), (3, "b", "r")], "rid int, g string, note string")
    view(spark, tmp_path, "v", [(11, "a", "p"), (12, "c", "q")], "rid int, g string, note string")
    kind_of.register(spark)
    sql = """SELECT kind, count(*) AS n FROM (
        SELECT kind_of(rid) AS kind, note, g FROM w UNION ALL SELECT g, note, g FROM v
        ) GROUP BY kind"""
    run = lineage.run(sql)
    assert Counter(map(tuple, run.result.collect())) == Counter(map(tuple, spark.sql(sql).collect()))
    found = run.explain("kind = 'odd'")
    assert rids(found, "w") == [1, 3]
    assert rids(run.explain("kind = 'a'"), "v") == [11]
    counted = lineage.run(f"SELECT count(*) AS n FROM ({sql}) WHERE n > 0")
    assert counted.explain("true").source["w"].num_rows == 3
    many = "SELECT count(*) AS n FROM (SELECT kind_of(rid) AS kind FROM w WHERE kind_of(rid) = 'odd' UNION ALL SELECT g FROM v)"
    found = lineage.run(many).explain("true")
    assert (rids(found, "w"), rids(found, "v")) == ([1, 3], [11, 12])


def test_an_order_dependent_function_below_another_aggregation_is_not_run_again(lineage: Lineage, spark: SparkSession) -> None:
    from airflow_lineage_provider.rewrite.pipeline import rewrite
    from airflow_lineage_provider.spark.capture import capture

    spark.range(10).selectExpr("id AS rid", "id % 3 AS g", "id % 2 AS x").createOrReplaceTempView("r")
    for function in ("first(rid)", "max_by(rid, 1)", "collect_set(rid)", "mode(rid)"):
        frame = spark.sql(
            "SELECT m, count(*) AS c FROM (SELECT g, max(f) AS m FROM "
            f"(SELECT g, x, {function} AS f FROM r GROUP BY g, x) GROUP BY g) GROUP BY m"
        )
        plan = rewrite(capture(frame).pipeline)
        assert [s.pinned for s in plan.segments] == [False, True], function


def test_a_source_without_traced_rows_needs_no_spark(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")
    view(spark, tmp_path, "v", [(11, "b")], "rid int, g string", "csv")
    run = lineage.run("SELECT rid FROM w UNION ALL SELECT rid FROM v")
    found = Lineage(store=store).get(run.id).explain("rid = 1")
    assert rids(found, "w") == [1]
    assert rids(found, "v") == []


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("sql", ["SELECT rid FROM w", "SELECT count(*) AS rid FROM w"])
def test_a_source_that_is_no_longer_of_its_format(lineage: Lineage, spark: SparkSession, tmp_path: Path, format: str, sql: str) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string", format)
    run = lineage.run(sql)
    (file,) = (tmp_path / "w").glob(f"*.{format}")
    file.write_bytes(b"garbage" * 100)
    file.with_name(f".{file.name}.crc").unlink()
    if format == "parquet" and "count" not in sql:
        assert run.explain("rid = 1").guarantees["w"].level == "unavailable"
    else:
        with_named_error(run)


def with_named_error(run: Any) -> None:
    """The table is said to be unavailable, or Spark's error is told as one of ours."""
    with suppress(TracingError):
        assert run.explain("rid = 1").guarantees["w"].level == "unavailable"


def test_one_file_read_with_two_schemas(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "01"), (2, "02")], "rid int, n string", "csv")

    def pipeline(session: SparkSession) -> DataFrame:
        numbers = session.read.schema("rid int, n int").csv(str(tmp_path / "w"))
        texts = session.read.schema("rid int, n string").csv(str(tmp_path / "w"))
        return numbers.alias("a").join(texts.alias("b"), "rid").selectExpr("rid", "a.n AS a", "b.n AS b")

    found = lineage.run(pipeline).explain("rid = 2")
    assert {one.level for one in found.guarantees.values()} == {"exact"}
    assert sorted(str(t.column("n").to_pylist()) for t in found.source.values()) == ["['02']", "[2]"]


@pytest.mark.parametrize("kind", ["double", "array", "struct", "binary", "timestamp", "date", "decimal"])
def test_primary_keys_of_every_type(lineage: Lineage, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    values = {
        "double": ("double", [math.nan, 1.0, None]),
        "array": ("array<double>", [[math.nan], [1.0, None], None]),
        "struct": ("struct<a:int,b:string>", [(1, "x"), (1, None), None]),
        "binary": ("binary", [b"a", b"", None]),
        "timestamp": ("timestamp", [datetime.datetime(2020, 1, 1), datetime.datetime(1900, 1, 1, 0, 0, 0, 5), None]),
        "date": ("date", [datetime.date(1, 1, 1), datetime.date(2020, 1, 1), None]),
        "decimal": ("decimal(20,2)", [None, None, None]),
    }[kind]
    schema = f"rid int, k {values[0]}"
    spark.createDataFrame(list(enumerate(values[1])), schema).coalesce(1).write.json(str(tmp_path / "keyed"), ignoreNullFields=False)
    run = lineage.run(lambda s: s.read.schema(schema).json(str(tmp_path / "keyed")), keys={"keyed": ["rid", "k"]})
    for rid in range(3):
        found = run.explain(f"rid = {rid}")
        assert rids(found, "keyed") == [rid]
        assert found.guarantees["keyed"].level == "exact", found.guarantees
        assert found.links["target"].num_rows == 1


def test_verification_with_every_shape_of_column(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(
        spark,
        tmp_path,
        "w",
        [(1, {"k": 1.5}, [math.nan], (1, "x"), datetime.datetime(2024, 3, 31, 2, 30)), (2, None, None, None, None)],
        "rid int, m map<string,double>, a array<double>, s struct<x: int, y: string>, t timestamp_ntz",
    )
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        run = lineage.run("SELECT * FROM w")
        for rid in (1, 2):
            found = run.explain(f"rid = {rid}", verify=True)
            assert found.verified, found.verification
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_verification_of_float_sums(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(0, 20000, 1, 7).selectExpr("id AS rid", "id % 3 AS g", "0.1D * (id * 7919 % 1000) AS x").write.parquet(str(tmp_path / "w"))
    spark.read.parquet(str(tmp_path / "w")).createOrReplaceTempView("w")
    found = lineage.run("SELECT g, sum(x) AS s FROM w GROUP BY g").explain("g = 1", verify=True)
    assert found.verified, found.verification


def test_verification_with_an_undeclared_udf(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")
    plain = F.udf(lambda x: x * 2, "int")
    run = lineage.run(lambda session: session.table("w").select(plain("rid").alias("twice")))
    with pytest.raises(LineageError):
        run.explain("twice = 2", verify=True)


def test_values_that_rounding_or_nan_makes_differ_are_the_same(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, 0.1), (2, 0.2)], "rid int, x double")

    @reasoned_udf("array<double>", name="wobbly", vectorized="arrow")
    def wobbly(x: Any) -> Any:
        return pa.array([[v * (1 + 1e-15 * len(x)), math.nan] for v in x.to_pylist()])

    @wobbly.with_reason
    def _(x: Any) -> Any:
        return wobbly.main(x), [{"x": v} for v in x.to_pylist()]

    wobbly.register(spark)
    run = lineage.run("SELECT rid, wobbly(x) AS y FROM w")
    found = run.explain("rid = 1")
    assert found.guarantees["wobbly"].level == "exact", found.guarantees


def test_names_that_differ_in_case_only(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        for format in ("parquet", "json", "local"):
            frame = spark.createDataFrame([(1, "a", "A"), (2, "b", "B")], "rid int, g string, G string")
            if format != "local":
                frame.coalesce(1).write.format(format).save(str(tmp_path / format))
                frame = spark.read.format(format).schema("rid int, g string, G string").load(str(tmp_path / format))
            frame.createOrReplaceTempView("w")
            run = lineage.run("SELECT G, g, count(*) AS n FROM w GROUP BY g, G", keys={"w": ["G"]} if format == "json" else None)
            assert sorted(map(tuple, run.result.collect())) == [("A", "a", 1), ("B", "b", 1)]
            found = run.explain("G = 'B'")
            assert next(iter(found.source.values())).to_pylist() == [{"rid": 2, "g": "b", "G": "B"}]
            assert found.target.to_pylist() == [{"G": "B", "g": "b", "n": 1}]
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    assert found.source


@pytest.mark.parametrize("name", ["a b", "a%20b", "a%b", "größe", "a+b", "a=b", "a#b?c", "x'y"])
def test_odd_paths(lineage: Lineage, spark: SparkSession, store: Store, tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    spark.createDataFrame([(1, "a"), (2, "b")], "rid int, g string").write.parquet(path)
    run = lineage.run(lambda session: session.read.parquet(path))
    found = Lineage(store=store).get(run.id).explain("rid = 2")
    assert [t.column("rid").to_pylist() for t in found.source.values()] == [[2]]
    assert {one.level for one in found.guarantees.values()} == {"exact"}


def test_odd_partitions(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "p")
    spark.createDataFrame([(1, "a b"), (2, "a/b"), (3, "a%b"), (4, None), (5, "ü:=#?")], "rid int, g string").write.partitionBy(
        "g"
    ).parquet(path)
    run = lineage.run(lambda session: session.read.parquet(path))
    for rid in range(1, 6):
        found = run.explain(f"rid = {rid}")
        assert rids(found, "p") == [rid]
        assert found.guarantees["p"].level == "exact"


def test_a_failure_while_cleaning_up_hides_nothing(
    lineage: Lineage, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")

    def gone(name: str) -> bool:
        raise RuntimeError("the session is gone")

    def interrupted(self: Output, frame: DataFrame) -> None:
        monkeypatch.setattr(type(spark.catalog), "dropTempView", lambda self, name: gone(name))
        raise KeyboardInterrupt

    monkeypatch.setattr(Output, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lineage.run("SELECT rid FROM w", name="interrupted", output=str(tmp_path / "out"))
    monkeypatch.undo()
    (record,) = lineage.runs("interrupted")
    assert record.status == "failed"


def leftovers(spark: SparkSession) -> set[str]:
    views = {row["tableName"] for row in spark.sql("SHOW TABLES LIKE 'lineage_*'").collect()}
    return views | {f[0] for f in spark.sql("SHOW USER FUNCTIONS").collect() if f[0].startswith("lineage_")}


def test_nothing_is_left_behind(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    before = leftovers(spark)
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string", "csv")
    kind_of.register(spark)
    run = lineage.run("SELECT kind_of(rid) AS k, count(*) AS n FROM w GROUP BY kind_of(rid)")
    run.explain("n = 1", verify=True)
    assert leftovers(spark) > before
    run.close()
    assert leftovers(spark) == before
    with pytest.raises(LineageError):
        lineage.run("SELECT kind_of(rid) AS k FROM w", output="table:w.x.y.z.v")
    assert leftovers(spark) == before


def test_no_password_is_recorded_or_shown(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a")], "rid int, g string")
    run = lineage.run(
        lambda session, **_: session.table("w"),
        params={"password": "hunter2", "db_token": "hunter3", "url": "postgresql://me:hunter4@host/db", "month": "12"},
    )
    assert run.record.params["month"] == "12"
    assert "hunter" not in repr(lineage.store.run(run.id))
    assert "hunter" not in repr(Output.parse("postgresql://me:hunter5@host/db#t"))
    with pytest.raises(LineageError) as raised:
        Output.parse("postgresql://me:hunter6@host/db")
    assert "hunter" not in str(raised.value)


def test_derivations_at_once_in_one_session(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    kind_of.register(spark)
    runs = []
    for number in range(2):
        view(spark, tmp_path, f"w{number}", [(100 * number + i, "a") for i in range(10)], "rid int, g string", "csv")
        runs.append(lineage.run(f"SELECT g, kind_of(rid) AS k, count(*) AS n FROM w{number} GROUP BY g, kind_of(rid)"))
        runs.append(lineage.run(f"SELECT g, count(*) AS n FROM w{number} WHERE rid % 2 = 1 GROUP BY g"))

    def explained(at: int) -> list[Any]:
        return [runs[at].explain("true", verify=True, save=False) for _ in range(3)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(explained, range(4)))
    for at, explanations in enumerate(found):
        for one in explanations:
            number = at // 2
            expected = [100 * number + i for i in range(10) if at % 2 == 0 or i % 2]
            assert rids(one, f"w{number}") == expected
            assert one.verified, one.verification


def test_the_stored_result_keeps_its_order(lineage: Lineage, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    try:
        run = lineage.run("SELECT id FROM range(0, 5000, 1, 8) ORDER BY id % 10, id DESC")
        expected = [row[0] for row in run.result.collect()]
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    again = lineage.get(run.id)
    assert [row[0] for row in again.result.collect()] == expected
    assert again.result_table().column("id").to_pylist() == expected


def test_thousands_of_target_rows(lineage: Lineage, spark: SparkSession) -> None:
    run = lineage.run("SELECT id FROM range(5000)")
    found = run.explain([{"id": n} for n in range(4000)])
    assert found.target.num_rows == 4000


def test_an_error_of_several_lines_still_names_the_row(lineage: Lineage, spark: SparkSession, tmp_path: Path) -> None:
    view(spark, tmp_path, "w", [(1, "a"), (3, "b")], "rid int, g string")
    two_lines.register(spark)
    with pytest.raises(UdfFailed, match=r"(?s)first line.*second line.*w: rid=3"):
        lineage.run("SELECT two_lines(rid) AS x FROM w", keys={"w": ["rid"]})
