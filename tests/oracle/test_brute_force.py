"""The oracle against definitions 5 and 6 by brute force, operator by operator and for tasks of two or three of the paper's operators.

Where the product's lineage is not what definition 5 says, taken literally, a test says what that would be and why it is not wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.in_turn import EVERY, few
from tests.oracle import brute_force, evaluate
from tests.oracle import query as q
from tests.oracle import row as annotated
from tests.oracle.brute_force import is_difference, lineages, of_task
from tests.oracle.further import FurtherMaker
from tests.oracle.row import Row
from tests.oracle.values import same

Tables: TypeAlias = dict[str, q.Data]
L, R = q.Table("t0"), q.Table("t1")
EQUAL = q.Op("=", (q.Col(1), q.Col(4)))

SAMPLE = settings(max_examples=600 if EVERY else few(12), derandomize=True, database=None, deadline=None)


class OfTables(FurtherMaker):
    """One operator over whole tables: the first on the left, the second on the right."""

    sides_left: int = 0

    def leaf(self) -> q.Node:
        self.sides_left += 1
        return (L, R)[(self.sides_left - 1) % 2]

    def node(self, depth: int) -> q.Node:
        return self.leaf()


@st.composite
def tables(draw: st.DrawFn, most: int = 4) -> Tables:
    """Both tables have rows from the same few, so that set operations find equal ones; within a table no row is twice."""

    def table() -> q.Data:
        values = st.sampled_from((None, 0, 1))
        rows = tuple((i + 1, draw(values), draw(st.sampled_from(("a", "b", None)))) for i in range(draw(st.integers(0, most))))
        return q.Data((("rid", "int"), ("k", "int"), ("s", "string")), rows)

    return {"t0": table(), "t1": table()}


def drawn(kind: str) -> Callable[[OfTables], q.Node]:
    def make(maker: OfTables) -> q.Node:
        made: q.Node = getattr(maker, kind)(1)
        return made

    return make


def set_operation(kind: str) -> Callable[[OfTables], q.Node]:
    return lambda maker: q.SetOp(kind, L, R)  # type: ignore[arg-type]


def joined(maker: OfTables) -> q.Node:
    kind = maker.pick(("inner", "cross"))
    return q.Join(kind, L, R, maker.condition(kind, maker.types(L), maker.types(R)) if kind == "inner" else None)  # type: ignore[arg-type]


def met(kind: str) -> Callable[[OfTables], q.Node]:
    return lambda maker: q.Semi(kind, L, R, maker.condition("left", maker.types(L), maker.types(R)))  # type: ignore[arg-type]


def among(kind: str) -> Callable[[OfTables], q.Node]:
    def make(maker: OfTables) -> q.Node:
        return q.In(kind, L, R, tuple(maker.expression(maker.types(L), one, 1) for one in maker.types(R)))  # type: ignore[arg-type]

    return make


def grouped_by_one_set(maker: OfTables) -> q.Node:
    """One set: a row that is in several sets' groups gives several rows, so that no subset gives one alone."""
    keys = tuple(dict.fromkeys(maker.key(maker.types(L)) for _ in maker.some(2, 1)))
    return q.GroupingSets(L, keys, ((0,),), (maker.call(maker.types(L)),))


def exploded(maker: OfTables) -> q.Node:
    """One item: a row that gives several, as with grouping sets, gives none alone."""
    return q.Explode(L, (maker.expression(maker.types(L), "int", 1),), position=True)


HOLDS: dict[str, Callable[[OfTables], q.Node]] = {
    "selection": drawn("filter"),
    "projection, function operator": drawn("project"),
    "join": joined,
    "USING": lambda maker: q.Using("inner", L, R, ((1, 1),), maker.pick((False, True))),
    "semi-join": met("semi"),
    "IN": among("semi"),
    "aggregation": drawn("aggregate"),
    "one grouping set": grouped_by_one_set,
    "distinct": lambda maker: q.Distinct(L),
    "union": lambda maker: q.Union(L, R, all=False),
    "intersect": set_operation("intersect"),
    "explode": exploded,
}


@pytest.mark.parametrize("name", HOLDS)
@SAMPLE
@given(data=st.data(), given_tables=tables())
def test_definition_5(name: str, data: st.DataObject, given_tables: Tables) -> None:
    query = data.draw(operators(HOLDS[name], given_tables))
    for row in united(query, given_tables):
        assert lineages(query, given_tables, row.values) == [places(query, row, given_tables)]


@pytest.mark.parametrize("name", ["NOT EXISTS", "NOT IN", "EXCEPT"])
@SAMPLE
@given(data=st.data(), given_tables=tables())
def test_of_a_difference_definition_5_gives_the_whole_right_side(name: str, data: st.DataObject, given_tables: Tables) -> None:
    """The product says so in one entry, and does not enumerate it."""
    make = {"NOT EXISTS": met("anti"), "NOT IN": among("anti"), "EXCEPT": set_operation("except")}[name]
    query = data.draw(operators(make, given_tables))
    for row in united(query, given_tables):
        ours, theirs = places(query, row, given_tables)
        assert not theirs
        assert [one.sources for one in row.controls] == [{"t1"}]
        assert lineages(query, given_tables, row.values) == [(ours, frozenset(range(len(given_tables["t1"].rows))))]


@st.composite
def operators(draw: st.DrawFn, make: Callable[[OfTables], q.Node], given_tables: Tables) -> q.Node:
    made = make(OfTables(draw, given_tables))
    assume(all(isinstance(child, q.Table) for child in q.children(made)))
    return made


def united(query: q.Node, given_tables: Tables) -> list[Row]:
    """The annotated rows as the paper's sets have them: rows of the same values are one."""
    by_values: dict[object, list[Row]] = {}
    for row in evaluate.rows(query, given_tables):
        by_values.setdefault(tuple(map(same, row.values)), []).append(row)
    return [annotated.united(some[0].values, some) for some in by_values.values()]


def places(query: q.Node, row: Row, given_tables: Tables) -> tuple[frozenset[int], ...]:
    sides = [child.name for child in q.children(query) if isinstance(child, q.Table)]
    return tuple(frozenset(rid - 1 for name, rid in row.lineage if name == side) for side in sides)


# --- where definition 5 is not what is wanted --------------------------------------------------------------------------

FEW: Tables = {
    "t0": q.Data((("rid", "int"), ("k", "int"), ("s", "string")), ((1, 0, "a"), (2, 1, "b"))),
    "t1": q.Data((("rid", "int"), ("k", "int"), ("s", "string")), ((1, 1, "a"), (2, 5, "b"), (3, 1, None))),
}


def answers(query: q.Node) -> list[tuple[Row, list[tuple[frozenset[int], ...]]]]:
    return [(row, lineages(query, FEW, row.values)) for row in united(query, FEW)]


def test_an_outer_joins_row_would_have_every_right_row_that_is_no_partner() -> None:
    """A right row that is no partner does not disturb, and gives something alone (the left row, unmatched): so it would be in.

    In a full join it gives a row of its own, which does disturb.
    """
    (alone, found), *matched = answers(q.Join("left", L, R, EQUAL))
    assert (alone.values[3:], alone.lineage) == ((None,) * 3, {("t0", 1)})
    assert found == [(frozenset({0}), frozenset({0, 1, 2}))]
    assert [(set(row.lineage), places) for row, places in matched] == [
        ({("t0", 2), ("t1", 1)}, [(frozenset({1}), frozenset({0, 1}))]),
        ({("t0", 2), ("t1", 3)}, [(frozenset({1}), frozenset({1, 2}))]),
    ]
    (alone, found), *_ = answers(q.Join("full", L, R, EQUAL))
    assert (alone.lineage, found) == ({("t0", 1)}, [(frozenset({0}), frozenset())])


def test_a_correlated_scalar_subquery_is_a_left_join_and_so_has_its_trouble() -> None:
    counted = q.Lookup(L, R, ((q.Col(1), q.Col(1)),), (q.Call("count"),))
    (zero, found), (two, others) = answers(counted)
    assert (zero.values[-1], zero.lineage, found) == (0, {("t0", 1)}, [(frozenset({0}), frozenset({0, 1, 2}))])
    assert (two.values[-1], two.lineage) == (2, {("t0", 2), ("t1", 1), ("t1", 3)})
    assert others == [(frozenset({1}), frozenset({0, 1, 2}))]


def test_an_existence_flag_would_always_have_the_whole_right_side() -> None:
    """So it has where nothing met it, as a control. A flag that is true is due to the partners."""
    (false, found), (true, others) = answers(q.Semi("flag", L, R, EQUAL))
    assert (false.values[-1], false.lineage, [one.sources for one in false.controls]) == (False, {("t0", 1)}, [{"t1"}])
    assert found == [(frozenset({0}), frozenset({0, 1, 2}))]
    assert (true.values[-1], true.lineage, true.controls) == (True, {("t0", 2), ("t1", 1), ("t1", 3)}, frozenset())
    assert others == [(frozenset({1}), frozenset({0, 1, 2}))]


def test_an_uncorrelated_scalar_subquery_of_one_row_holds() -> None:
    one = {**FEW, "t1": q.Data((("rid", "int"),), ((1,),))}
    for row in evaluate.rows(q.Scalar(L, R), one):
        assert lineages(q.Scalar(L, R), one, row.values) == [(frozenset({row.values[0] - 1}), frozenset({0}))]


def test_a_windows_row_never_comes_alone() -> None:
    """As many rows come out as go in: condition 1 leaves the row itself, and that only where its value needs no other row."""
    rows = answers(q.Window(R, (q.Over("row_number"), q.Over("count")), order=((0, False),)))
    assert [(row.values[-2:], len(row.lineage), found) for row, found in rows] == [
        ((1, 1), 1, [(frozenset({0}),)]),
        ((2, 2), 2, []),
        ((3, 3), 3, []),
    ]


def test_a_limits_row_would_have_all_rows_after_it() -> None:
    """They do not disturb it, and would each be first alone."""
    ((first, found),) = answers(q.TopK(R, 1))
    assert (first.lineage, found) == ({("t1", 1)}, [(frozenset({0, 1, 2}),)])


def test_of_many_rows_of_one_no_row_comes_alone() -> None:
    """Two items of a row, two grouping sets: something else always comes with it, so that definition 5 has no answer."""
    twice = q.Explode(L, (q.Col(1), q.Lit(7, "int")))
    assert all(not found for _, found in answers(twice))
    sets = q.GroupingSets(L, (q.Col(1),), ((0,), ()), (q.Call("count"),))
    assert all(not found for _, found in answers(sets))


# --- definition 6 ------------------------------------------------------------------------------------------------------


class Tasks(FurtherMaker):
    """The paper's operators with its sets: selection, projection, join, aggregation, union, difference, function operator."""

    kinds = ("filter", "paper_projection", "paper_join", "aggregate", "paper_union", "paper_difference", "function_operator")

    def leaf(self) -> q.Node:
        return self.pick((L, R))

    def paper_projection(self, depth: int) -> q.Node:
        return q.Distinct(self.project(depth))

    def paper_join(self, depth: int) -> q.Node:
        left, right = self.node(depth - 1), self.leaf()
        return q.Join("inner", left, right, self.condition("left", self.types(left), self.types(right)))

    def alike(self, depth: int) -> tuple[q.Node, q.Node]:
        both = self.union(depth)
        assert isinstance(both, q.Union)
        return q.Distinct(both.left), q.Distinct(both.right)

    def paper_union(self, depth: int) -> q.Node:
        return q.Union(*self.alike(depth), all=False)

    def paper_difference(self, depth: int) -> q.Node:
        return q.SetOp("except", *self.alike(depth))

    def function_operator(self, depth: int) -> q.Node:
        child = self.node(depth - 1)
        inputs = self.types(child)
        return q.Project(child, (*map(q.Col, range(len(inputs))), self.udf(inputs, self.pick(("string", "int", "bool")), 1)))


MOST_INPUTS = 5


@settings(SAMPLE, max_examples=600 if EVERY else few(40))
@given(data=st.data(), given_tables=tables(3))
def test_definition_6(data: st.DataObject, given_tables: Tables) -> None:
    maker = Tasks(cast("st.DrawFn", data.draw), given_tables)
    task = maker.node(data.draw(st.integers(2, 3)))
    assume(all(len(maker.rows(child)) <= MOST_INPUTS for one in q.nodes(task) for child in q.children(one)))
    for row in united(task, given_tables):
        found = of_task(task, given_tables, row.values)
        assert found == row.lineage
        assert bool(row.controls) <= any(map(is_difference, q.nodes(task)))


def test_brute_force_can_fail() -> None:
    """A row that the operator does not give has no lineage; a subset that is not maximal is not given."""
    query = q.Filter(L, q.Op("=", (q.Col(1), q.Lit(1, "int"))))
    assert lineages(query, FEW, (1, 0, "a")) == []
    grouped = q.Aggregate(R, (q.Col(1),), (q.Call("max", q.Col(1)),))
    assert len(list(brute_force.meeting_both(grouped, FEW, (1, 1)))) == 3
    assert lineages(grouped, FEW, (1, 1)) == [(frozenset({0, 2}),)]
