"""Generators in Spark's SQL: ``LATERAL VIEW [OUTER] generator(…) alias AS columns``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, Item, is_steady
from airflow_lineage_provider.sql.context import Context

# They stand in FROM only.
_TABLE_FUNCTIONS = frozenset({"variant_explode"})


def generated(plan: o.Generate, block: Block, context: Context) -> Block:
    """The generator over the tables that the child was lowered to, or over it.

    A condition is not left beside it: Spark evaluates WHERE after it, where a generator could have failed on a row that goes.

    :raises PortabilityProblem: in PostgreSQL, which has other generators.
    :raises UnsupportedOperator: only Spark can run it.
    """
    if plan.call is not None:
        raise UnsupportedOperator(f"{plan.generator.function} has no SQL text over other rows: Spark runs it when the pipeline is run")
    context.dialect.check_generator(plan)
    if not block.is_bare:
        block = context.nested(block)
    alias = context.alias("g")
    names = [context.identifier(attribute.name) for attribute in plan.generated]
    call = context.write(plan.generator, block.scope)
    columns = exp.TableAlias(this=alias, columns=names)
    made = {a.id: nodes.column(alias, name) for a, name in zip(plan.generated, names, strict=True)}
    made_block = replace(block, output=plan.output, scope={**block.scope, **made}, pinned=not is_steady(plan.generator))
    if plan.generator.function in _TABLE_FUNCTIONS:
        return replace(made_block, items=(*block.items, Item(relation=_table_function(plan, call, columns), kind="CROSS")))
    return replace(made_block, laterals=(exp.Lateral(this=call, view=True, outer=plan.outer, alias=columns),))


def _table_function(plan: o.Generate, call: exp.Expr, columns: exp.TableAlias) -> exp.Expr:
    if plan.outer:
        call.set("this", f"{call.this}_OUTER")
    return exp.Lateral(this=call, alias=columns)
