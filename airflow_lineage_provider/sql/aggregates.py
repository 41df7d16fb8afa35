"""Aggregations and the removal of duplicates."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in, references
from airflow_lineage_provider.plan.expressions import AggregateCall, Attribute, Expression, attribute_of, expression_of
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, is_steady, uses
from airflow_lineage_provider.sql.context import Context
from airflow_lineage_provider.sql.nodes import Scope


def aggregated(plan: o.Aggregate, block: Block, context: Context) -> Block:
    """GROUP BY in the SELECT that the child was lowered to, or over it."""
    expressions = [expression_of(column) for column in plan.columns]
    if not _aggregates_in_place(plan, block, expressions):
        block = context.nested(block)
    scope = _key_scope(plan.keys, block.scope, context)
    group = tuple(_key(key, scope, context) for key in plan.keys)
    made = {attribute_of(column).id: context.passed_on(expression_of(column), scope) for column in plan.columns}
    result = replace(block, output=plan.output, scope=made, pinned=not all(is_steady(x) for x in expressions))
    if not plan.keys and not any(isinstance(part, AggregateCall) for x in expressions for part in expressions_in(x)):
        # No keys and no functions: one group if there are rows at all.
        return replace(result, limit=1)
    return replace(result, group=group)


def _aggregates_in_place(plan: o.Aggregate, block: Block, expressions: list[Expression]) -> bool:
    read, keys = uses([*plan.keys, *expressions]), uses(plan.keys)
    once = all(read[number] <= 1 and not keys[number] for number in block.computed)
    return block.is_rows and once and not any(keys[number] for number in block.constants)


def _key_scope(keys: tuple[Expression, ...], scope: Scope, context: Context) -> Scope:
    """The scope in which floating-point keys are what Spark's grouping makes of them."""
    nodes_of = {key: context.dialect.grouped(key, context.write(key, scope)) for key in keys}
    return {**scope, **{key.id: node for key, node in nodes_of.items() if isinstance(key, Attribute)}}


def _key(key: Expression, scope: Scope, context: Context) -> exp.Expr:
    node = context.write(key, scope)
    if references(key):
        return node
    # A bare number would be a column's position.
    return nodes.cast(node, context.dialect.type_name(key.type, expression_text(key)))


def distinct(block: Block, context: Context) -> Block:
    """SELECT DISTINCT."""
    if block.whole is not None or block.order or block.is_limited:
        block = context.nested(block)
    if not block.output:
        return replace(block, limit=1)
    scope = {a.id: context.dialect.grouped(a, context.write(a, block.scope)) for a in block.output}
    return replace(block, scope={**block.scope, **scope}, distinct=True)
