"""What the paper on forward lineage proves (Sec. 3), of the oracle's lineage, which the product's is compared with; and where it ends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.in_turn import EVERY, few
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Rid, Row
from tests.oracle.values import same

SAMPLE = settings(max_examples=600 if EVERY else few(40), derandomize=True, database=None, deadline=None)
COLUMNS = (("rid", "int"), ("k", "int"), ("n", "int"))
NAMES = ("t0", "t1", "t2")
Tables = dict[str, q.Data]


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    """Rows of few values, with NULL and with equal ones."""
    values = st.tuples(st.sampled_from((None, 0, 1)), st.sampled_from((None, 0, 2, 3)))
    found = {name: draw(st.lists(values, max_size=4)) for name in NAMES}
    return {name: q.Data(COLUMNS, tuple((at + 1, *row) for at, row in enumerate(rows))) for name, rows in found.items()}


@st.composite
def trees(draw: st.DrawFn) -> tuple[q.Node, int]:
    """Selections, projections and joins in which each table is read once; and how many columns there are."""

    def condition(width: int) -> q.Expr:
        left, right = q.Col(draw(st.integers(0, width - 1))), q.Col(draw(st.integers(0, width - 1)))
        return q.Op(draw(st.sampled_from(("=", "<>", "<=", "<=>"))), (left, right))

    def narrowed(node: q.Node, width: int) -> tuple[q.Node, int]:
        if draw(st.booleans()):
            node = q.Filter(node, condition(width))
        if draw(st.booleans()):
            kept = draw(st.lists(st.integers(0, width - 1), min_size=1, max_size=width))
            node, width = q.Project(node, tuple(q.Col(at) for at in kept)), len(kept)
        return node, width

    made, width = narrowed(q.Table("t0"), 3)
    for name in NAMES[1 : draw(st.integers(1, 3))]:
        other, more = narrowed(q.Table(name), 3)
        on = condition(width + more) if draw(st.booleans()) else None
        made, width = narrowed(q.Join("inner" if on else "cross", made, other, on), width + more)
    return made, width


@st.composite
def groups(draw: st.DrawFn) -> q.Node:
    """Groups of the rows of such a tree, by columns, and conditions on the groups."""
    below, width = draw(trees())
    keys = tuple(q.Col(at) for at in draw(st.lists(st.integers(0, width - 1), max_size=2)))
    of = q.Col(draw(st.integers(0, width - 1)))
    calls = (q.Call("count"), q.Call(draw(st.sampled_from(("sum", "min", "max", "count"))), of))
    made = q.Aggregate(below, keys, calls)
    return q.Filter(made, q.Op("<", (q.Col(len(keys)), q.Lit(3, "int")))) if draw(st.booleans()) else made


def cut(given_tables: Tables, lineage: frozenset[Rid]) -> Tables:
    """The tables with these rows alone."""
    return {name: q.Data(one.columns, tuple(row for row in one.rows if (name, row[0]) in lineage)) for name, one in given_tables.items()}


def values(rows: list[Row]) -> list[tuple[object, ...]]:
    return [tuple(map(same, row.values)) for row in rows]


def proper_subsets(lineage: frozenset[Rid]) -> Iterator[frozenset[Rid]]:
    for size in range(len(lineage)):
        yield from map(frozenset, combinations(sorted(lineage), size))


@SAMPLE
@given(made=trees(), given_tables=tables())
def test_completeness_and_minimality(made: tuple[q.Node, int], given_tables: Tables) -> None:
    """Theorems 1 and 2: over its lineage the query gives the row and nothing else, over any less of it nothing."""
    query, _ = made
    for row in evaluate.rows(query, given_tables):
        assert values(evaluate.rows(query, cut(given_tables, row.lineage))) == values([row])
        for less in proper_subsets(row.lineage):
            assert not evaluate.rows(query, cut(given_tables, less))


@SAMPLE
@given(query=groups(), given_tables=tables())
def test_completeness_of_groups(query: q.Node, given_tables: Tables) -> None:
    """Theorem 5. (A group has more rows than it needs: theorem 2 does not hold.)"""
    for row in evaluate.rows(query, given_tables):
        assert values(evaluate.rows(query, cut(given_tables, row.lineage))) == values([row])


FEW: Tables = {
    "t0": q.Data(COLUMNS, ((1, 0, 2), (2, 1, 3), (3, 1, 0))),
    "t1": q.Data(COLUMNS, ((1, 1, 2), (2, 2, 3))),
}
PAIRS = q.Join("cross", q.Table("t0"), q.Table("t0"))


def test_a_table_that_is_read_twice_gives_more() -> None:
    """Over the two rows of a pair a self-join gives four: neither theorem is of such queries. The row is among them."""
    (row,) = [one for one in evaluate.rows(PAIRS, FEW) if (one.values[0], one.values[3]) == (1, 2)]
    found = values(evaluate.rows(PAIRS, cut(FEW, row.lineage)))
    assert (len(found), values([row])[0] in found) == (4, True)
    (alone,) = [one for one in evaluate.rows(PAIRS, FEW) if (one.values[0], one.values[3]) == (1, 1)]
    assert values(evaluate.rows(PAIRS, cut(FEW, alone.lineage))) == values([alone])


def test_groups_by_what_both_sides_make_give_more() -> None:
    """Theorem 5 is of groups by columns: k + k is 2 for (0, 2) and (1, 1), and of the rows of both (0, 1) and (1, 2) are pairs, too."""
    both = q.Project(q.Join("cross", q.Table("t0"), q.Table("t1")), (q.Op("+", (q.Col(1), q.Col(4))),))
    query = q.Aggregate(both, (q.Col(0),), (q.Call("count"),))
    (row,) = [one for one in evaluate.rows(query, FEW) if one.values[0] == 2]
    found = values(evaluate.rows(query, cut(FEW, row.lineage)))
    assert values([row])[0] in found
    assert len(found) == 3


def test_equivalent_queries_need_not_have_the_same_lineage() -> None:
    """Theorem 3 is of selections, projections and joins: a sum is the same without the zeros, and these are in its lineage."""
    every, (key, total) = q.Table("t0"), (q.Col(1), q.Call("sum", q.Col(2)))
    some = q.Filter(every, q.Op("<>", (q.Col(2), q.Lit(0, "int"))))
    first, second = (evaluate.rows(q.Aggregate(rows, (key,), (total,)), FEW) for rows in (every, some))
    assert values(first) == values(second)
    assert [one.lineage - other.lineage for one, other in zip(first, second, strict=True)] == [frozenset(), {("t0", 3)}]
