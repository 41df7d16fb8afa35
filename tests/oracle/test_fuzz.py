"""Random pipelines: what the package gives must be what plain Spark and the oracle give.

``make test`` takes a small sample that is always the same. ``make fuzz`` draws 2,000 new ones every time, and says from which seed; a
failure shrinks to a case that can be pasted into `tests.oracle.regressions`. Stopped, and asked again for the same seed (FUZZ_SEED), it
goes on where it was (`tests.oracle.series`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given, note
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.store import Store
from tests.in_turn import sampled
from tests.oracle import query as q
from tests.oracle import render_sql
from tests.oracle.check import SparkFails, check, is_sparks_own
from tests.oracle.drawing import blocks, drawn, told
from tests.oracle.examples import EXAMPLES, TABLES
from tests.oracle.regressions import REGRESSIONS
from tests.oracle.row import Ambiguous
from tests.oracle.strategies import STRATEGIES, STYLES, Case, cases

pytestmark = pytest.mark.spark

FURTHER = os.environ.get("FUZZ_OPERATORS", "all")
"""Whether the package is asked about all operators, or about those that the paper has alone (``FUZZ_OPERATORS=paper``)."""


DATA = os.environ.get("FUZZ_DATA") or None
"""A folder for stored rows, which are then in files, however few they are (``FUZZ_DATA=/tmp/stored``)."""


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Iterator[Lineage]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_LINEAGE_DATA_ROWS", "0")
        yield Lineage(spark, store=store, data=DATA)


def query_text(case: Case) -> str:
    return render_sql.to_sql(case.query, case.tables, "nested" if case.style == "frame" else case.style)


def described(case: Case) -> str:
    rows = "\n".join(f"{name}({data.ddl})\n" + "".join(f"  {row}\n" for row in data.rows) for name, data in case.tables.items())
    return f"{rows}{query_text(case)}\n-- style {case.style}, {case.storage} data, {case.reasons} reasons, {case.strategy}"


def rejected(error: Exception) -> str | None:
    """Why a pipeline says nothing of the package."""
    if isinstance(error, Ambiguous):
        return "ambiguous"
    if isinstance(error, SparkFails) or is_sparks_own(error):
        return "that Spark itself fails at"
    # A UDF of the outer row within the subquery; an outer row that is the first of several.
    by_name = ("columns of the outer query", "the outer query has to be computed twice")
    return "refused by name" if isinstance(error, UnsupportedOperator) and any(text in str(error) for text in by_name) else None


@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", blocks(5, at_once=5))
def test_random_pipelines(block: int, lineage: Lineage, spark: SparkSession) -> None:
    with told("test_fuzz", block, FURTHER + (" in files" if DATA else "")) as counted:

        @drawn(block, at_once=5)
        @given(case=cases(further=FURTHER == "all"))
        def hold(case: Case) -> None:
            note(described(case))
            with counted.one(rejected, query_text(case)):
                check(case, lineage, spark)

        hold()


@pytest.mark.parametrize("name", sampled(EXAMPLES, one_in=11))
def test_every_operator(name: str, lineage: Lineage, spark: SparkSession) -> None:
    """The random sample misses some operators: each once, written and run in turn in every way."""
    turn = list(EXAMPLES).index(name)
    case = Case(tables=TABLES, query=EXAMPLES[name], style=STYLES[turn % len(STYLES)], strategy=STRATEGIES[turn % len(STRATEGIES)])
    if name == "a correlated subquery with UDFs":
        with pytest.raises(UnsupportedOperator, match="columns of the outer query"):
            check(case, lineage, spark)
        return
    check(case, lineage, spark)


def test_what_spark_itself_gets_wrong_is_no_case(lineage: Lineage, spark: SparkSession) -> None:
    """A scalar subquery above the first row of an order: Spark 4.3 takes any row for the first. Where it does not, this can go."""
    rows = tuple((100 + at, 30 - at) for at in range(30))
    counted = q.Call(function="count", argument=None, distinct=False, more=(), where=None)
    keys = q.Project(child=q.Table(name="t0"), items=(q.Col(at=1),))
    query = q.Lookup(
        left=q.TopK(child=keys, count=1, skip=0, descending=frozenset()), right=keys, keys=((q.Col(at=0), q.Col(at=0)),), calls=(counted,),
        value=q.Col(at=0), comparison="=",
    )  # fmt: skip
    tables = {"t0": q.Data(columns=(("rid", "int"), ("k", "int")), rows=rows)}
    with pytest.raises(SparkFails):
        check(Case(tables=tables, query=query, style="nested", strategy="rerun"), lineage, spark)


@pytest.mark.parametrize("name", sampled(REGRESSIONS, one_in=3))
def test_regressions(name: str, lineage: Lineage, spark: SparkSession) -> None:
    check(REGRESSIONS[name], lineage, spark)
