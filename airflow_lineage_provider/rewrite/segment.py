"""Segmentation: the tree is cut into Non-D-segments and D-segments by longest pattern match, top down.

Section 5.2 of the augmented-lineage paper. The pattern of a Non-D-segment, from its top: ``φ* – α* – (∪|π|σ)* – (π|σ|⋈)*``,
where the grouping keys of stacked aggregations must be contained, the upper's in the lower's (section 5.1). Operators that
pass rows on or drop them are selections to the pattern (section 3.2): sort, limit, repartition.

>>> applications = where(join(table("client", "id, income"), table("loan", "client, amount"), "id = client"), "amount > 1")
>>> judged = function(applications, "credit_exam(income, amount) AS judge")
>>> plan = group(judged, by="judge", give="judge, count(1) AS n")
>>> for one in segment(plan, plan.output, ("judge", "n")).segments:
...     show(one.plan)
α judge; count(1) AS n
  segment 1 [id, income, client, amount, judge]
φ credit_exam(income, amount) → judge
  σ (amount > 1)
    ⋈ (id = client)
      client [id, income]
      loan [client, amount]

Ours, beyond the paper: generators (explode, grouping sets) give each row some times, and are projections to the pattern.
A semi-join, an existence join, a window and a Python function over batches or groups are segments of a single operator, as
the difference is: their rows go back to sets of rows, each by a rule of its own (`tracing.row_sets`). So is a domain, whose rows
go back to none.

An operator that cannot be repeated (a limit; a random or clock-dependent expression) is the top of
its segment and *pinned*: the output is materialized whatever the strategy, because running it again may choose other rows.
An aggregation that cannot be repeated pins its segment from wherever it stands in it.
"""

from __future__ import annotations

from enum import IntEnum

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import LineageRule
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan, SegmentKind
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import children, operators, with_children
from airflow_lineage_provider.rewrite.determinism import is_repeatable


class Part(IntEnum):
    """The parts of the pattern, from the top of a segment down."""

    FUNCTIONS = 0
    AGGREGATIONS = 1
    UNIONS = 2
    JOINS = 3


def segment(plan: o.Plan, output: tuple[Attribute, ...], names: tuple[str, ...], conf: tuple[tuple[str, str], ...] = ()) -> SegmentedPlan:
    """Cut a rewritten plan into segments. The decomposition is unique (proposition 1).

    :raises UnsupportedOperator: for an operator whose lineage is not defined.
    """
    tops: list[o.Plan] = [plan]
    segments: list[Segment] = []
    while len(segments) < len(tops):
        top = tops[len(segments)]
        kind = kind_of(top)
        if isinstance(top, o.Aggregate) and top.domain:
            _refuse_unrepeatable(top)
        body = _match(top, Part.FUNCTIONS, None, tops, is_top=True) if kind == "non_d" else _single(top, tops)
        segments.append(Segment(number=len(segments), kind=kind, plan=body, pinned=not all(map(is_repeatable, operators(body)))))
    return SegmentedPlan(segments=tuple(segments), output=output, names=names, conf=conf)


def kind_of(node: o.Plan) -> SegmentKind:
    """The kind of the segment that an operator is the top of."""
    o.check_known(node, "segmentation")
    match node.lineage:
        case LineageRule.WHOLE_SIDE:
            return "d"
        case LineageRule.PARTNERS:
            return "existence" if isinstance(node, o.Join) and node.exists is not None else "semi_join"
        case LineageRule.FRAME:
            return "window"
        case LineageRule.PYTHON:
            return "python"
        case LineageRule.NOTHING:
            return "domain"
        case LineageRule.SOURCE | LineageRule.SEGMENT | LineageRule.ONE_ROW | LineageRule.ONE_BRANCH:
            return "non_d"
        case LineageRule.BOTH_PARTNERS | LineageRule.GROUP:
            return "non_d"


def _refuse_unrepeatable(domain: o.Aggregate) -> None:
    """The outer query is computed once more for the domain: where it came out otherwise, rows would miss their subquery's answer."""
    for node in operators(domain.child):
        if not is_repeatable(node) or (isinstance(node, o.FunctionOperator) and not node.deterministic):
            raise UnsupportedOperator(
                f"a correlated subquery over an outer query with {operator_text(node)} is not supported: the outer query has to be "
                "computed twice for it, and may come out otherwise. Write the outer query to a table and start the pipeline from there."
            )


def _single(node: o.Plan, tops: list[o.Plan]) -> o.Plan:
    """A segment of one operator: everything below it belongs to others."""
    return with_children(node, tuple(_cut(child, tops) for child in children(node)))


def _cut(node: o.Plan, tops: list[o.Plan]) -> o.Plan:
    """A leaf in place of what another segment gives."""
    if isinstance(node, o.Source | o.SegmentOutput):
        return node
    tops.append(node)
    return o.SegmentOutput(segment=len(tops) - 1, output=node.output)


def _match(node: o.Plan, part: Part, above: o.Aggregate | None, tops: list[o.Plan], *, is_top: bool = False) -> o.Plan:
    """The part of the tree below ``node`` that belongs to this segment; what does not is queued in ``tops``."""
    if isinstance(node, o.Source | o.SegmentOutput):
        return node
    if kind_of(node) != "non_d":
        return _cut(node, tops)
    own = _part_of(node, part)
    fits = own >= part and (is_top or is_repeatable(node) or isinstance(node, o.Aggregate)) and _keys_contained(above, node)
    if not fits:
        return _cut(node, tops)
    upper = node if isinstance(node, o.Aggregate) else None
    return with_children(node, tuple(_match(child, own, upper, tops) for child in children(node)))


def _part_of(node: o.Plan, part: Part) -> Part:
    """The part of the pattern that an operator belongs to, given the part that its parent is in."""
    match node:
        case o.FunctionOperator():
            return Part.FUNCTIONS
        case o.Aggregate():
            return Part.AGGREGATIONS
        case o.Union():
            return Part.UNIONS
        case o.Project() | o.Filter() | o.Sort() | o.Limit() | o.Repartition() | o.Generate() | o.Window(limits=True):
            return max(part, Part.UNIONS)
        case o.Join(kind="inner" | "cross" | "left" | "right" | "full"):
            return Part.JOINS
    raise UnsupportedOperator(f"the lineage of {operator_text(node)} is not defined")


def _keys_contained(above: o.Aggregate | None, node: o.Plan) -> bool:
    return above is None or not isinstance(node, o.Aggregate) or set(above.keys) <= set(node.keys)
