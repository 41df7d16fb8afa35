"""Averages that no order of rows changes, by what is known of the sources: what is marked, and at which bound."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.digest import plan_digest
from airflow_lineage_provider.plan.magnitudes import SourceMagnitudes
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.determinism import is_repeatable
from airflow_lineage_provider.rewrite.exact_averages import exact_averages, leaves_to_know
from airflow_lineage_provider.rewrite.pipeline import rewrite

SHOP, N, X = (
    e.Attribute(id=at, name=name, type=kind) for at, (name, kind) in enumerate((("shop", "int"), ("n", "bigint"), ("x", "double")))
)
SALES = o.Source(relation=Relation(name="sales", kind="files", format="parquet"), output=(SHOP, N, X), columns=("shop", "n", "x"), leaf=0)
OTHER = e.Attribute(id=5, name="id", type="int")
SHOPS = o.Source(relation=Relation(name="shops", kind="files", format="parquet"), output=(OTHER,), columns=("id",), leaf=1)


def averaged(child: o.Plan, value: e.Expression = N, function: str = "avg") -> o.Aggregate:
    """By shop."""
    call = e.AggregateCall(function=function, arguments=(value,), type="double")
    return o.Aggregate(child=child, keys=(SHOP,), columns=(SHOP, e.Alias(child=call, attribute=e.Attribute(id=9, name="a", type="double"))))


def marks(plan: o.Plan, rows: int, most: int, others: int = 1) -> bool:
    """Whether its only call is marked, where the numbers are no larger."""
    known = {0: SourceMagnitudes(rows, {"shop": 5, "n": most}), 1: SourceMagnitudes(others, {"id": 5})}
    (found,) = (node for node in operators(exact_averages(plan, known)) if isinstance(node, o.Aggregate))
    (column,) = (one for one in found.columns if isinstance(one, e.Alias))
    assert isinstance(column.child, e.AggregateCall)
    assert is_repeatable(found) is column.child.exact
    return column.child.exact


JOINED = o.Join(left=SALES, right=SHOPS, kind="inner", condition=e.Call(function="=", arguments=(SHOP, OTHER), type="boolean"))
TIMES_TEN = e.Call(function="*", arguments=(N, e.Literal(value="10", type="bigint")), type="bigint")


@pytest.mark.parametrize(
    ("plan", "rows", "most", "exact"),
    [
        (averaged(SALES), 1_000, 2**53 // 1_000, True),
        (averaged(SALES), 1_000, 2**53 // 1_000 + 1, False),
        (averaged(SALES, function="try_avg"), 2**20, 2**33, True),
        (averaged(SALES, function="stddev"), 10, 10, False),
        (averaged(SALES, X), 10, 10, False),
        (averaged(SALES, e.Cast(child=N, type="double"), "sum"), 1_000, 1_000_000, True),
        (averaged(SALES, e.Cast(child=N, type="float")), 1_000, 2**24, True),
        (averaged(SALES, e.Cast(child=N, type="float")), 1_000, 2**24 + 1, False),
        (averaged(SALES, TIMES_TEN), 1_000, 2**53 // 10_000, True),
        (averaged(SALES, TIMES_TEN), 1_000, 2**53 // 10_000 + 1, False),
        (averaged(JOINED), 1_000, 2**53 // 7_000, True),
        (averaged(JOINED), 1_000, 2**53 // 7_000 + 1, False),
        (averaged(o.Generate(child=SALES, generator=e.Call(function="explode", arguments=(N,), type="int"), generated=())), 10, 10, False),
    ],
)  # fmt: skip
def test_what_is_marked(plan: o.Plan, rows: int, most: int, exact: bool) -> None:
    assert marks(plan, rows, most, 7) is exact


def test_nothing_is_marked_of_sources_of_which_nothing_is_known() -> None:
    assert exact_averages(averaged(SALES), {}) == averaged(SALES)
    assert exact_averages(averaged(JOINED), {0: SourceMagnitudes(10, {"n": 10})}) == averaged(JOINED)
    assert exact_averages(averaged(SALES), {0: SourceMagnitudes(10)}) == averaged(SALES)


def test_sources_are_looked_at_where_it_matters_alone() -> None:
    assert leaves_to_know(averaged(JOINED)) == {0, 1}
    assert leaves_to_know(averaged(JOINED, X)) == frozenset()
    assert leaves_to_know(averaged(JOINED, function="max")) == frozenset()
    assert leaves_to_know(averaged(JOINED, e.Cast(child=N, type="smallint"))) == frozenset()


def test_a_marked_average_pins_no_segment_and_is_read_again() -> None:
    a = e.Attribute(id=9, name="a", type="double")
    counted = e.Alias(
        child=e.AggregateCall(function="count", arguments=(SHOP,), type="bigint"), attribute=e.Attribute(id=10, name="c", type="bigint")
    )
    above = o.Aggregate(child=averaged(SALES), keys=(a,), columns=(a, counted))
    pipeline = Pipeline(plan=above, names=("a", "c"))
    plain, marked = rewrite(pipeline), rewrite(pipeline, {0: SourceMagnitudes(1_000, {"n": 1_000})})
    assert [one.pinned for one in plain.segments] == [False, True]
    assert not any(one.pinned for one in marked.segments)
    assert codec.from_json(codec.to_json(marked)) == marked
    # A plan without a mark is written as releases without marks have written it.
    assert '"exact"' not in codec.to_json(plain)
    assert plan_digest(plain) != plan_digest(marked)
    assert plan_digest(rewrite(pipeline, {0: SourceMagnitudes(2**50, {"n": 1_000})})) == plan_digest(plain)


def test_no_order_changes_a_sum_at_the_bound() -> None:
    drawn = random.Random(3)
    most = 2**53 // 1_000
    numbers = [float(drawn.choice((most, most - 1, -most))) for _ in range(1_000)]
    numbers[:900] = [float(most)] * 900  # the largest partial sums that there can be
    assert len({sum(drawn.sample(numbers, len(numbers))) for _ in range(20)}) == 1
    assert sum(map(int, numbers)) == sum(numbers)


def test_a_window_over_rows() -> None:
    call = e.WindowFunction(function="avg", arguments=(N,), type="double", frame=e.WHOLE_PARTITION)
    window = o.Window(
        child=SALES, functions=(e.Alias(child=call, attribute=e.Attribute(id=9, name="a", type="double")),), partition=(SHOP,)
    )
    made = exact_averages(window, {0: SourceMagnitudes(1_000, {"n": 1_000})})
    assert isinstance(made, o.Window)
    assert made.functions[0].child == replace(call, exact=True)
    assert (is_repeatable(window), is_repeatable(made)) == (False, True)
