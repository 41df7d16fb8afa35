"""The two workloads: their queries, tables and UDFs, and what the oracle and plain Spark say of each query."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.reasons.payload import to_json
from tests.tpch import oracle
from tests.tpch.annotated import Row
from tests.tpch.data import KEYS, Tables, read_rows
from udfs.person_detection import person_detection
from udfs.text_sentiment import text_sentiment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.reasons import ReasonedUdf

HERE = Path(__file__).parent
FOLDERS: Mapping[str, Path] = {"tpch": HERE / "queries", "cda": HERE / "cda"}
QUERIES = [(workload, path.stem) for workload, folder in FOLDERS.items() for path in sorted(folder.glob("q*.sql"))]
"""(workload, query) of all 32."""

UDFS: Sequence[ReasonedUdf] = (person_detection, text_sentiment)
LEAST_DIFFERENCE = Decimal("0.000001")
"""Averages and quotients are rounded by Spark to six digits or more; everything else is exact to fewer."""


def sql(workload: str, query: str) -> str:
    """A query's text."""
    return (FOLDERS[workload] / f"{query}.sql").read_text(encoding="utf-8")


@dataclass
class Workload:
    """One workload over its tables."""

    name: str
    tables: Tables
    _expected: dict[str, list[Row]] = field(default_factory=dict)
    _plain: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    @contextmanager
    def views(self, spark: SparkSession) -> Iterator[None]:
        """The tables as views, and the UDFs."""
        for name, path in self.tables.items():
            spark.read.parquet(str(path)).createOrReplaceTempView(name)
        for udf in UDFS:
            udf.register(spark)
        yield
        for name in self.tables:
            spark.catalog.dropTempView(name)

    def expected(self, query: str) -> list[Row]:
        """What the oracle says."""
        if query not in self._expected:
            self._expected[query] = oracle.evaluate(sql(self.name, query), self._annotated, _oracle_udfs())[1]
        return self._expected[query]

    def plain(self, query: str, spark: SparkSession) -> list[tuple[Any, ...]]:
        """What plain Spark gives (in `views`)."""
        if query not in self._plain:
            self._plain[query] = [tuple(row) for row in spark.sql(sql(self.name, query)).collect()]
        return self._plain[query]

    @functools.cached_property
    def _annotated(self) -> Mapping[str, oracle.Table]:
        return {name: oracle.table(name, read_rows(path), KEYS[name]) for name, path in self.tables.items()}


@functools.cache
def _oracle_udfs() -> Mapping[str, oracle.Udf]:
    return {udf.name: oracle.Udf(functools.cache(udf.main), functools.cache(functools.partial(_reason, udf))) for udf in UDFS}


def _reason(udf: ReasonedUdf, *arguments: Any) -> str:
    assert udf.main_with_reason is not None
    return to_json(udf.main_with_reason(*arguments)[1])


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are the same, but for the rounding of averages and quotients."""
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return abs(left - right) <= LEAST_DIFFERENCE
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right)
    return bool(left == right)


def is_same_row(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two rows are the same, value by value."""
    return len(left) == len(right) and all(map(is_same, left, right))
