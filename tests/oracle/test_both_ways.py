"""Random pipelines: lineage backward and forward are one relation, and it is the oracle's.

``make test`` takes a small sample that is always the same; ``make fuzz`` draws new ones, a tenth of its pipelines: one asked in both
directions, of every table and every stored segment, costs as much as ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note
from pyspark.sql import SparkSession

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.answers.lineage_rows import LineageRows
from airflow_lineage_provider.deriving.derivation import Derivation, derivation
from airflow_lineage_provider.deriving.derive import chosen_target, row_set_of
from airflow_lineage_provider.deriving.known_runs import KnownRuns
from airflow_lineage_provider.deriving.why_not.found_rows import found_rows
from airflow_lineage_provider.deriving.why_not.question import asked_of
from airflow_lineage_provider.errors import EmptyTarget
from airflow_lineage_provider.plan.expressions import TRUE
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import tables_of
from airflow_lineage_provider.secrecy import Secrets
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.tracing.key_index import key_tuples
from airflow_lineage_provider.tracing.maps import RESULT, LineageMap, Rows, RowSet, numbered_rows, tagged_rows
from airflow_lineage_provider.words import Subqueries
from tests.oracle import evaluate, udfs
from tests.oracle.case_views import views
from tests.oracle.check import MOST_TARGETS, _keys, _pipeline, check_values_over_views
from tests.oracle.drawing import blocks, drawn, told
from tests.oracle.row import Row
from tests.oracle.strategies import Case, cases
from tests.oracle.subqueries import data_lineage
from tests.oracle.test_fuzz import described, query_text, rejected
from tests.oracle.values import same

pytestmark = pytest.mark.spark

Pair = tuple[int, Any]
"""The number of an output's row, and the lineage key of a source row behind it."""


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, store: Store) -> Lineage:
    return Lineage(spark, store=store)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", blocks(2, at_once=2, share=10))
def test_random_pipelines(block: int, lineage: Lineage, spark: SparkSession) -> None:
    with told("test_both_ways", block) as counted:

        @drawn(block, at_once=2)
        @given(case=cases(depth=3, further=True))
        def hold(case: Case) -> None:
            note(described(case))
            with counted.one(rejected, query_text(case)):
                _check_case(case, lineage, spark)

        hold()


def _check_case(case: Case, lineage: Lineage, spark: SparkSession) -> None:
    expected = evaluate.rows(case.query, case.tables)
    if len(expected) > MOST_TARGETS:
        return
    with views(case, spark):
        check_values_over_views(case, spark, expected)
        for udf in udfs.REASONED:
            udf.register(spark)
        run = lineage.run(_pipeline(case), name="both ways", keys=_keys(case), strategy=case.strategy)
        run.close()
        try:
            _check(case, lineage.get_run(run.id), expected)
            if 0 in run.plan.materialized:
                lineage.get_run(run.id).capture()
                _check_captured(case, lineage.get_run(run.id), expected)
            if run.plan.plan.has_subqueries:
                with data_lineage():
                    _check(case, lineage.get_run(run.id), evaluate.rows(case.query, case.tables), "data")
        finally:
            lineage.drop(run.id)


def _check_captured(case: Case, run: Run, expected: list[Row]) -> None:
    """The same of indexes: they answer, and nobody else."""
    _check(case, run, expected)
    found = [*run.backward("true", max_rows=MOST_TARGETS).values()] if expected else []
    found += [run.forward("true", name) for name in tables_of(run.plan) if case.tables[_base(case, name)].rows]
    assert [one.engine for one in found if not one.engine.startswith("index: ")] == []


def _check(case: Case, run: Run, expected: list[Row], subqueries: Subqueries = "partners") -> None:
    if not expected:
        with pytest.raises(EmptyTarget):
            run.backward("true", subqueries=subqueries)
    else:
        _check_backward(case, run.backward("true", max_rows=MOST_TARGETS, subqueries=subqueries), expected)
    read = [name for name in tables_of(run.plan) if case.tables[_base(case, name)].rows]
    for name in read:
        _check_forward(case, name, run.forward("true", name, subqueries=subqueries), expected, read)
    if expected and read:
        # What all rows of a subquery are behind, no oracle says: it hangs on what of a condition stands in it. But both ways are one.
        for one in (subqueries, "rows") if subqueries == "data" else (subqueries,):
            _check_maps(run, read, one)


def _base(case: Case, name: str) -> str:
    return next(n for n in sorted(case.tables, key=len, reverse=True) if name == n or name.startswith(f"{n}_"))


def _check_backward(case: Case, found: dict[str, LineageRows], expected: list[Row]) -> None:
    behind: dict[int, set[Any]] = {}
    for name, one in found.items():
        assert one.guarantee.level == "exact", one.guarantee
        rids = one.rows.column("rid").to_pylist()
        for asked, row in _pairs(one):
            behind.setdefault(asked, set()).add((_base(case, name), rids[row]))
        assert {row for _, row in _pairs(one)} == set(range(len(one)))
    given = Counter(frozenset(behind.get(asked, ())) for asked in range(len(expected)))
    assert given == Counter(row.lineage for row in expected)


def _check_forward(case: Case, name: str, found: LineageRows, expected: list[Row], read: Iterable[str]) -> None:
    """Each row of the result, with those of the table's rows that it descends from. (A table that is two has a part of them in each.)"""
    assert found.guarantee.level == "exact" or "computed again, and" in found.guarantee.cause, found.guarantee
    base = _base(case, name)
    if sum(_base(case, other) == base for other in read) > 1:
        return
    rids = _rids_in_key_order(case, base)
    behind: dict[int, set[int]] = {}
    for asked, row in _pairs(found):
        behind.setdefault(row, set()).add(asked)
    assert set(behind) == set(range(len(found)))
    values = list(zip(*(column.to_pylist() for column in found.rows.columns), strict=True))
    given = Counter((tuple(map(same, values[row])), len(some)) for row, some in behind.items())
    own = [(row.values, {rid for table, rid in row.lineage if table == base}) for row in expected]
    assert given == Counter((tuple(map(same, values)), len(some)) for values, some in own if some)
    assert len({asked for asked, _ in _pairs(found)}) == len({rid for _, some in own for rid in some}) <= len(rids)


def _rids_in_key_order(case: Case, base: str) -> list[Any]:
    return [row[case.tables[base].rid] for row in case.tables[base].rows]


def _pairs(found: LineageRows) -> list[tuple[int, int]]:
    return list(zip(found.links.column("asked").to_pylist(), found.links.column("row").to_pylist(), strict=True))


# --- one relation ------------------------------------------------------------------------------------------------------


def _check_maps(run: Run, read: Iterable[str], subqueries: Subqueries) -> None:
    """r stands behind o, asked backward, exactly where o descends from r, asked forward: for the result, and for a stored segment."""
    store = run._lineage.store
    with ExitStack() as stack:
        known = KnownRuns(store, stack.enter_context(store.session()))
        asked = replace(run._asking.asked(lambda _: None, Secrets(), known), subqueries=subqueries)
        made = stack.enter_context(derivation(asked, TRUE))
        result = numbered_rows(RESULT, chosen_target(asked, "true", None, MOST_TARGETS).numbers(made.rows))
        for name in read:
            table = row_set_of(tables_of(run.plan)[name])
            sources = _source_rows(made, name, table)
            _check_inverse(made.lineage.between(RESULT, table), result, sources)
            for number in made.recorded.materialized.keys() & made.recorded.plan.traceable - {0}:
                reached = made.lineage.between(RESULT, RowSet("segment", (number,))).backward(result)
                own = numbered_rows(reached.of, sorted(reached.each_once().column(0).to_pylist()))
                _check_inverse(made.lineage.between(own.of, table), own, sources)


def _source_rows(made: Derivation, name: str, table: RowSet) -> Rows:
    assert made.run.spark is not None
    found = found_rows(asked_of("true", name, made.run.recorded), made.run.spark, 10_000)
    return tagged_rows(table, found.select([column for column in found.column_names if column.startswith("key_")]))


def _check_inverse(one: LineageMap, outputs: Rows, inputs: Rows) -> None:
    numbers = dict(zip(outputs.keys.column(0).to_pylist(), outputs.keys.column(1).to_pylist(), strict=True))
    keys = {key[0]: key[1:] for key in key_tuples(inputs.keys)}
    backward: set[Pair] = {(numbers[tag], tuple(key)) for tag, *key in key_tuples(one.backward(outputs).keys)}
    forward: set[Pair] = {(number, keys[tag]) for tag, number in key_tuples(one.forward(inputs).keys) if number in numbers.values()}
    assert backward == forward, f"only backward {backward - forward}, only forward {forward - backward}"
