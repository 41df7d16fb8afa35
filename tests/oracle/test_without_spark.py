"""Random pipelines over Parquet files, explained without a session: what is answered must be what the oracle says, and the rest named.

``make test`` takes a small sample that is always the same; ``FUZZ_EXAMPLES`` draws new ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, note
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import SparkRequired
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.words import Strategy
from tests.oracle import evaluate
from tests.oracle.case_views import views
from tests.oracle.check import _check_explanation, _pipeline, check_values_over_views
from tests.oracle.drawing import LONG, blocks, drawn, told
from tests.oracle.schema import names as names_of
from tests.oracle.strategies import Case, cases
from tests.oracle.test_fuzz import described, query_text, rejected
from tests.oracle.values import same

pytestmark = pytest.mark.spark

_FM: Strategy = "function_materialization"


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", blocks(8, at_once=8))
def test_random_pipelines(block: int, lineage: Lineage, spark: SparkSession, store: Store) -> None:
    answered: Counter[str] = Counter()
    with told("test_without_spark", block) as counted:
        # With the paper's operators alone: most others take Spark.
        @drawn(block, at_once=12)
        @given(case=cases(depth=4, further=False, storages=("parquet",)))
        def hold(case: Case) -> None:
            # A run that stores nothing is made again, by Spark.
            case = replace(case, strategy="full_materialization" if case.strategy in ("full_materialization", "rerun") else _FM)
            note(described(case))
            with counted.one(rejected, query_text(case)):
                engines = _engines(case, lineage, spark, store)
                answered.update({*engines, case.strategy} if engines else ())

        hold()
    assert LONG or (answered["duckdb"] and answered["full_materialization"]), answered


def _engines(case: Case, lineage: Lineage, spark: SparkSession, store: Store) -> set[str]:
    """The engines that answered, if what they answered is right; none where it takes Spark, which it never does under Full.

    :raises AssertionError: source lineage, links, reasons or guarantees are not what they should be, or Full takes Spark.
    """
    expected = evaluate.rows(case.query, case.tables)
    with views(case, spark):
        check_values_over_views(case, spark, expected)
        run = lineage.run(_pipeline(case), name="fuzz", strategy=case.strategy, reasons=case.reasons)
        run.close()
        try:
            if not expected:
                return set()
            chosen = expected[case.target % len(expected)]
            alike = [row for row in expected if tuple(map(same, row.values)) == tuple(map(same, chosen.values))]
            target = [dict(zip(names_of(case.query, case.tables), chosen.values, strict=True))]
            found = Lineage(store=store).get_run(run.id).explain(target, save=False, max_rows=200)
            _check_explanation(case, found, alike)
            used = {query.engine for query in found.queries}
            assert "spark" not in used
            return used
        except SparkRequired as problem:
            if case.strategy != _FM:
                raise AssertionError(f"Full takes Spark: {problem}") from problem
            return {"none"}
        finally:
            lineage.drop(run.id)
