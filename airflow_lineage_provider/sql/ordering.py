"""ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import Attribute, SortKey
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, reads_computed
from airflow_lineage_provider.sql.context import Context


def sorted_block(plan: o.Sort, block: Block, context: Context) -> Block:
    """ORDER BY (or SORT BY) on the SELECT that the child was lowered to, or over it."""
    context.dialect.check_sort(plan)
    if not _sorts_in_place(plan, block, context):
        block = context.nested(block)
    # A constant key orders nothing, and a bare number would be a column's position.
    keys = [key for key in plan.order if not {a.id for a in references(key)} <= block.constants]
    order = tuple(_ordered(key, block, context) for key in keys)
    by_name = any(_is_by_name(key, block) for key in keys)
    return replace(block, order=order, order_by_name=by_name, partition_order=bool(order) and not plan.is_global)


def _sorts_in_place(plan: o.Sort, block: Block, context: Context) -> bool:
    if block.whole is not None or block.is_limited or block.order or block.pinned:
        return False
    named = [key for key in plan.order if _is_by_name(key, block)]
    others = [key for key in plan.order if key not in named]
    bare = context.dialect.orders_by_expressions or all(key.child.type != "string" for key in named)
    return bare and not reads_computed(block, others) and not (others and (block.group is not None or block.distinct))


def _is_by_name(key: SortKey, block: Block) -> bool:
    made = block.group is not None or block.distinct
    return isinstance(key.child, Attribute) and (made or key.child.id in block.computed)


def _ordered(key: SortKey, block: Block, context: Context) -> exp.Expr:
    node = context.dialect.ordered_by(key.child, block.scope)
    if isinstance(key.child, Attribute) and _is_by_name(key, block):
        node = nodes.column(None, context.identifier(key.child.name))
    return nodes.ordered(node, key.ascending, key.nulls_first, context.dialect.name)


def limited(plan: o.Limit, block: Block, context: Context) -> Block:
    """LIMIT and OFFSET on the SELECT that the child was lowered to, or over it."""
    if block.whole is not None or block.is_limited:
        block = context.nested(block)
    return replace(block, limit=plan.count, offset=plan.offset)
