"""Outer joins whose rows without a partner no condition above lets pass: the other side may be sketched."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.sketches.columns import safe_columns
from tests.oracle import evaluate
from tests.oracle import query as q
from tests.sketches.against import Counted, compared
from tests.sketches.planned import apart, planned

pytest.importorskip("z3")
pytestmark = pytest.mark.long

LEFT, GROUPS = q.Table("t"), q.Aggregate(q.Table("s"), (q.Col(1),), (q.Call("sum", q.Col(2)),))
CORRELATED = q.Join("left", LEFT, GROUPS, q.Op("=", (q.Col(1), q.Col(4))))
"""rid, g, x, f; g, sum(x): as Spark makes them of a subquery that is correlated by ``g``."""
X, SUM = q.Col(2), q.Col(5)
HALF = q.Op("%", (SUM, q.Lit(5, "int")))


def less(one: q.Expr, other: q.Expr) -> q.Expr:
    return q.Op("<", (one, other))


DROPPED = {
    "compared": q.Filter(CORRELATED, less(X, SUM)),
    "computed of, and compared": q.Filter(CORRELATED, less(q.Op("+", (SUM, X)), q.Lit(7, "int"))),
    "among others": q.Filter(CORRELATED, q.Op("and", (less(q.Lit(0, "int"), X), q.Op("=", (SUM, X))))),
    "above a projection": q.Filter(q.Project(CORRELATED, (q.Col(0), X, SUM)), less(q.Col(1), q.Col(2))),
    "the left side's partners": q.Filter(q.Join("right", GROUPS, LEFT, q.Op("=", (q.Col(0), q.Col(3)))), less(q.Col(1), q.Col(4))),
}
KEPT = {
    "NULL passes": q.Filter(CORRELATED, q.Op("or", (less(X, SUM), q.Op("is_null", (SUM,))))),
    "the same, NULL or not": q.Filter(CORRELATED, q.Op("<=>", (SUM, X))),
    "something in its place": q.Filter(CORRELATED, less(X, q.Op("coalesce", (SUM, q.Lit(9, "int"))))),
    "the side that is there": q.Filter(CORRELATED, less(X, q.Col(1))),
    "another value of the projection": q.Filter(q.Project(CORRELATED, (q.Col(0), X, q.Op("coalesce", (SUM, X)))), less(q.Col(1), q.Col(2))),
}


def drawn(random: Random) -> dict[str, q.Data]:
    columns = (("rid", "int"), ("g", "int"), ("x", "int"), ("f", "int"))

    def some(number: int) -> q.Data:
        values = ((random.choice((1, 2, 3, None)), random.choice((0, 1, 2, 4, None)), random.randrange(3)) for _ in range(number))
        return q.Data(columns, tuple((at, *row) for at, row in enumerate(values)))

    return {"t": some(5), "s": some(7)}


@pytest.mark.parametrize("queries", [DROPPED, KEPT], ids=["dropped", "kept"])
def test_over_a_sketch_of_the_other_side_the_rows_are_the_same(queries: dict[str, q.Node]) -> None:
    counted = Counted()
    for (name, query), seed in product(queries.items(), range(8)):
        random = Random(seed)
        node, leaves = apart(query, drawn(random))
        plan = planned(node, leaves)
        pipeline = Pipeline(plan=plan, names=tuple(f"c{at}" for at in range(len(plan.output))))
        judged = safe_columns(pipeline)
        of_groups = {one.column for one in judged if one.safe and one.table.startswith("s")}
        assert of_groups == ({"g"} if queries is DROPPED else set()), name
        result = evaluate.rows(node, leaves)
        for one in judged:
            if one.safe:
                assert not list(compared(node, leaves, one, random, counted, result)), name
