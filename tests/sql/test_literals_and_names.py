"""Names and constants come back from both engines exactly as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan.expressions import Literal
from airflow_lineage_provider.sql import PortabilityProblem, lower_expression, quote, quote_path
from airflow_lineage_provider.sql.functions import NOT_SCALAR, SCALAR
from airflow_lineage_provider.sql.names import is_plain
from tests.in_turn import sampled
from tests.sql import all_engines

if TYPE_CHECKING:
    from psycopg2.extensions import cursor
    from pyspark.sql import SparkSession

FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CHARACTERS = st.one_of(st.sampled_from(list("\\'\"`$${}%_;-/*\n\r\t\0 0171u\x1a\x7f")), st.characters(exclude_categories=["Cs"]))
TEXTS = st.text(CHARACTERS, max_size=12)
NASTY = [
    "",
    "'",
    "''",
    '"',
    "\\",
    "\\\\",
    "\\'",
    "'\\",
    "\\n",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\0001",
    "\x1a",
    "\b",
    "${x}",
    "${env:HOME}",
    "$",
    "$1",
    "%",
    "\\%",
    "_",
    "\\_",
    "\\101",
    "\\u0041",
    "-- x",
    "/* x */",
    "; DROP TABLE t",
    " trailing ",
    "ä",
    "日本",
    "😀",
    "e\u0301",
    "\u2028",
    "\ufeff",
    "r'x'",
    "{}",
    ":x",
    "?",
]


def written(value: str | None, kind: str, dialect: Any) -> str:
    return lower_expression(Literal(value=value, type=kind), {}, dialect=dialect)


@MANY
@given(value=TEXTS)
def test_a_string_is_read_back_by_postgres(postgres: cursor, value: str) -> None:
    if "\0" in value:
        with pytest.raises(PortabilityProblem, match="NUL"):
            written(value, "string", "postgres")
        return
    for setting in ("on", "off"):
        postgres.execute(f"SET standard_conforming_strings = {setting}; SET escape_string_warning = off")
        postgres.execute(f"SELECT {written(value, 'string', 'postgres')}")
        assert postgres.fetchone() == (value,)


@pytest.mark.spark
@FEW
@given(values=st.lists(TEXTS, min_size=1, max_size=40))
def test_strings_are_read_back_by_spark(spark: SparkSession, values: list[str]) -> None:
    values = values + NASTY
    columns = ", ".join(f"{written(value, 'string', 'spark')} AS c{number}" for number, value in enumerate(values))
    assert list(spark.sql(f"SELECT {columns}").collect()[0]) == values


NAMES = st.text(
    st.one_of(st.sampled_from(list("`\"'. aA0_-\\;\n")), st.characters(exclude_categories=["Cs", "Cc"])), min_size=1, max_size=15
)


@MANY
@given(name=NAMES)
def test_a_name_is_read_back_by_postgres(postgres: cursor, name: str) -> None:
    postgres.execute(f"SELECT t.{quote(name, 'postgres')} AS {quote(name, 'postgres')} FROM (SELECT 1 AS {quote(name, 'postgres')}) AS t")
    assert postgres.description is not None
    assert postgres.description[0].name == name


@pytest.mark.spark
@FEW
@given(names=st.lists(NAMES.filter(lambda name: "${" not in name), min_size=1, max_size=20))
def test_names_are_read_back_by_spark(spark: SparkSession, names: list[str]) -> None:
    for position, name in enumerate(names):
        names[position] = f"{name}{position}"
    inner = ", ".join(f"1 AS {quote(name, 'spark')}" for name in names)
    outer = ", ".join(f"t.{quote(name, 'spark')}" for name in names)
    assert spark.sql(f"SELECT {outer} FROM (SELECT {inner}) AS t").columns == names


def test_names_that_cannot_be() -> None:
    for name in ("", "a\0b", "x" * 64, "ä" * 32):
        with pytest.raises(PortabilityProblem, match="63 bytes"):
            quote(name, "postgres")
    with pytest.raises(UnsupportedOperator, match="empty name"):
        quote("", "spark")
    with pytest.raises(UnsupportedOperator, match=r"\$\{env:HOME\}"):
        quote("${env:HOME}", "spark")
    assert quote_path(("main", "my table", "order"), "spark") == "main.`my table`.`order`"
    assert quote_path(("Main", "client"), "postgres") == '"Main".client'


def test_every_keyword_of_postgres_can_be_a_name(postgres: cursor) -> None:
    postgres.execute("SELECT word FROM pg_get_keywords()")
    for (word,) in postgres.fetchall():
        name = quote(word, "postgres")
        postgres.execute(f"SELECT {name}.{name} AS {name} FROM (SELECT 1 AS {name}) AS {name} ORDER BY {name}")
        assert postgres.fetchall() == [(1,)]


@pytest.mark.spark
def test_every_keyword_of_spark_can_be_a_name(spark: SparkSession) -> None:
    words = [row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords()").collect()]
    assert len(words) > 100
    parser = spark._jsparkSession.sessionState().sqlParser()
    for at, setting in enumerate(("true", "false")):
        spark.conf.set("spark.sql.ansi.enforceReservedKeywords", setting)
        try:
            for word in sampled(words[at:] + words[:at], one_in=18):
                name = quote(word, "spark")
                inner = f"(SELECT 1 AS {name}) AS {name}"
                parser.parsePlan(f"SELECT {name}.{name} AS {name} FROM {inner} INNER JOIN {name} ON {name}.{name} = 1 ORDER BY {name}")
        finally:
            spark.conf.unset("spark.sql.ansi.enforceReservedKeywords")
    words = sampled(words, one_in=2)
    columns = ", ".join(f"{number} AS {quote(word, 'spark')}" for number, word in enumerate(words))
    read = ", ".join(quote(word, "spark") for word in words)
    assert list(spark.sql(f"SELECT {read} FROM (SELECT {columns}) AS t").collect()[0]) == list(range(len(words)))


def test_plain_names_are_not_quoted() -> None:
    assert all(is_plain(name, "postgres") for name in ("client", "income", "loan_amount", "name", "date", "value", "judge", "x"))
    assert quote("Income", "spark") == "Income"
    assert quote("Income", "postgres") == '"Income"'


# Value and type of constants, and what Python makes of them.
CONSTANTS: list[tuple[str, str]] = [
    *((text, "tinyint") for text in ("0", "-128", "127")),
    *((text, "smallint") for text in ("-32768", "32767")),
    *((text, "int") for text in ("0", "-1", "-2147483648", "2147483647")),
    *((text, "bigint") for text in ("7", "-9223372036854775808", "9223372036854775807")),
    *(
        (text, "double")
        for text in ("0.0", "-0.0", "0.1", "1.0E10", "-1.5E-300", "4.9E-324", "1.7976931348623157E308", "NaN", "Infinity", "-Infinity")
    ),
    *((text, "float") for text in ("0.1", "-0.0", "1.0E10", "1.4E-45", "3.4028235E38", "NaN", "Infinity", "-Infinity")),
    *((text, "decimal(10,2)") for text in ("0.00", "-1.50", "12345678.90")),
    ("0.5", "decimal(1,1)"),
    ("0.05", "decimal(2,2)"),
    ("-1.5", "decimal(2,1)"),
    ("12345678901234567890123456789012345678", "decimal(38,0)"),
    ("7", "decimal(3,0)"),
    ("true", "boolean"),
    ("false", "boolean"),
    ("", "binary"),
    ("00ff0a27", "binary"),
    ("2025-12-01", "date"),
    ("0001-01-01", "date"),
    ("1582-10-10", "date"),
    ("9999-12-31", "date"),
    ("2025-12-01 10:20:30.123456", "timestamp_ntz"),
    ("0001-01-01 00:00:00", "timestamp_ntz"),
    ("2025-12-01 10:20:30+05:30", "timestamp"),
    ("1969-12-31 23:59:59.999999Z", "timestamp"),
    ("it's", "string"),
]


def comparable(value: Any) -> Any:
    """A value of either engine's, so that NaN and -0.0 are told apart, and decimals by their scale."""
    if hasattr(value, "tzinfo") and value.tzinfo is not None:
        return value.timestamp()
    return str(value) if hasattr(value, "as_tuple") else all_engines.comparable(value)


@pytest.mark.spark
def test_constants_have_their_type_and_value_in_spark(spark: SparkSession) -> None:
    columns = ", ".join(f"{written(value, kind, 'spark')} AS c{n}" for n, (value, kind) in enumerate(CONSTANTS))
    casts = ", ".join(
        f"CAST('{value.replace(chr(39), chr(92) + chr(39))}' AS {kind}) AS c{n}"
        for n, (value, kind) in enumerate(CONSTANTS)
        if kind != "binary"
    )
    frame, expected = spark.sql(f"SELECT {columns}"), spark.sql(f"SELECT {casts}")
    types = dict(frame.dtypes)
    assert [types[f"c{n}"] for n in range(len(CONSTANTS))] == [kind for _, kind in CONSTANTS]
    row, other = frame.collect()[0].asDict(), expected.collect()[0].asDict()
    assert {name: comparable(row[name]) for name in other} == {name: comparable(value) for name, value in other.items()}
    binaries = [bytes(row[f"c{n}"]) for n, (_, kind) in enumerate(CONSTANTS) if kind == "binary"]
    assert binaries == [b"", b"\x00\xff\x0a\x27"]


def read(node: str, kind: str) -> str:
    """What both drivers bring to Python alike: a timestamp as whole microseconds, a float as a double."""
    if kind == "float":
        return f"CAST({node} AS DOUBLE PRECISION)"
    return f"CAST(EXTRACT(EPOCH FROM {node}) * 1000000 AS BIGINT)" if kind == "timestamp" else node


@pytest.mark.spark
def test_constants_are_the_same_in_both(spark: SparkSession, postgres: cursor) -> None:
    micros = {"timestamp": "UNIX_MICROS({})"}
    columns = ", ".join(
        f"{micros.get(kind, '{}').format(written(value, kind, 'spark'))} AS c{n}" for n, (value, kind) in enumerate(CONSTANTS)
    )
    found = [comparable(value) for value in spark.sql(f"SELECT {columns}").collect()[0]]
    postgres.execute("SELECT " + ", ".join(read(written(value, kind, "postgres"), kind) for value, kind in CONSTANTS))
    other = postgres.fetchone()
    assert other is not None
    assert found == [comparable(value) for value in other]


def test_constants_that_postgres_cannot_say() -> None:
    for value, kind in (
        ("2025-12-01 10:00:00", "timestamp"),
        ("[1]", "array<int>"),
        ("1 day", "interval"),
        ("x", "string collate UTF8_LCASE"),
        ("12:00", "time(6)"),
    ):
        with pytest.raises(PortabilityProblem):
            written(value, kind, "postgres")
    with pytest.raises(UnsupportedOperator, match="array"):
        written("[1]", "array<int>", "spark")


@pytest.mark.spark
def test_typed_nulls(spark: SparkSession) -> None:
    kinds = [
        "int",
        "string",
        "decimal(10,2)",
        "array<int>",
        "map<string,int>",
        "struct<`a b`:int,`c``d`:array<timestamp>>",
        "binary",
        "interval day to second",
    ]
    columns = ", ".join(f"{written(None, kind, 'spark')} AS c{n}" for n, kind in enumerate(kinds))
    found = spark.sql(f"SELECT {columns}")
    expected = [*kinds[:5], "struct<a b:int,c`d:array<timestamp>>", *kinds[6:]]
    assert [kind.replace("`", "") for _, kind in found.dtypes] == [kind.replace("`", "") for kind in expected]
    assert list(found.collect()[0]) == [None] * len(kinds)


@pytest.mark.spark
def test_the_lists_of_functions_are_spark_s(spark: SparkSession) -> None:
    registry = spark._jsparkSession.sessionState().functionRegistry()
    groups: dict[str, str] = {}
    names = registry.listFunction().iterator()
    while names.hasNext():
        name = names.next()
        groups[name.funcName()] = registry.lookupFunction(name).get().getGroup()
    many = {name for name, group in groups.items() if group in ("agg_funcs", "window_funcs", "generator_funcs")}
    assert many <= NOT_SCALAR
    assert set(groups) >= SCALAR
    assert not SCALAR & (many | {"reflect", "java_method", "try_reflect", "raise_error", "assert_true", "rand", "uuid"})
