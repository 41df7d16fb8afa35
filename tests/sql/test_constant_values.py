"""Values that are said by arithmetic of constants are those that Spark computes."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest
from pyspark.sql import SparkSession

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import expression_of
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.spark.capturing.capture import capture
from airflow_lineage_provider.sql.constant_values import constant_value


def day(text: str | None) -> e.Literal:
    return e.Literal(value=text, type="date")


def interval(text: str, kind: str) -> e.Literal:
    return e.Literal(value=f"INTERVAL {text}", type=f"interval {kind}")


def decimal(text: str, precision: int, scale: int) -> e.Literal:
    return e.Literal(value=text, type=f"decimal({precision},{scale})")


def call(function: str, *arguments: e.Expression, type: str = "date") -> e.Call:
    return e.Call(function=function, arguments=arguments, type=type)


@pytest.mark.parametrize(
    "expression",
    [
        call("+", day("2024-01-31"), e.Attribute(id=1, name="m", type="interval month")),
        call("+", e.Attribute(id=1, name="d", type="date"), interval("'1' MONTH", "month")),
        call("+", day(None), interval("'1' MONTH", "month")),
        call("+", day("2024-01-31"), interval("'1-2' MONTH", "month")),
        call("+", day("2024-01-31"), interval("'1' YEAR TO MONTH", "year to month")),
        call("+", day("9999-12-01"), interval("'1' MONTH", "month")),
        call("-", day("0001-01-01"), interval("'1' MONTH", "month")),
        call("date_add", day("9999-12-31"), e.Literal(value="1", type="int")),
        call("date_add", day("2024-01-31"), e.Literal(value=None, type="int")),
        call("date_add", day("2024-01-31"), e.Literal(value="1", type="bigint")),
        call("trunc", day("2024-01-31"), e.Literal(value="day", type="string")),
        call("make_date", *(e.Literal(value=one, type="int") for one in ("2023", "2", "29"))),
        call("date_format", e.Cast(child=day("2011-12-30"), type="timestamp"), e.Literal(value="yyyyMMdd", type="string"), type="string"),
        call("date_format", e.Cast(child=day("2024-01-31"), type="timestamp"), e.Literal(value="EEE", type="string"), type="string"),
        call("concat", e.Literal(value="a", type="string"), e.Attribute(id=1, name="s", type="string"), type="string"),
        call("to_date", e.Literal(value="2024-01-31", type="string"), e.Literal(value="yyyy-dd-MM", type="string")),
        call("to_date", e.Literal(value="2024", type="string")),
        e.Cast(child=e.Literal(value="2024-02-30", type="string"), type="date"),
        e.Cast(child=e.Literal(value="2024-1-3", type="string"), type="date"),
        e.Cast(child=e.Literal(value="2024-01-03", type="string collate UTF8_LCASE"), type="date"),
        e.Cast(child=e.Literal(value="2024-01-03", type="string"), type="timestamp"),
        call("+", e.Cast(child=day("2024-01-31"), type="timestamp"), interval("'1' HOUR", "hour"), type="timestamp"),
        call("*", decimal("1.5", 2, 1), decimal("1.5", 2, 1), type="decimal(3,1)"),
        call("+", decimal("9.9", 2, 1), decimal("9.9", 2, 1), type="decimal(2,1)"),
        call("/", decimal("9.9", 2, 1), decimal("3.3", 2, 1), type="decimal(8,6)"),
        call("+", decimal("9.9", 2, 1), e.Literal(value="1.0", type="double"), type="double"),
        call("+", decimal("9.9", 2, 1), e.Attribute(id=1, name="x", type="decimal(2,1)"), type="decimal(3,1)"),
        call("+", e.Literal(value="1", type="int"), e.Literal(value="2", type="int"), type="int"),
    ],
)
def test_what_is_not_certain_is_none(expression: e.Expression) -> None:
    assert constant_value(expression) is None


def _texts() -> list[str]:
    chance, found = random.Random(7), []
    for _ in range(180):
        start = date(1, 1, 1) + timedelta(days=chance.randrange(3_652_000))
        start = chance.choice([start, start.replace(day=1) - timedelta(days=1) if start.year > 1 else start, date(2024, 2, 29)])
        text, number, sign = f"DATE'{start.isoformat()}'", chance.randrange(-40, 40), chance.choice("+-")
        one, other = (f"{chance.randrange(-999, 999) / 10 ** chance.randrange(1, 4):f}BD" for _ in range(2))
        kinds = [
            f"{text} {sign} INTERVAL '{number}' DAY", f"{text} {sign} INTERVAL '{number}' MONTH", f"{text} {sign} INTERVAL {number} WEEKS",
            f"{text} {sign} INTERVAL '{number}' YEAR", f"date_add({text}, {number})", f"date_sub({text}, {number})",
            f"{text} {sign} INTERVAL '{number}-{chance.randrange(12)}' YEAR TO MONTH", f"add_months({text}, {number})",
            f"{text} {sign} {abs(number)}", f"CAST('{start.isoformat()}' AS DATE)", f"to_date('{start.isoformat()}')",
            f"{text} - INTERVAL '{number}' MONTH + INTERVAL {abs(number)} DAYS", f"date_add('{start.isoformat()}', {number})",
            f"last_day({text})", f"make_date({start.year}, {start.month}, {start.day})", f"CAST({text} AS STRING)",
            f"trunc(date_add({text}, {number}), '{chance.choice(['MM', 'YEAR', 'quarter', 'week'])}')",
            f"concat('at ', CAST(last_day({text}) AS STRING), '!')",
            f"date_format(DATE'{2012 + start.year % 80}-1{start.month % 3}-1{start.day % 10}', '{chance.choice(['yyyyMMdd', 'yyyy'])}')",
            f"{one} {sign} {other}", f"{one} * {other}", f"({one} {sign} {other}) * {other}", f"{one} * {other} {sign} {one}",
        ]  # fmt: skip
        found.append(chance.choice(kinds))
    return found


@pytest.mark.spark
def test_they_are_sparks(spark: SparkSession) -> None:
    texts = _texts()
    frame = spark.sql(f"SELECT {', '.join(f'{text} AS c{at}' for at, text in enumerate(texts))} FROM range(1)")
    project = next(node for node in operators(capture(frame).pipeline.plan) if isinstance(node, o.Project))
    values = frame.selectExpr(*[f"CAST(c{at} AS STRING) AS c{at}" for at in range(len(texts))]).collect()[0]
    told = 0
    for text, projected, value in zip(texts, project.columns, values, strict=True):
        found = constant_value(expression_of(projected))
        assert found is None or found.value == value, text
        told += found is not None
    assert told > 0.8 * len(texts)
