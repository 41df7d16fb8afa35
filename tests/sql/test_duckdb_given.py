"""What is computed for DuckDB, or guarded, gives what Spark gives: hashes, rounded numbers, parts of texts, powers, casts that may fail."""

from __future__ import annotations

import datetime
import math
import random
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.spark_round import rounded_text
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression
from airflow_lineage_provider.sql.duckdb_parts import text_of_pattern
from tests.sql.all_engines import VALUES, comparable
from tests.sql.build import attribute, call, literal, text

TEXTS = [
    *VALUES["string"], *(one * n for one in ("abc", "é日", "😀", "\x7f\x80") for n in (2, 3, 5, 9)), "x" * 1_000, ",", "a,b",
    ",a,,b,", "a|b|", "a, b", "mc donald  o'neil-smith", " lead", "tab\tbed", "\r\nA B", "ǆ x", "İ", "aΣ", "ŉ", "12 apples",
    "5", "+5", "-5", "--5", "+", "1.5", "1.", ".5", "1e3", "0x1F", "007", "1_000", "5 ", "\t5\n", "\x005", "5\x1f", "5\x7f",
    "5\xa0", "\u20005", "٣", "128", "-129", "32768", "2147483647", "2147483648", "-2147483648", "-2147483649",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0" * 60 + "7", "9" * 60, "true", "NULL", "5L",
    "5d", "5 6", "- 5", "１２",
]  # fmt: skip


def both(spark: SparkSession, kind: str, values: Sequence[Any], expressions: Sequence[e.Expression]) -> None:
    """The same of ``a``, a column of values and NULL, in DuckDB and in Spark."""
    table = pa.table({"a": pa.array([*values, None], to_arrow(kind))})
    spark.createDataFrame(table).selectExpr(f"CAST(a AS {kind}) AS a").coalesce(1).createOrReplaceTempView("given")
    columns = {1: ColumnRef("a")}
    here, there = (
        [f"{lower_expression(one, columns, dialect=d, zone='UTC')} AS c{n}" for n, one in enumerate(expressions)]
        for d in ("duckdb", "spark")
    )
    found = fetched(f"SELECT {', '.join(here)} FROM given", views={}, tables={"given": table}, paths=())
    expected = list(zip(*(tuple(row) for row in spark.sql(f"SELECT {', '.join(there)} FROM given").collect()), strict=True))
    for n, one in enumerate(expressions):
        got = found.column(n).to_pylist()
        wrong = [
            (value, here, there)
            for value, here, there in zip([*values, None], got, expected[n], strict=True)
            if comparable(here) != comparable(there)
        ]
        assert not wrong, (one, wrong[:10])


def of(kind: str) -> e.Attribute:
    return attribute(1, "a", kind)


def drawn_doubles(count: int) -> list[float]:
    """Of all magnitudes; quotients, near to and at the middles between decimals; and any bits."""
    draw = random.Random(7)
    found = [float(one) for one in VALUES["double"]] + [
        2.5,
        -0.5,
        0.5,
        2.675,
        1.005,
        0.125,
        1e22,
        1e23,
        4503599627370495.5,
        -(2.0**63),
        2.0**52,
    ]
    for _ in range(count):
        found.append(draw.randint(-(10**6), 10**6) / draw.choice([2, 3, 7, 8, 10, 16, 100, 1000, 0.7]))
        found.append(draw.randint(-(10**9), 10**9) / 10 ** draw.randint(1, 12))
        found.append(struct.unpack("<d", draw.randbytes(8))[0])
        found.append(draw.uniform(-2, 2) * 10.0 ** draw.randint(-8, 18))
    return found


@pytest.mark.spark
def test_hashes(spark: SparkSession) -> None:
    values = {**VALUES, "string": TEXTS, "double": drawn_doubles(500), "binary": [*VALUES["binary"], bytes(range(256)), b"\xff" * 7]}
    del values["float"], values["decimal(38,10)"]
    values["decimal(18,18)"] = [Decimal("0.999999999999999999"), Decimal("-1e-18"), Decimal(0)]
    values["date"] = [*values["date"], datetime.date(1, 1, 1), datetime.date(1969, 12, 31)]
    for kind, some in values.items():
        a = of(kind)
        both(spark, kind, some, [call("hash", a, kind="int"), call("hash", a, text("é"), literal(7, "bigint"), a, kind="int")])


@pytest.mark.spark
def test_rounded(spark: SparkSession) -> None:
    """What hangs on the version of Java is refused: few, and none of what people write with a few digits."""
    numbers = drawn_doubles(2_000)
    for places in (0, 1, 2, 3, 6, 12, 17, 22, 30, -1, -3):
        sure = [one for one in numbers if is_sure(one, places)]
        assert len(sure) > 0.95 * len(numbers) or places > 6, places
        both(spark, "double", sure, [call("round", of("double"), literal(places, "int"), kind="double")])
    short = [n / 1_000 for n in range(-5_000, 5_000, 5)]
    assert all(is_sure(one, places) for one in short for places in range(4))
    decimals = [*VALUES["decimal(10,2)"], *(Decimal(n) / 100 for n in range(-300, 300, 7)), Decimal("99999999.95")]
    types = {0: "decimal(9,0)", 1: "decimal(10,1)", 2: "decimal(10,2)", 5: "decimal(10,2)"}
    both(
        spark,
        "decimal(10,2)",
        decimals,
        [call("round", of("decimal(10,2)"), literal(n, "int"), kind=kind) for n, kind in types.items()],
    )
    both(spark, "int", VALUES["int"], [call("round", of("int"), literal(n, "int"), kind="int") for n in (0, 3)])


def is_sure(number: float, places: int) -> bool:
    if not math.isfinite(number):
        return True
    try:
        rounded_text(number, places)
    except ValueError:
        return False
    return True


def test_what_hangs_on_java_is_refused() -> None:
    sql = lower_expression(call("round", of("double"), literal(15, "int"), kind="double"), {1: ColumnRef("a")}, dialect="duckdb")
    with pytest.raises(CannotReadHere, match=r"round\(1\.2345678901234565, 15\) hangs on how Java writes the number"):
        fetched(f"SELECT {sql} FROM given", views={}, tables={"given": pa.table({"a": [1.2345678901234565]})}, paths=())


@pytest.mark.spark
def test_texts(spark: SparkSession) -> None:
    a = of("string")
    split = [
        e.Call(function="split", arguments=(a, text(mark), literal(-1, "int")), type="array<string>") for mark in (",", r"\|", "[|]", ", ")
    ]
    limited = [e.Call(function="split", arguments=(a, text(","), literal(n, "int")), type="array<string>") for n in (0, 2)]
    found: list[e.Expression] = [e.GetItem(child=one, key=literal(0, "int"), type="string") for one in (*split, *limited)]
    found += [call("element_at", one, literal(1, "int"), kind="string") for one in split]
    found += [
        call("split_part", a, text(mark), literal(n, "int"), kind="string") for mark in (",", "a", ", ", "😀") for n in (1, 2, 9, -1, -2)
    ]
    found += [call("concat_ws", text("-"), a, a, text("x"), kind="string"), call("concat_ws", a, text("x"), a, kind="string")]
    both(spark, "string", TEXTS, [*found, call("ascii", a, kind="int")])
    enough = [one for one in TEXTS if one.count(",") > 1]
    second: list[e.Expression] = [
        e.GetItem(child=split[0], key=literal(2, "int"), type="string"),
        call("element_at", split[0], literal(3, "int"), kind="string"),
    ]
    both(spark, "string", enough, second)
    both(spark, "string", [one for one in TEXTS if one.isascii()], [call(one, a, kind="string") for one in ("initcap", "reverse")])
    casts = [e.Cast(child=a, type=one, safe=True) for one in ("tinyint", "smallint", "int", "bigint")]
    both(spark, "string", TEXTS, casts)
    both(spark, "string", ["5", "+5", " -5\t", "007", "\x7f0"], [e.Cast(child=a, type=one) for one in ("tinyint", "int", "bigint")])
    for one, expression, why in (
        ("a,b", second[0], "no such part: a,b"),
        ("é", call("reverse", a, kind="string"), "not in ASCII"),
        ("ǆ", call("initcap", a, kind="string"), "not in ASCII"),
        ("1.5", e.Cast(child=a, type="int"), "no whole number: 1.5"),
    ):
        sql = lower_expression(expression, {1: ColumnRef("a")}, dialect="duckdb")
        with pytest.raises(CannotReadHere, match=why):
            fetched(f"SELECT {sql} FROM given", views={}, tables={"given": pa.table({"a": [one]})}, paths=())


@pytest.mark.spark
def test_numbers_and_days(spark: SparkSession) -> None:
    a, doubles = of("double"), drawn_doubles(300)
    both(spark, "double", doubles, [call("sign", a, kind="double")])
    both(spark, "double", doubles, [e.Cast(child=a, type=one, safe=True) for one in ("tinyint", "smallint", "int", "bigint")])
    both(spark, "bigint", VALUES["bigint"], [e.Cast(child=of("bigint"), type=one, safe=True) for one in ("tinyint", "smallint", "int")])
    whole = [float(n) for n in (*range(-40, 40), 94_906_265, -208_063, 9_741, -9_741)] + [-0.0]
    for times in (1, 2, 3, 4):
        small = [one for one in whole if abs(one) ** times <= 2**53]
        both(spark, "double", small, [call("pow", a, e.Cast(child=literal(times, "int"), type="double"), kind="double")])
    days = [datetime.date(2024, 2, 20) + datetime.timedelta(n) for n in range(20)] + VALUES["date"][:-1]
    named = ("MON", "tu", "Wednesday", "THU", "FR", "SATURDAY", "sun")
    both(spark, "date", days, [call("next_day", of("date"), text(one), kind="date") for one in named])


A = of("string")
REFUSED = [
    call("hash", of("decimal(38,10)"), kind="int"),
    call("hash", of("float"), kind="int"),
    call("hash", of("string collate UTF8_LCASE"), kind="int"),
    call("round", of("double"), of("int"), kind="double"),
    call("round", of("float"), literal(1, "int"), kind="float"),
    call("round", of("int"), literal(-1, "int"), kind="int"),
    call("round", of("decimal(10,2)"), literal(-1, "int"), kind="decimal(9,0)"),
    call("bround", of("double"), literal(1, "int"), kind="double"),
    call("split_part", A, text(""), literal(1, "int"), kind="string"),
    call("split_part", A, text(","), literal(0, "int"), kind="string"),
    call("concat_ws", text(","), attribute(1, "a", "array<string>"), kind="string"),
    call("reverse", attribute(1, "a", "array<string>"), kind="array<string>"),
    call("pow", of("double"), of("double"), kind="double"),
    call("pow", of("double"), literal("0.5", "double"), kind="double"),
    call("sign", of("interval day to second"), kind="double"),
    call("next_day", of("date"), text("X"), kind="date"),
    call("next_day", of("date"), A, kind="date"),
    e.GetItem(child=attribute(1, "a", "array<string>"), key=literal(0, "int"), type="string"),
    *(
        e.GetItem(child=e.Call(function="split", arguments=(A, *arguments), type="array<string>"), key=literal(at, "int"), type="string")
        for *arguments, at in (
            (text("a+"), literal(-1, "int"), 0),
            (text(""), literal(-1, "int"), 0),
            (text(","), literal(-1, "int"), -1),
            (text(","), literal(1, "int"), 0),
            (A, literal(-1, "int"), 0),
        )
    ),
    e.Cast(child=of("float"), type="int", safe=True),
    e.Cast(child=A, type="double", safe=True),
]


@pytest.mark.parametrize("expression", REFUSED, ids=repr)
def test_what_is_not_the_same_is_not_written(expression: e.Expression) -> None:
    with pytest.raises(PortabilityProblem):
        lower_expression(expression, {1: ColumnRef("a")}, dialect="duckdb", zone="UTC")


def test_texts_that_patterns_are() -> None:
    assert [text_of_pattern(one) for one in ("a.b", "^", "[ab]", r"\d", "[^a", "(a)", r"\.", "[.]x", "é", "\t")] == [None] * 6 + [
        ".",
        ".x",
        "é",
        "\t",
    ]
    with pytest.raises(PortabilityProblem, match="ansi"):
        lower_expression(e.Cast(child=A, type="int"), {1: ColumnRef("a")}, dialect="duckdb", ansi=False)
