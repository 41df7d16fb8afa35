"""Awkward values in Spark, in PostgreSQL and in DuckDB (in a Parquet file): what is asked of all must come out alike."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from psycopg2.extras import execute_values
from pyarrow import parquet

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.duckdb_source import duckdb_source
from airflow_lineage_provider.sql import LeafKey, TableRef, lower
from airflow_lineage_provider.sql.names import Dialect
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
    "bigint": [-(2**63), -9602008556298238, -(2**53) - 1, -1, 0, 1, 2**53 + 1, 2**63 - 1],
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
        datetime.datetime(1893, 4, 1, 12, 30, 45, 123456, UTC),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime.datetime(2024, 2, 29, 20, 15, 0, 0, UTC),
        datetime.datetime(2025, 12, 1, 0, 0, 0, 0, UTC),
        datetime.datetime(2025, 12, 1, 0, 0, 0, 1, UTC),
    ],
    "timestamp_ntz": [
        datetime.datetime(1893, 4, 1, 12, 30, 45, 123456),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(2024, 2, 29, 20, 15),
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


KEY = SourceIdentity(
    kind="file_position", columns=(KeyColumn(name="lineage_file", type="bigint"), KeyColumn(name="lineage_position", type="bigint"))
)
TODAYS = {"spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED"}
"""What Arrow writes is in today's calendar, which its files do not say."""


INTEGERS = ("tinyint", "smallint", "int", "bigint")


class Pairs:
    """For each type, a table with all pairs of its values (and NULL), in all engines: ``pairs_<n>(i, a, b)``."""

    def __init__(self, spark: SparkSession, postgres: cursor, folder: Path) -> None:
        self.spark, self.postgres, self.folder = spark, postgres, folder
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
        arrow = to_arrow(kind)
        pairs = {n: pa.array([pair[at] for _, pair in rows], arrow) for at, n in enumerate(("a", "b"))}
        parquet.write_table(pa.table({"i": pa.array([i for i, _ in rows], pa.int32()), **pairs}), self.folder / name, row_group_size=50)

    def check(
        self, plan: o.Plan, *kinds: str, ordered: bool = False, elsewhere: Sequence[Dialect] = ("postgres", "duckdb")
    ) -> list[tuple[Any, ...]]:
        """The plan gives the same in all engines; its rows."""
        engines: tuple[Dialect, ...] = ("spark", *elsewhere)
        found = {engine: self._rows(plan, engine) for engine in engines}
        if not ordered:
            found = {engine: sorted(rows, key=repr) for engine, rows in found.items()}
        for engine in elsewhere:
            assert found[engine] == found["spark"], engine
        return found["spark"]

    def _rows(self, plan: o.Plan, engine: Dialect) -> list[tuple[Any, ...]]:
        names = ", ".join(_read(a.name, a.type, engine) for a in plan.output)
        rows = self.execute(f"SELECT {names} FROM ({self.written(plan, engine)}) AS t", engine)
        return [tuple(comparable(value) for value in row) for row in rows]

    def written(self, plan: o.Plan, engine: Dialect) -> str:
        tables: dict[LeafKey, TableRef] = {("source", leaf.leaf): table(leaf) for leaf in self.leaves.values()}
        return lower(plan, tables, dialect=engine, zone=self.spark.conf.get("spark.sql.session.timeZone") or "")

    def execute(self, sql: str, engine: Dialect) -> list[tuple[Any, ...]]:
        match engine:
            case "spark":
                return [tuple(row) for row in self.spark.sql(sql).collect()]
            case "postgres":
                self.postgres.execute(sql)
                return list(self.postgres.fetchall())
        return self._in_duckdb(sql)

    def _in_duckdb(self, sql: str) -> list[tuple[Any, ...]]:
        views: dict[str, str] = {}
        tables: dict[str, pa.Table] = {}
        paths: list[Path] = []
        for kind, leaf in self.leaves.items():
            name = leaf.relation.name
            if not re.search(rf"\b{name}\b", sql):
                continue
            if kind in ("float", "double"):
                # As rows that were stored: files with NaN are left to Spark.
                tables[name] = parquet.read_table(self.folder / name)
                continue
            # The reader options of a catalog table are not known: of one of files they are.
            files = replace(leaf, relation=replace(leaf.relation, kind="files"))
            read = duckdb_source(files, KEY, leaf.columns, {"1": str(self.folder / name)}, TODAYS)
            views[name] = read.query
            paths += read.paths
        rows = fetched(sql, views=views, tables=tables, paths=paths)
        return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))

    def evaluate(
        self,
        kind: str,
        write: Callable[[e.Attribute, e.Attribute], Sequence[e.Expression]],
        where: e.Expression | None = None,
        elsewhere: Sequence[Dialect] = ("postgres", "duckdb"),
    ) -> None:
        """Expressions over all pairs give the same."""
        leaf = self.leaves[kind]
        i, a, b = leaf.output
        child: o.Plan = leaf if where is None else o.Filter(child=leaf, condition=where)
        columns = tuple(named(expression, 10_000 + n, f"c{n}") for n, expression in enumerate(write(a, b)))
        self.check(o.Project(child=child, columns=(i, *columns)), kind, elsewhere=elsewhere)


def _read(name: str, kind: str, engine: Dialect) -> str:
    """What all drivers bring to Python alike."""
    if kind == "timestamp":
        instant = f"CAST(EXTRACT(EPOCH FROM {name}) * 1000000 AS BIGINT)"
        return {"spark": f"UNIX_MICROS({name})", "postgres": instant, "duckdb": f"EPOCH_US({name})"}[engine]
    double = "DOUBLE PRECISION" if engine == "postgres" else "DOUBLE"
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
