"""Random pipelines: what became of every source row must be what the oracle says, operator by operator.

``make test`` takes a small sample that is always the same; ``make fuzz`` draws new ones.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, note
from pyspark.sql import SparkSession
from rich.console import Console

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.why_not import Fate as Told
from airflow_lineage_provider.answers.why_not import WhyNot
from airflow_lineage_provider.errors import EmptyTarget
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.store import Store
from tests.oracle import query as q
from tests.oracle import udfs
from tests.oracle.case_views import views
from tests.oracle.check import _keys, _pipeline
from tests.oracle.drawing import blocks, drawn, told
from tests.oracle.fates import Fate, fates, leaves
from tests.oracle.row import Ambiguous
from tests.oracle.strategies import Case, cases
from tests.oracle.test_fuzz import described, query_text

pytestmark = pytest.mark.spark

STRATEGY: Any = os.environ.get("FUZZ_STRATEGY", "function_materialization")

# What drops a row for the oracle's operator. A UDF over both sides of a join is a selection above it.
REASONS: dict[type, set[str]] = {
    q.Filter: {"selection"},
    q.Join: {"join", "selection"},
    q.Using: {"join", "selection"},
    q.TopK: {"limit"},
    q.Explode: {"generator"},
    # A condition of an EXISTS that reads the right side alone, or constants, is a selection of its rows.
    q.Semi: {"semi_join", "difference", "difference_side", "selection"},
    q.In: {"semi_join", "difference", "difference_side"},
    q.SetOp: {"semi_join", "difference", "difference_side", "selection", "join"},
    # The right rows of a left join without a left row; a condition on constants alone is a selection of the right rows.
    q.Lookup: {"join", "selection"},
    q.Scalar: {"join"},
}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", blocks(2, at_once=2))
def test_random_pipelines(block: int, lineage: Lineage, spark: SparkSession) -> None:
    with told("test_why_not", block, STRATEGY) as counted:

        @drawn(block, at_once=2)
        @given(case=cases(depth=3, further=True))
        def hold(case: Case) -> None:
            note(described(case))
            with counted.one(lambda error: "ambiguous" if isinstance(error, Ambiguous) else None, query_text(case)):
                _check_fates(case, lineage, spark)

        hold()


def _check_fates(case: Case, lineage: Lineage, spark: SparkSession) -> None:
    expected = fates(case.query, case.tables)
    with views(case, spark):
        for udf in udfs.REASONED:
            udf.register(spark)
        run = lineage.run(_pipeline(case), name="why not", keys=_keys(case), strategy=STRATEGY)
        run.close()
        try:
            _check(case, lineage.get_run(run.id), expected)
        finally:
            lineage.drop(run.id)


def _check(case: Case, run: Run, expected: list[dict[int, Fate]]) -> None:
    """The places where the plan reads tables need not be in the query's order: then those of one table are compared as a whole."""
    told = dict(sorted(_told(case, run).items()))
    names = leaves(case.query)
    given_names = [name for name, _ in told.values()]
    if case.style == "merged" and len(given_names) > len(names):
        # One SELECT says EXISTS and IN again wherever their column is read, and reads their tables again.
        assert any(isinstance(one, q.Semi | q.In) and "flag" in one.kind for one in q.nodes(case.query))
        return
    assert sorted(given_names) == sorted(names)
    if given_names == names:
        for right, (_, given_fates) in zip(expected, told.values(), strict=True):
            assert _counts(given_fates) == {rid: one.descendants for rid, one in right.items()}
            for rid, fate in given_fates.items():
                _check_drop(fate, right[rid].dropped_by)
        return
    for name in set(names):
        wanted = Counter(
            _frozen({rid: one.descendants for rid, one in right.items()}) for right, n in zip(expected, names, strict=True) if n == name
        )
        assert Counter(_frozen(_counts(some)) for n, some in told.values() if n == name) == wanted


def _told(case: Case, run: Run) -> dict[int, tuple[str, dict[int, Told]]]:
    """By leaf: the oracle's table, and the fate of each rid."""
    told: dict[int, tuple[str, dict[int, Told]]] = {}
    for name, sources in tables_of(run.plan).items():
        base = next(n for n in sorted(case.tables, key=len, reverse=True) if name == n or name.startswith(f"{n}_"))
        try:
            found = run.why_not("true", table=name)
        except EmptyTarget:
            assert not case.tables[base].rows
            told |= {one.source.leaf: (base, {}) for one in sources}
            continue
        _check_answer(case, base, found)
        rids = found.rows.column("rid").to_pylist()
        for fate in found.fates:
            told.setdefault(fate.leaf, (base, {}))[1][rids[fate.row]] = fate
    return told


def _check_answer(case: Case, table: str, found: WhyNot) -> None:
    assert found.stale == ()
    assert found.guarantee.level == "exact" or "computed again, and" in found.guarantee.cause, found.guarantee
    assert sorted(found.rows.column("rid").to_pylist()) == sorted(row[case.tables[table].rid] for row in case.tables[table].rows)
    found.show(Console(file=io.StringIO(), width=120))
    assert found.to_dict()["fates"]
    for fate in found.fates:
        counts = [step.descendants for step in fate.path]
        assert counts[0] == 1
        lost = next((at for at, number in enumerate(counts) if not number), None)
        assert lost == fate.lost
        assert lost is None or not any(counts[lost:])
        assert (fate.drop is None) == fate.survived


def _counts(some: dict[int, Told]) -> dict[int, int]:
    return {rid: fate.path[-1].descendants for rid, fate in some.items()}


def _frozen(counts: dict[int, int]) -> Any:
    return tuple(sorted(counts.items()))


def _check_drop(fate: Told, dropped_by: q.Node | None) -> None:
    assert (dropped_by is None) == fate.survived
    if fate.drop is not None and dropped_by is not None:
        assert fate.drop.reason in REASONS[type(dropped_by)], f"{fate.drop} is not {type(dropped_by).__name__}"
        if fate.drop.reason not in ("difference_side", "operator"):
            assert fate.drop.rows, fate
        if fate.drop.reason == "selection":
            assert all(any(term.value in ("false", "NULL") for term in row.terms) for row in fate.drop.rows)
        if fate.drop.reason in ("join", "semi_join"):
            assert all(not row.others_count for row in fate.drop.rows)
        if fate.drop.reason == "difference":
            assert all(row.others and row.others_count for row in fate.drop.rows)
