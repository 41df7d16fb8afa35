"""The oracle itself, by hand: the paper's example, and the rules of the operators that the paper does not have."""

from __future__ import annotations

import pytest

from tests.oracle import evaluate
from tests.oracle import query as q
from tests.oracle.row import Ambiguous

CLIENT = q.Data((("rid", "int"), ("id", "int"), ("income", "int")), ((1, 1, 3), (2, 2, 0), (3, 3, 1)))
LOAN = q.Data((("rid", "int"), ("id", "int"), ("month", "int")), ((11, 1, 12), (12, 2, 12), (13, 3, 12), (14, 3, 11), (15, 9, 12)))
PAPER = {"client": CLIENT, "loan": LOAN}


def december() -> q.Node:
    """φ-π-⋈-σ, as in figure 2 of the paper, with a UDF of the test's: judge by income."""
    joined = q.Join(
        "inner",
        q.Table("client"),
        q.Filter(q.Table("loan"), q.Op("=", (q.Col(2), q.Lit(12, "int")))),
        q.Op("=", (q.Col(1), q.Col(4))),
    )
    return q.Project(joined, (q.Udf("level", (q.Col(2),)),))


def test_the_papers_pipeline() -> None:
    found = evaluate.rows(q.Aggregate(december(), (q.Col(0),), (q.Call("count"),)), PAPER)
    rows = {row.values: row for row in found}
    assert set(rows) == {("high", 1), ("low", 2)}
    assert rows["low", 2].lineage == {("client", 2), ("client", 3), ("loan", 12), ("loan", 13)}
    assert {(one.arguments, one.value, one.reason) for one in rows["low", 2].judged} == {
        ((0,), "low", '{"kind":"json","value":{"x":0},"version":1}'),
        ((1,), "low", '{"kind":"json","value":{"x":1},"version":1}'),
    }
    assert {one.behind for one in rows["high", 1].judged} == {frozenset({("client", 1), ("loan", 11)})}


def test_an_unmatched_row_has_no_partner_and_an_empty_global_aggregation_no_row() -> None:
    pairs = q.Op("=", (q.Col(1), q.Col(4)))
    unmatched = [row for row in evaluate.rows(q.Join("full", q.Table("client"), q.Table("loan"), pairs), PAPER) if None in row.values]
    assert [(row.values, set(row.lineage)) for row in unmatched] == [((None, None, None, 15, 9, 12), {("loan", 15)})]
    nothing = q.Filter(q.Table("loan"), q.Lit(False, "bool"))
    (empty,) = evaluate.rows(q.Aggregate(nothing, (), (q.Call("count"), q.Call("max", q.Col(1)))), PAPER)
    assert (empty.values, empty.lineage) == ((0, None), frozenset())


def test_duplicates_are_rows_of_their_own_and_a_limit_between_them_is_refused() -> None:
    ids = q.Project(q.Table("loan"), (q.Col(1),))
    threes = [row for row in evaluate.rows(ids, PAPER) if row.values == (3,)]
    assert [row.lineage for row in threes] == [{("loan", 13)}, {("loan", 14)}]
    assert [row.values for row in evaluate.rows(q.TopK(ids, 4), PAPER)] == [(1,), (2,), (3,), (3,)]
    with pytest.raises(Ambiguous):
        evaluate.rows(q.TopK(ids, 3), PAPER)
