"""Sketches of all rows of a limit above which rows are dropped: of which columns they are safe, and what the rows in its places carry."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.rewrite.unique_names import unique_names
from airflow_lineage_provider.sketches.carried_run import carried_run
from airflow_lineage_provider.sketches.columns import SafeColumn, safe_columns
from airflow_lineage_provider.sketches.ties import lowest_limit, placed_rows, places
from airflow_lineage_provider.tracing.program import rest_of_plan
from tests.in_turn import few
from tests.oracle.row import Ambiguous
from tests.plan.shorthand import Shorthand
from tests.sketches.against import accurate, drawn, partitions
from tests.sketches.carrying import Executed, fragments, tables_of
from tests.sketches.drawn import Drawer
from tests.sketches.planned import NoPlan, planned
from tests.sketches.tied import in_places, lowest

pytest.importorskip("z3")
SAMPLE = few(60, 2)


@pytest.fixture
def short() -> Shorthand:
    return Shorthand()


def judged(plan: o.Plan, column: str) -> SafeColumn:
    found = safe_columns(Pipeline(plan=plan, names=tuple(a.name for a in plan.output)), keys={0: ("k",)})
    return next(one for one in found if one.leaf == 0 and one.column == column)


def first(short: Shorthand, count: int = 3) -> o.Plan:
    return short.limit(short.sort(short.table("T", "k, v"), "v, k"), count)


def test_it_is_of_the_limit_only_where_that_is_needed(short: Shorthand) -> None:
    limit = first(short)
    whole, some = judged(limit, "v"), judged(short.where(limit, "v > 1"), "v")
    assert (whole.safe, whole.at_limit) == (True, False)
    assert (some.safe, some.at_limit, some.ties) == (True, True, False)


def test_an_offset_is_looked_at_with_what_it_skips(short: Shorthand) -> None:
    limit = first(short)
    assert isinstance(limit, o.Limit)
    skipping = o.Limit(child=limit.child, count=3, offset=2)
    found = judged(skipping, "v")
    assert (found.safe, found.at_limit, places(skipping)) == (True, True, 5)
    assert not judged(o.Limit(child=limit.child, count=None, offset=2), "v").safe


def test_of_rows_that_tie_none_is_skipped(short: Shorthand) -> None:
    sort = short.sort(short.table("T", "k, v"), "v")
    assert judged(short.where(short.limit(sort, 3), "k > 1"), "v").ties
    found = judged(o.Limit(child=sort, count=3, offset=2), "v")
    assert not found.safe


def random_of(short: Shorthand, limit: o.Plan) -> o.Plan:
    call = e.Call(function="rand", arguments=(), type="double")
    half = e.Literal(value="0.5", type="double")
    return o.Filter(child=limit, condition=e.Call(function="<", arguments=(call, half), type="boolean"))


ABOVE: dict[str, Callable[[Shorthand, o.Plan], o.Plan]] = {
    "a random selection": random_of,
    "another limit": lambda short, limit: short.limit(short.sort(limit, "k"), 2),
    "a limit without an order": lambda short, limit: short.limit(limit, 2),
}


@pytest.mark.parametrize("name", ABOVE)
def test_what_is_above_must_make_the_same_of_the_same_rows(short: Shorthand, name: str) -> None:
    assert not judged(ABOVE[name](short, short.where(first(short), "v > 1")), "v").safe


def test_rounded_sums_below_are_not_the_same(short: Shorthand) -> None:
    """They are, of rows that are all in the result; above the limit they may be compared."""
    grouped = short.group(short.table("T", "k, v"), by="k", give="k, sum(v) AS s")
    (key, column) = grouped.columns
    assert isinstance(key, e.Attribute)
    assert isinstance(column, e.Alias)
    whole = short.where(short.limit(short.sort(grouped, "k"), 3), "s > 1")
    assert judged(whole, "k").at_limit
    made = e.Attribute(id=column.attribute.id, name="s", type="double")
    call = e.AggregateCall(function="sum", arguments=(e.Cast(child=grouped.child.output[1], type="double"),), type="double")
    rounded = o.Aggregate(child=grouped.child, keys=grouped.keys, columns=(key, e.Alias(child=call, attribute=made)))
    limit = o.Limit(child=o.Sort(child=rounded, order=(e.SortKey(child=key),)), count=3)
    five = e.Literal(value="5", type="double")
    dropping = o.Filter(child=limit, condition=e.Call(function="<", arguments=(made, five), type="boolean"))
    assert not judged(dropping, "k").safe


def test_a_source_that_is_read_beside_the_limit_has_none(short: Shorthand) -> None:
    table = short.table("T", "k, v")
    limit = short.limit(short.sort(table, "v, k"), 3)
    assert lowest_limit(short.where(limit, "v > 1"), 0) is limit
    assert lowest_limit(o.Union(children=(limit, table), output=table.output), 0) is None
    assert lowest_limit(short.limit(table, 3), 0) is None


def test_the_rows_in_a_limits_places_carry_what_stands_behind_them() -> None:
    """With all that tie with the last of them, in DuckDB and by the oracle."""
    checks, of_ties = 0, 0
    for seed in range(SAMPLE):
        random = Random(seed)
        node, given = drawn(random, random.choice((1, 2, 2, 3)), query=Drawer.some_of_first)
        for leaves in given[:2]:
            try:
                plan = planned(node, leaves)
                names = tuple(f"c{at}" for at in range(len(plan.output)))
                whole = rest_of_plan(rewrite(Pipeline(plan=plan, names=names)), frozenset())
            except (NoPlan, LineageError):
                continue
            for name, data in leaves.items():
                leaf = int(name.split("@")[1])
                limit = lowest_limit(whole, leaf)
                if limit is None:
                    continue
                column = random.choice(("rid", "k", "v", "s"))
                partition = random.choice(list(partitions(random, data, column)))
                run = carried_run((), unique_names(placed_rows(limit)), {leaf: column}, {leaf: partition.count})
                if not run.marks.get(leaf):
                    continue
                try:
                    rows, tied = in_places(lowest(node, leaf), leaves)
                except Ambiguous:
                    continue
                numbered = {leaf: (column, partition)} if leaf in run.numbered else {}
                made = Executed((), run.rest, tables_of(leaves, numbered)).rows()
                if made.num_rows != len(rows):
                    continue  # DuckDB means something else
                checks, of_ties = checks + 1, of_ties + tied
                assert fragments(run, leaf, made, partition) == accurate(rows, name, data, column, partition), (node, leaves)
    print(checks, of_ties)
    assert checks > SAMPLE / 2
    assert of_ties > 0
