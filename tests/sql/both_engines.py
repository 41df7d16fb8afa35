"""Awkward values in Spark and in PostgreSQL: what is asked of both must come out alike."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from psycopg2.extras import execute_values

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sql import LeafKey, TableRef, lower
from tests.sql.build import attribute, named, source, table

if TYPE_CHECKING:
    from psycopg2.extensions import cursor
    from pyspark.sql import SparkSession


UTC = datetime.UTC


VALUES: dict[str, list[Any]] = {
    "string": [
        "",
        " ",
        "a",
        "A",
        "a ",
        "aa",
        "Z",
        "_",
        "%",
        "\\",
        "a%b",
        "a\\b",
        "a_b",
        "\n",
        "a\nb",
        "é",
        "e\u0301",
        "ß",
        "ss",
        "日本",
        "😀",
        "\uffff",
        "\ue000",
        "'",
        "10",
        "9",
    ],
    "tinyint": [-128, -1, 0, 1, 127],
    "smallint": [-32768, -1, 0, 1, 32767],
    "int": [-(2**31), -1, 0, 1, 7, 2**31 - 1],
    "bigint": [-(2**63), -(2**53) - 1, -1, 0, 1, 2**53 + 1, 2**63 - 1],
    "float": [-math.inf, -3.4028234663852886e38, -1.5, -0.0, 0.0, 1.401298464324817e-45, 0.10000000149011612, 1.5, math.inf, math.nan],
    "double": [
        -math.inf,
        -1.7976931348623157e308,
        -1.5,
        -0.0,
        0.0,
        5e-324,
        0.1,
        0.30000000000000004,
        9007199254740993.0,
        math.inf,
        math.nan,
    ],
    "decimal(10,2)": [Decimal(t) for t in ("-99999999.99", "-0.01", "0.00", "0.01", "1.50", "99999999.99")],
    "decimal(38,10)": [Decimal(t) for t in ("-9999999999999999999999999999.9999999999", "0.0000000001", "1.5000000000", "2.5000000000")],
    "boolean": [True, False],
    "date": [
        datetime.date(1, 1, 1),
        datetime.date(1582, 10, 15),
        datetime.date(1970, 1, 1),
        datetime.date(2024, 2, 29),
        datetime.date(9999, 12, 31),
    ],
    "timestamp": [
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime.datetime(2025, 12, 1, 0, 0, 0, 0, UTC),
        datetime.datetime(2025, 12, 1, 0, 0, 0, 1, UTC),
    ],
    "timestamp_ntz": [
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(2025, 12, 1),
        datetime.datetime(2025, 12, 1, 0, 0, 0, 1),
    ],
    "binary": [b"", b"\x00", b"\x00\x00", b"\x7f", b"\x80", b"\xff", b"ab", b"a"],
}


POSTGRES_TYPES = {
    "string": "text",
    "tinyint": "smallint",
    "float": "real",
    "double": "double precision",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "binary": "bytea",
}


INTEGERS = ("tinyint", "smallint", "int", "bigint")


class Pairs:
    """For each type, a table with all pairs of its values (and NULL), in both engines: ``pairs_<n>(i, a, b)``."""

    def __init__(self, spark: SparkSession, postgres: cursor) -> None:
        self.spark, self.postgres = spark, postgres
        self.leaves: dict[str, o.Source] = {}
        for number, (kind, values) in enumerate(VALUES.items()):
            self._create(number, kind, list(enumerate(itertools.product([*values, None], repeat=2))))

    def _create(self, number: int, kind: str, rows: list[tuple[int, tuple[Any, Any]]]) -> None:
        name = f"pairs_{number}"
        is_decimal = kind.startswith("decimal")
        frame = self.spark.createDataFrame(
            [(i, *(str(v) if is_decimal and v is not None else v for v in pair)) for i, pair in rows],
            f"i int, a {'string' if is_decimal else kind}, b {'string' if is_decimal else kind}",
        )
        frame.selectExpr("i", f"CAST(a AS {kind}) AS a", f"CAST(b AS {kind}) AS b").coalesce(1).createOrReplaceTempView(name)
        there = POSTGRES_TYPES.get(kind, kind)
        self.postgres.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (i int, a {there}, b {there})")
        # As text: a bare -0.0 is a decimal there, and loses its sign.
        as_text = [(i, *(repr(v).replace("inf", "Infinity") if isinstance(v, float) else v for v in pair)) for i, pair in rows]
        execute_values(self.postgres, f"INSERT INTO {name} SELECT i, a::{there}, b::{there} FROM (VALUES %s) AS v (i, a, b)", as_text)
        columns = (attribute(100 * number, "i"), attribute(100 * number + 1, "a", kind), attribute(100 * number + 2, "b", kind))
        self.leaves[kind] = source(number, name, *columns)

    def check(self, plan: o.Plan, *kinds: str, ordered: bool = False) -> list[tuple[Any, ...]]:
        """The plan gives the same in both engines; its rows."""
        tables: dict[LeafKey, TableRef] = {("source", self.leaves[kind].leaf): table(self.leaves[kind]) for kind in kinds}
        names = ", ".join(f"{_read(a.name, a.type, 'spark')}" for a in plan.output)
        inner = lower(plan, tables, dialect="spark")
        in_spark = [tuple(comparable(v) for v in row) for row in self.spark.sql(f"SELECT {names} FROM ({inner})").collect()]
        names = ", ".join(f"{_read(a.name, a.type, 'postgres')}" for a in plan.output)
        self.postgres.execute(f"SELECT {names} FROM ({lower(plan, tables, dialect='postgres')}) AS t")
        in_postgres = [tuple(comparable(v) for v in row) for row in self.postgres.fetchall()]
        if not ordered:
            in_spark, in_postgres = sorted(in_spark, key=repr), sorted(in_postgres, key=repr)
        assert in_spark == in_postgres
        return in_spark

    def evaluate(
        self, kind: str, write: Callable[[e.Attribute, e.Attribute], Sequence[e.Expression]], where: e.Expression | None = None
    ) -> None:
        """Expressions over all pairs give the same."""
        leaf = self.leaves[kind]
        i, a, b = leaf.output
        child: o.Plan = leaf if where is None else o.Filter(child=leaf, condition=where)
        columns = tuple(named(expression, 1000 + n, f"c{n}") for n, expression in enumerate(write(a, b)))
        self.check(o.Project(child=child, columns=(i, *columns)), kind)


def _read(name: str, kind: str, engine: str) -> str:
    """What both drivers bring to Python alike."""
    if kind == "timestamp":
        return f"UNIX_MICROS({name})" if engine == "spark" else f"CAST(EXTRACT(EPOCH FROM {name}) * 1000000 AS BIGINT)"
    double = "DOUBLE" if engine == "spark" else "DOUBLE PRECISION"
    return f"CAST({name} AS {double})" if kind == "float" else name


def comparable(value: Any) -> Any:
    match value:
        case float():
            return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
        case memoryview() | bytearray():
            return bytes(value)
        case Decimal():
            # Spark's rows are not strict about trailing zeros.
            return f"{value.normalize():f}"
    return value
