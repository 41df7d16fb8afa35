"""Random pipelines: what the package gives must be what plain Spark and the oracle give.

``make test`` takes a small sample that is always the same. ``FUZZ_EXAMPLES=2000 pytest tests/oracle/test_fuzz.py`` (``make fuzz``)
draws new ones every time; a failure shrinks to a case that can be pasted into `tests.oracle.regressions`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Literal

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.oracle import evaluate, render_sql
from tests.oracle.check import check, check_values, check_values_over_views, views
from tests.oracle.examples import EXAMPLES, TABLES
from tests.oracle.query import Table
from tests.oracle.regressions import REGRESSIONS
from tests.oracle.strategies import Case, cases

pytestmark = pytest.mark.spark

LONG = int(os.environ.get("FUZZ_EXAMPLES", "0"))
FURTHER = os.environ.get("FUZZ_OPERATORS", "paper") == "all"
"""Whether the package is asked about all operators (``FUZZ_OPERATORS=all``), or about those that the paper has alone."""


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


@pytest.fixture(scope="module")
def example_views(spark: SparkSession) -> Iterator[None]:
    # Files, since rows that Python holds would go through Python workers in every test.
    with views(Case(tables=TABLES, query=Table("t0"), storage="parquet"), spark):
        yield


def described(case: Case) -> str:
    rows = "\n".join(f"{name}({data.ddl})\n" + "".join(f"  {row}\n" for row in data.rows) for name, data in case.tables.items())
    sql = render_sql.to_sql(case.query, case.tables, "nested" if case.style == "frame" else case.style)
    return f"{rows}{sql}\n-- style {case.style}, {case.storage} data, {case.reasons} reasons"


SAMPLE = settings(
    max_examples=LONG or 40,
    derandomize=not LONG,
    database=None,
    deadline=None,
    # The fixed sample says which example fails, as it is: shrinking takes minutes, which a long run has.
    phases=(Phase.generate, Phase.shrink) if LONG else (Phase.generate,),
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=bool(LONG),
)


@pytest.mark.timeout(0)
@settings(SAMPLE, max_examples=LONG or 20)
@given(case=cases(storages=("session",)))
def test_the_oracles_values_are_plain_sparks(case: Case, spark: SparkSession) -> None:
    note(described(case))
    check_values(case, spark)


@pytest.mark.timeout(0)
@SAMPLE
@given(case=cases(further=FURTHER))
def test_random_pipelines(case: Case, lineage: Lineage, spark: SparkSession) -> None:
    note(described(case))
    check(case, lineage, spark)


@pytest.mark.parametrize("style", ["merged", "frame"])
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.usefixtures("example_views")
def test_the_oracles_values_of_every_operator(name: str, style: Literal["merged", "frame"], spark: SparkSession) -> None:
    case = Case(tables=TABLES, query=EXAMPLES[name], style=style)
    check_values_over_views(case, spark, evaluate.rows(case.query, case.tables))


if FURTHER:

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_every_operator(name: str, lineage: Lineage, spark: SparkSession) -> None:
        check(Case(tables=TABLES, query=EXAMPLES[name]), lineage, spark)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions(name: str, lineage: Lineage, spark: SparkSession) -> None:
    check(REGRESSIONS[name], lineage, spark)
