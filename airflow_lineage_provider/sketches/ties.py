"""Limits whose order leaves ties: whether over one sketch, of one version of the sources, the limit could cut otherwise; of which
sources sketches are of one run or none; and the rows in a limit's places, of which a sketch is taken where rows are dropped above it.

Of rows that tie at a limit any may stay. The rows of the result that a sketch was taken of are there over the sketch as they were, and no
other row is better than in the plain run (`order`); so the limit cuts the same rows, unless others tie with the last of them *over the
sketch*. Whether any do can be counted: it is for the same constants and versions what it is once. Of several sources it is counted over
their sketches together: over one alone there are more rows that could tie. (The paper breaks ties by the other columns, which SQL does
not do.)
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.walk import all_operators, operators, own_expressions
from airflow_lineage_provider.rewrite.determinism import ORDER_DEPENDENT, is_repeatable
from airflow_lineage_provider.rewrite.fresh import FreshAttributes

_UP_TO_HERE = e.WindowFrame(kind="rows", lower="unbounded", upper="current_row")


def limit_to_count(plan: o.Plan, leaf: int) -> o.Limit | None:
    """The one limit above a leaf, if rows can tie there and nowhere else; None where counting cannot tell that another run gives the same
    rows: there are several, or a value is of any row of its group."""
    above = [node for node in operators(plan) if any(isinstance(one, o.Source) and one.leaf == leaf for one in operators(node))]
    parts = (part for node in above for own in own_expressions(node) for part in expressions_in(own))
    if any(isinstance(part, e.AggregateCall) and part.function in ORDER_DEPENDENT for part in parts):
        return None
    limits = [node for node in above if isinstance(node, o.Limit)]
    return limits[0] if len(limits) == 1 and limits[0].count is not None and _sort_of(limits[0]) is not None else None


def takes_other_rows(node: o.Plan) -> bool:
    """Whether an operator may make other rows of the same rows in another order. A limit does not whose order has all keys of the groups
    that it takes: no two of them share a place."""
    return not is_repeatable(node) and not (isinstance(node, o.Limit) and _orders_by_groups(node))


def _orders_by_groups(limit: o.Limit) -> bool:
    sort = _sort_of(limit)
    if sort is None:
        return False
    ordered, node = {key.child.id for key in sort.order if isinstance(key.child, e.Attribute)}, sort.child
    while isinstance(node, o.Project | o.Filter | o.Sort | o.FunctionOperator):
        for one in node.columns if isinstance(node, o.Project) else ():
            if isinstance(one, e.Alias) and isinstance(one.child, e.Attribute) and one.attribute.id in ordered:
                ordered.add(one.child.id)
        node = node.child
    keys = node.keys if isinstance(node, o.Aggregate) else ()
    return bool(keys) and all(isinstance(key, e.Attribute) and key.id in ordered for key in keys)


def lowest_limit(plan: o.Plan, leaf: int) -> o.Limit | None:
    """The limit with an order next above a leaf, if every row of the leaf that the plan reads goes through it."""
    above = [node for node in operators(plan) if isinstance(node, o.Limit) and _reads(operators(node), leaf)]
    lowest = [node for node in above if not any(other is not node and _within(other, node) for other in above)]
    if len(lowest) != 1 or lowest[0].count is None or _sort_of(lowest[0]) is None:
        return None
    return lowest[0] if _reads(operators(lowest[0]), leaf) == _reads(all_operators(plan), leaf) else None


def _reads(nodes: Iterable[o.Plan], leaf: int) -> int:
    return sum(isinstance(node, o.Source) and node.leaf == leaf for node in nodes)


def _within(node: o.Plan, other: o.Plan) -> bool:
    return any(node is one for one in operators(other))


def cut_together(plan: o.Plan) -> tuple[frozenset[int], ...]:
    """The leaves in sets, each leaf in one: sketches of the leaves in a set are read beside each other only if they are of one run.

    Of rows that are alike in all columns a limit takes any: two runs over the same versions give the same rows, and behind them may stand
    other rows of the sources. Of two sources under one limit, the sketch of the one of the first run and the sketch of the other of the
    second have together neither what stood behind the first result nor what stood behind the second. (Everything else makes of the same
    rows the same rows, out of the same.)

    Of ``limit 1 (sort (T ⋈ S)) ∪ U`` they are {T, S} and {U}.
    """
    found = [frozenset({node.leaf}) for node in all_operators(plan) if isinstance(node, o.Source)]
    for limit in (node for node in all_operators(plan) if isinstance(node, o.Limit)):
        under = {node.leaf for node in all_operators(limit) if isinstance(node, o.Source)}
        together = [one for one in found if one & under]
        found = [*(one for one in found if not one & under), *([frozenset[int]().union(*together)] if together else [])]
    return tuple(dict.fromkeys(found))


def _sort_of(limit: o.Limit) -> o.Sort | None:
    node = limit.child
    while isinstance(node, o.Project | o.FunctionOperator):
        node = node.child
    return node if isinstance(node, o.Sort) and node.is_global else None


def places(limit: o.Limit) -> int:
    """How many rows a limit looks at: those that it takes, and those that it skips before them."""
    assert limit.count is not None
    return limit.count + limit.offset


def placed_rows(limit: o.Limit) -> o.Plan:
    """The rows in the limit's places, with their ranks: as many as there are places, or fewer where there are no more, or more where some
    tie with the last. Each is made of itself.

    Before: ``limit 3 (sort a (T))``. After: ``σ rank ≤ 3 (window rank() by a (T))``.
    """
    sort = _sort_of(limit)
    assert sort is not None
    rank = FreshAttributes(limit).attribute("rank", "int", nullable=False)
    ranked = o.Window(
        child=sort.child, partition=(), order=sort.order, limits=True,
        functions=(e.Alias(child=e.WindowFunction(function="rank", arguments=(), type="int", frame=_UP_TO_HERE), attribute=rank),),
    )  # fmt: skip
    last = e.Literal(value=str(places(limit)), type="int")
    return o.Filter(child=ranked, condition=e.Call(function="<=", arguments=(rank, last), type="boolean"))


def rows_in_place(limit: o.Limit) -> o.Plan:
    """How many these are.

    Before: ``limit 3 (sort a (T))``. After: ``α; count(1) (σ rank ≤ 3 (window rank() by a (T)))``.
    """
    placed = placed_rows(limit)
    number = FreshAttributes(placed).attribute("rows", "bigint", nullable=False)
    count = e.AggregateCall(function="count", arguments=(e.Literal(value="1", type="int"),), type="bigint")
    return o.Aggregate(child=placed, keys=(), columns=(e.Alias(child=count, attribute=number),))
