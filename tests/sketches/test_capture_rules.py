"""What rows carry of a source, operator by operator, and what is not carried: each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.fresh import FreshAttributes
from airflow_lineage_provider.sketches.capture import _carry, carry
from airflow_lineage_provider.sketches.carried_run import carried_run
from airflow_lineage_provider.sketches.marks import FRAGMENT, CannotCarry, Carried, Carrying, Many, NumberLost, One
from tests.plan.shorthand import Shorthand


@pytest.fixture
def short() -> Shorthand:
    return Shorthand()


def carried(plan: o.Plan, columns: Mapping[int, str], *, grouped: bool = False, ordered: bool = False, count: int = 10_000) -> Carried:
    counts = dict.fromkeys(columns, count)
    how = Carrying(columns=columns, counts=counts, fresh=FreshAttributes(plan), grouped=grouped)
    return carry(plan, how, ordered=ordered)


def told(found: Carried) -> list[tuple[int, str]]:
    """What is carried of each leaf: the column that tells it, or a number, or how sets are made."""
    return [(one.leaf, one.union if isinstance(one, Many) else ", ".join(a.name for a in one.values) or "a number") for one in found.marks]


def test_every_operator_has_a_rule(short: Shorthand) -> None:
    assert set(o.OPERATOR_CLASSES) <= set(_carry.registry)


def pairs(short: Shorthand, kind: o.JoinKind = "inner") -> o.Join:
    return short.join(short.table("T", "k, v"), short.table("S", "s, w"), "k = s", kind)


def test_a_row_carries_its_own_column(short: Shorthand) -> None:
    plan = short.limit(short.sort(short.project(short.where(short.table("T", "k, v"), "v > 1"), "v AS x"), "x"), 3)
    found = carried(plan, {0: "k"})
    assert told(found) == [(0, "k")]
    assert [a.name for a in found.plan.output][:2] == ["x", "k"]


def test_a_group_carries_its_key_or_a_set(short: Shorthand) -> None:
    """The key is one by the equality of the join, too; below a limit sets are made of bits, as long as there are few fragments."""
    grouped = short.group(pairs(short), by="s", give="s, count(v) AS n")
    assert told(carried(grouped, {0: "k", 1: "s"})) == [(0, "s"), (1, "s")]
    assert told(carried(grouped, {0: "v", 1: "w"})) == [(0, "set"), (1, "set")]
    assert told(carried(grouped, {0: "v", 1: "w"}, count=256)) == [(0, "words"), (1, "words")]
    assert told(carried(grouped, {0: "v", 1: "w"}, count=257)) == [(0, "set"), (1, "set")]
    everything = short.group(pairs(short), give="count(v) AS n")
    assert told(carried(everything, {2: "v"}, count=8)) == [(2, "set")], "it has one group"
    limited = short.limit(short.sort(grouped, "n"), 2)
    assert told(carried(limited, {0: "v", 1: "s"}, count=1024)) == [(0, "words"), (1, "s")]
    with pytest.raises(CannotCarry, match="1,025 are too many to be united in the same order"):
        carried(limited, {0: "v"}, count=1025)


def test_a_limit_that_orders_by_the_groups_takes_the_same_of_them(short: Shorthand) -> None:
    """In whatever order they come; not one that orders by some of their keys."""
    grouped = short.group(pairs(short), by="s, w", give="s, w, count(v) AS n")
    renamed = short.project(grouped, "n, w AS x, s")
    for order, union in (("n, s, x", "set"), ("x, s", "set"), ("n, s", "words")):
        plan = short.limit(short.sort(renamed, order), 2)
        assert told(carried(plan, {0: "v"}, count=1024)) == [(0, union)]
    with pytest.raises(CannotCarry, match="are too many to be united in the same order"):
        carried(short.limit(short.limit(short.sort(renamed, "n, s, x"), 3), 2), {0: "v"})


def test_a_key_tells_nothing_where_its_rows_may_be_missing(short: Shorthand) -> None:
    """Of a left row without a partner the right side's key is NULL, and no row of the right source stands behind it."""
    joined = pairs(short, "left")
    assert told(carried(joined, {0: "k", 1: "s"})) == [(0, "k"), (1, "a number")]
    grouped = short.group(joined, by="s", give="s")
    assert told(carried(grouped, {0: "k", 1: "s"})) == [(0, "set"), (1, "set")]


def test_the_order_of_groups_is_not_changed_where_something_hangs_on_it(short: Shorthand) -> None:
    grouped = short.group(short.table("T", "k, v"), by="v", give="v, count(k) AS n")
    assert told(carried(grouped, {0: "k"})) == [(0, "set")]
    assert told(carried(grouped, {0: "k"}, ordered=True, count=9)) == [(0, "words")]
    rounded = replace(
        grouped,
        columns=(grouped.columns[0], e.Alias(child=_sum_of_doubles(grouped), attribute=e.Attribute(id=99, name="s", type="double"))),
    )
    assert told(carried(rounded, {0: "k"}, count=9)) == [(0, "words")]


def test_functions_of_different_values_stay_alone_where_order_matters(short: Shorthand) -> None:
    grouped = short.group(short.table("T", "k, v"), by="v", give="v, count(k) AS n")
    call = e.AggregateCall(function="count", arguments=(grouped.child.output[0],), type="bigint", distinct=True)
    apart = replace(grouped, columns=(grouped.columns[0], e.Alias(child=call, attribute=e.Attribute(id=99, name="s", type="bigint"))))
    assert told(carried(apart, {0: "k"})) == [(0, "set")]
    with pytest.raises(CannotCarry, match="functions of different values"):
        carried(apart, {0: "k"}, ordered=True)
    (late,) = carried(apart, {0: "v"}, ordered=True).marks
    assert isinstance(late, One)
    assert (late.values, late.number) == ((grouped.keys[0],), None)


def _sum_of_doubles(node: o.Aggregate) -> e.AggregateCall:
    return e.AggregateCall(function="sum", arguments=(e.Cast(child=node.child.output[0], type="double"),), type="double")


def test_a_semi_join_carries_what_its_partners_are_found_by(short: Shorthand) -> None:
    semi = pairs(short, "left_semi")
    assert told(carried(semi, {1: "s"})) == [(1, "k")]
    found = carried(semi, {1: "w"})
    assert told(found) == [(1, "set")]
    assert [a.name for a in found.plan.output][:2] == ["k", "v"]
    with pytest.raises(CannotCarry, match="could change the order of rows"):
        carried(semi, {1: "w"}, ordered=True)
    other = replace(semi, condition=e.Call(function="<", arguments=(semi.left.output[0], semi.right.output[0]), type="boolean"))
    with pytest.raises(CannotCarry, match="found by more than that columns are equal"):
        carried(other, {1: "s"})


def test_a_number_that_a_column_told_is_looked_for_again(short: Shorthand) -> None:
    """A group over a semi-join wants numbers: the partners are grouped, and theirs come along."""
    plan = short.group(pairs(short, "left_semi"), by="v", give="v, count(k) AS n")
    with pytest.raises(NumberLost):
        carried(plan, {1: "s"})
    assert told(carried(plan, {1: "s"}, grouped=True)) == [(1, "set")]
    assert not carried_run((), plan, {1: "s"}, {}).refused


def test_what_is_not_carried_leaves_the_others(short: Shorthand) -> None:
    windowed = short.window(short.table("T", "k, v"), "max(v) AS most", "v")
    plan = short.join(windowed, short.table("S", "s, w"), "k = s")
    run = carried_run((), plan, {0: "k", 1: "s"}, {})
    assert run.refused[0].startswith("a window's frames have rows of several fragments")
    assert {leaf: [type(one) for one in marks] for leaf, marks in run.marks.items()} == {1: [One]}
    assert not carried_run((), plan, {0: "v"}, {}).refused


def test_a_column_that_tells_needs_no_number(short: Shorthand) -> None:
    """What nothing reads is left out again: the sources have no numbers then."""
    grouped = short.group(pairs(short), by="s", give="s, count(v) AS n")
    late, united = carried_run((), grouped, {0: "k"}, {}), carried_run((), grouped, {0: "v"}, {})
    assert (late.numbered, united.numbered) == (frozenset(), frozenset({0}))
    for one, there in ((late, False), (united, True)):
        assert one.rest is not None
        assert any(isinstance(node, o.Source) and FRAGMENT in node.columns for node in operators(one.rest)) is there


def test_a_table_with_a_column_of_that_name(short: Shorthand) -> None:
    with pytest.raises(CannotCarry, match=f"the table has a column {FRAGMENT} of its own"):
        carried(short.table("T", f"k, {FRAGMENT}"), {0: "k"})
