"""Random pipelines: what the package gives must be what plain Spark and the oracle give.

``make test`` takes a small sample that is always the same. ``make fuzz`` draws 2,000 new ones every time, and says from which seed; a
failure shrinks to a case that can be pasted into `tests.oracle.regressions`. Stopped, and asked again for the same seed (FUZZ_SEED), it
goes on where it was (`tests.oracle.series`).
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, note
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.store import Store
from tests.oracle import render_sql
from tests.oracle.check import SparkFails, check
from tests.oracle.drawing import blocks, drawn, told
from tests.oracle.examples import EXAMPLES, TABLES
from tests.oracle.regressions import REGRESSIONS
from tests.oracle.row import Ambiguous
from tests.oracle.strategies import STRATEGIES, STYLES, Case, cases

pytestmark = pytest.mark.spark

FURTHER = os.environ.get("FUZZ_OPERATORS", "all")
"""Whether the package is asked about all operators, or about those that the paper has alone (``FUZZ_OPERATORS=paper``)."""


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


def query_text(case: Case) -> str:
    return render_sql.to_sql(case.query, case.tables, "nested" if case.style == "frame" else case.style)


def described(case: Case) -> str:
    rows = "\n".join(f"{name}({data.ddl})\n" + "".join(f"  {row}\n" for row in data.rows) for name, data in case.tables.items())
    return f"{rows}{query_text(case)}\n-- style {case.style}, {case.storage} data, {case.reasons} reasons, {case.strategy}"


def rejected(error: Exception) -> str | None:
    """Why a pipeline says nothing of the package."""
    if isinstance(error, Ambiguous):
        return "ambiguous"
    if isinstance(error, SparkFails):
        return "that Spark itself fails at"
    # A UDF of the outer row within the subquery; an outer row that is the first of several.
    by_name = ("columns of the outer query", "the outer query has to be computed twice")
    return "refused by name" if isinstance(error, UnsupportedOperator) and any(text in str(error) for text in by_name) else None


@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", blocks(15, at_once=5))
def test_random_pipelines(block: int, lineage: Lineage, spark: SparkSession) -> None:
    with told("test_fuzz", block, FURTHER) as counted:

        @drawn(block, at_once=5)
        @given(case=cases(further=FURTHER == "all"))
        def hold(case: Case) -> None:
            note(described(case))
            with counted.one(rejected, query_text(case)):
                check(case, lineage, spark)

        hold()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_operator(name: str, lineage: Lineage, spark: SparkSession) -> None:
    """The random sample misses some operators: each once, written and run in turn in every way."""
    turn = list(EXAMPLES).index(name)
    case = Case(tables=TABLES, query=EXAMPLES[name], style=STYLES[turn % len(STYLES)], strategy=STRATEGIES[turn % len(STRATEGIES)])
    if name == "a correlated subquery with UDFs":
        with pytest.raises(UnsupportedOperator, match="columns of the outer query"):
            check(case, lineage, spark)
        return
    check(case, lineage, spark)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions(name: str, lineage: Lineage, spark: SparkSession) -> None:
    check(REGRESSIONS[name], lineage, spark)
