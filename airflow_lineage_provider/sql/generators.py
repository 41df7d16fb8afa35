"""Generators in Spark's SQL: ``LATERAL VIEW [OUTER] generator(…) alias AS columns``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.block import Block, is_steady
from airflow_lineage_provider.sql.context import Context
from airflow_lineage_provider.sql.names import identifier
from airflow_lineage_provider.sql.problems import PortabilityProblem


def generated(plan: o.Generate, block: Block, context: Context) -> Block:
    """The generator over the tables that the child was lowered to, or over it.

    A condition is not left beside it: Spark evaluates WHERE after it, where a generator could have failed on a row that goes.

    :raises PortabilityProblem: in PostgreSQL, which has other generators.
    """
    if context.dialect == "postgres":
        raise PortabilityProblem(f"the generator {plan.generator.function}", "it is not proved to give the same rows there")
    if not block.is_bare:
        block = context.nested(block)
    alias = context.alias("g")
    names = [identifier(attribute.name, context.dialect) for attribute in plan.generated]
    call = context.write(plan.generator, block.scope)
    view = exp.Lateral(this=call, view=True, outer=plan.outer, alias=exp.TableAlias(this=alias, columns=names))
    made = {a.id: nodes.column(alias, name) for a, name in zip(plan.generated, names, strict=True)}
    return replace(block, output=plan.output, scope={**block.scope, **made}, laterals=(view,), pinned=not is_steady(plan.generator))
