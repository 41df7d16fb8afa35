"""Joins of two blocks.

A condition or a computed column may leave its side of a join only where that changes nothing: not from the side that an outer
join fills with NULLs.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute, Expression
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, Item, is_steady, reads_computed
from airflow_lineage_provider.sql.context import Context


def join_blocks(plan: o.Join, left: Block, right: Block, context: Context) -> Block:
    """The join of what the two children were lowered to."""
    shared = sorted(set(left.scope) & set(right.scope))
    if shared:
        raise PlanCheckError(f"both sides of a join give attribute #{shared[0]}; rewrite.unique_attributes keeps them apart")
    conditions = () if plan.condition is None else (plan.condition,)
    left, right = (side if _is_joinable(side, conditions) else context.nested(side) for side in (left, right))
    if plan.kind in ("left_semi", "left_anti"):
        return _semi_join(plan, left, right, context)
    if plan.exists is not None:
        return _existence_join(plan, plan.exists, left, right, context)
    left = context.nested(left) if plan.kind in ("right", "full") and not left.is_bare else left
    bare = plan.kind in ("left", "full")
    right = context.nested(right) if len(right.items) > 1 or (bare and not right.is_bare) else right
    if plan.kind == "full":
        context.dialect.check_full_join(plan)
    item = _item(plan, right, _condition(plan.condition, left, right, context))
    steady = plan.condition is None or is_steady(plan.condition)
    return Block(
        output=plan.output,
        scope={**left.scope, **right.scope},
        items=(*left.items, item),
        where=left.where + right.where,
        pinned=not steady,
    )


def _is_joinable(side: Block, conditions: tuple[Expression, ...]) -> bool:
    """Whether a join may go into the side's own SELECT; a LATERAL VIEW comes after all joins there."""
    return side.is_rows and not side.laterals and not reads_computed(side, conditions)


def _item(plan: o.Join, right: Block, condition: exp.Expr | None) -> Item:
    (only,) = right.items
    if plan.kind in ("inner", "cross"):
        return replace(only, kind="CROSS" if condition is None else "INNER", on=condition)
    return replace(only, side=plan.kind.upper(), kind="OUTER", on=condition or exp.true())


def _condition(condition: Expression | None, left: Block, right: Block, context: Context) -> exp.Expr | None:
    return None if condition is None else context.write(condition, {**left.scope, **right.scope})


def _semi_join(plan: o.Join, left: Block, right: Block, context: Context) -> Block:
    if context.dialect.has_semi_joins and len(right.items) > 1:
        right = context.nested(right)
    condition = _condition(plan.condition, left, right, context)
    terms = (*((condition,) if condition is not None else ()), *right.where)
    on = nodes.connected(exp.And, terms) if terms else None
    if not context.dialect.has_semi_joins:
        exists = _exists(right, on)
        return replace(left, where=(*left.where, exists if plan.kind == "left_semi" else exp.Not(this=exists)))
    (only,) = right.items
    kind = "SEMI" if plan.kind == "left_semi" else "ANTI"
    return replace(left, items=(*left.items, replace(only, side="LEFT", kind=kind, on=on or exp.true())))


def _existence_join(plan: o.Join, exists: Attribute, left: Block, right: Block, context: Context) -> Block:
    """EXISTS (…) as a column. Every column has its table's alias, and no inner table has an outer one's."""
    condition = _condition(plan.condition, left, right, context)
    terms = (*((condition,) if condition is not None else ()), *right.where)
    found = _exists(right, nodes.connected(exp.And, terms) if terms else None)
    return replace(left, output=plan.output, scope={**left.scope, exists.id: found}, pinned=True)


def _exists(right: Block, condition: exp.Expr | None) -> exp.Expr:
    first, *joined = right.items
    query = exp.Select(expressions=[exp.Literal.number(1)])
    query.set("from_", exp.From(this=first.relation.copy()))
    query.set("joins", [exp.Join(this=i.relation.copy(), side=i.side or None, kind=i.kind or None, on=i.on) for i in joined])
    if condition is not None:
        query.set("where", exp.Where(this=condition))
    return exp.Exists(this=query)
