"""A plan as one SQL query, for Spark, PostgreSQL or DuckDB, from one tree.

Operators go into one SELECT where that is exactly the same query; otherwise the input is nested as a subquery. What a block
computes is never written twice, and what must be computed once (a UDF's call, a random number) stays in its own SELECT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from sqlglot import exp

from airflow_lineage_provider.errors import UdfUnavailable, UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import Attribute, Call, Expression, LambdaVariable, attribute_of, expression_of
from airflow_lineage_provider.plan.names import free_name
from airflow_lineage_provider.plan.walk import operators, own_expressions
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.aggregates import aggregated, distinct
from airflow_lineage_provider.sql.block import Block, is_steady, reads_computed, select, uses
from airflow_lineage_provider.sql.context import Context
from airflow_lineage_provider.sql.dialects import SparkDialect, SqlDialect
from airflow_lineage_provider.sql.duckdb_dialect import DuckDbDialect
from airflow_lineage_provider.sql.generators import generated
from airflow_lineage_provider.sql.joins import join_blocks
from airflow_lineage_provider.sql.names import Dialect, identifier
from airflow_lineage_provider.sql.ordering import limited, sorted_block
from airflow_lineage_provider.sql.postgres import PostgresDialect
from airflow_lineage_provider.sql.tables import ColumnRef, LeafKey, TableRef
from airflow_lineage_provider.sql.windows import windowed


def lower(
    plan: o.Plan,
    tables: Mapping[LeafKey, TableRef],
    *,
    dialect: Dialect,
    udfs: Mapping[int, str] | None = None,
    ansi: bool = True,
    zone: str = "",
) -> str:
    """A plan as the text of one query, whose columns are named after the plan's output attributes, in order.

    :param plan: attribute names are unique in it (`plan.check.check_unique`), without regard to case.
    :param tables: the physical table of each leaf, by ``("source", leaf)`` or ``("segment", number)``.
    :param udfs: for Spark, the registered SQL name of each function operator's UDF, by its number. In reasoning mode (the operator has a
        ``reason``) the function returns a struct of ``value`` and ``reason``. Register it as non-deterministic: Spark's optimizer
        writes a deterministic call again into a filter that stands above it.
    :param ansi: the recorded ``spark.sql.ansi.enabled``.
    :param zone: the recorded ``spark.sql.session.timeZone``; empty: it is not known.
    :raises PortabilityProblem: the dialect has no query that surely means the same.
    :raises UnsupportedOperator: something in the plan has no SQL text.
    :raises UdfUnavailable: no SQL name is given for a function operator.
    :raises PlanCheckError: a leaf has no table, or names are not unique.
    """
    if not plan.output:
        raise UnsupportedOperator("the result has no columns: SQL needs at least one column")
    context = Context(_dialect(dialect, ansi, zone), tables, udfs or {}, _hiding_names(plan, tables))
    return nodes.to_text(select(_lower(plan, context), dialect), dialect)


def lower_expression(
    expression: Expression, columns: Mapping[int, ColumnRef], *, dialect: Dialect, ansi: bool = True, zone: str = ""
) -> str:
    """An expression as SQL over columns, by attribute id, that need no qualifier. Raises as `lower`."""
    context = Context(_dialect(dialect, ansi, zone), {}, {})
    scope = {number: nodes.spelled(column, dialect) for number, column in columns.items()}
    return nodes.to_text(context.write(expression, scope), dialect, pretty=False)


def _dialect(name: Dialect, ansi: bool, zone: str) -> SqlDialect:
    match name:
        case "spark":
            return SparkDialect()
        case "postgres":
            return PostgresDialect(ansi, zone)
        case "duckdb":
            return DuckDbDialect(ansi, zone)


def _hiding_names(plan: o.Plan, tables: Mapping[LeafKey, TableRef]) -> set[str]:
    """Names that no table may have: inside a lambda function its variables hide tables, inside EXISTS (…) structs hide outer tables."""
    found = _lambda_variables(plan)
    if any(isinstance(node, o.Join) and node.exists is not None for node in operators(plan)):
        found |= {attribute.name.casefold() for node in operators(plan) for attribute in node.output}
        found |= {column.text.casefold() for table in tables.values() for column in table.columns.values()}
    return found


def _lambda_variables(plan: o.Plan) -> set[str]:
    parts = (part for node in operators(plan) for own in own_expressions(node) for part in expressions_in(own))
    return {part.name.casefold() for part in parts if isinstance(part, LambdaVariable)}


@singledispatch
def _lower(plan: Any, _context: Context) -> Block:
    raise unknown(plan, "writing SQL")


@_lower.register
def _(plan: o.Source, context: Context) -> Block:
    return context.leaf(plan)


@_lower.register
def _(plan: o.SegmentOutput, context: Context) -> Block:
    return context.leaf(plan)


@_lower.register
def _(plan: o.Project, context: Context) -> Block:
    block = _lower(plan.child, context)
    if not _projects_in_place(plan, block):
        block = context.nested(block)
    scope = {attribute_of(column).id: context.passed_on(expression_of(column), block.scope) for column in plan.columns}
    steady = all(is_steady(column) for column in plan.columns)
    return replace(block, output=plan.output, scope=scope, pinned=block.pinned or not steady)


def _projects_in_place(plan: o.Project, block: Block) -> bool:
    """Whether the projection only changes the SELECT list of its input."""
    expressions = [expression_of(column) for column in plan.columns]
    read, passed = uses(expressions), Counter(x.id for x in expressions if isinstance(x, Attribute))
    kept = {column.id for column in plan.columns if isinstance(column, Attribute)}
    made = {attribute.id for attribute in block.output}
    once = all(read[n] <= 1 and (read[n] == passed[n] or not block.pinned) for n in block.computed)
    steady = all(is_steady(x) for x in expressions) or not (block.order or block.is_limited or block.group is not None)
    same_rows = not block.distinct or (len(passed) == len(expressions) and set(passed) == made)
    ordered = not block.order_by_name or made <= kept
    # A global aggregation is one by its functions alone.
    still_global = block.group != () or made <= set(read)
    return block.whole is None and once and steady and same_rows and ordered and still_global


@_lower.register
def _(plan: o.Filter, context: Context) -> Block:
    block, steady = _lower(plan.child, context), is_steady(plan.condition)
    in_place = replace(block, order=()).is_rows and not reads_computed(block, (plan.condition,))
    if not in_place or not (steady or (len(block.items) == 1 and not block.where)):
        block = context.nested(block)
    is_and = isinstance(plan.condition, Call) and plan.condition.function == "and"
    terms = nodes.terms_of(plan.condition) if is_and else (plan.condition,)  # type: ignore[arg-type]
    where = tuple(context.write(term, block.scope) for term in terms)
    return replace(block, where=block.where + where, pinned=not steady)


@_lower.register
def _(plan: o.Join, context: Context) -> Block:
    return join_blocks(plan, _lower(plan.left, context), _lower(plan.right, context), context)


@_lower.register
def _(plan: o.Window, context: Context) -> Block:
    return windowed(plan, _lower(plan.child, context), context)


@_lower.register
def _(plan: o.Generate, context: Context) -> Block:
    return generated(plan, _lower(plan.child, context), context)


@_lower.register
def _(plan: o.PythonMap, _context: Context) -> Block:
    raise UnsupportedOperator(f"the Python function {plan.udf} ({plan.kind}) has no SQL text: Spark's DataFrame API calls it")


@_lower.register
def _(plan: o.Aggregate, context: Context) -> Block:
    return aggregated(plan, _lower(plan.child, context), context)


@_lower.register
def _(plan: o.Distinct, context: Context) -> Block:
    return distinct(_lower(plan.child, context), context)


@_lower.register
def _(plan: o.Sort, context: Context) -> Block:
    return sorted_block(plan, _lower(plan.child, context), context)


@_lower.register
def _(plan: o.Limit, context: Context) -> Block:
    return limited(plan, _lower(plan.child, context), context)


@_lower.register
def _(plan: o.Union, context: Context) -> Block:
    if not plan.children:
        raise UnsupportedOperator("a union of nothing has no SQL text")
    names = tuple(attribute.name for attribute in plan.output)
    queries, opaque = [], set()
    for child in plan.children:
        block = _lower(child, context)
        block = context.nested(block) if block.whole is not None or block.order or block.is_limited else block
        _check_union(plan, child, context)
        queries.append(select(block, context.dialect.name, names))
        opaque |= {a.id for a, own in zip(plan.output, child.output, strict=True) if nodes.is_opaque(block.scope[own.id])}
    query: exp.Query = queries[0]
    for other in queries[1:]:
        query = exp.Union(this=query, expression=other, distinct=False)
    scope = {a.id: nodes.column(None, context.identifier(a.name), a.id in opaque) for a in plan.output}
    return Block(output=plan.output, scope=scope, whole=query)


def _check_union(plan: o.Union, child: o.Plan, context: Context) -> None:
    for own, common in zip(child.output, plan.output, strict=True):
        context.dialect.check_union(own, common)


@_lower.register
def _(plan: o.Repartition, context: Context) -> Block:
    """A hint, which is about the rows of its SELECT; elsewhere than in Spark there is nothing to say."""
    block = _lower(plan.child, context)
    if context.dialect.name != "spark":
        return block
    if block.whole is not None or block.order or block.is_limited:
        block = context.nested(block)
    query = select(block, "spark")
    numbers = [] if plan.count is None else [exp.Literal.number(plan.count)]
    keys = [exp.column(context.identifier(key.name)) for key in plan.keys]
    query.set("hint", exp.Hint(expressions=[exp.Anonymous(this=plan.spread.upper(), expressions=[*numbers, *keys])]))
    scope = {a.id: nodes.column(None, context.identifier(a.name), nodes.is_opaque(block.scope[a.id])) for a in plan.output}
    return Block(output=plan.output, scope=scope, whole=query)


@_lower.register
def _(plan: o.FunctionOperator, context: Context) -> Block:
    """Calls beside each other stand in one SELECT: Spark makes all of them in one pass through Python then."""
    beside = _beside(plan)
    for one in reversed(beside):
        context.dialect.check_function(one)
    block = _lower(beside[0].child, context)
    if not block.is_rows or reads_computed(block, [argument for one in beside for argument in (*one.arguments, *one.keys)]):
        block = context.nested(block)
    taken = {attribute.name.casefold() for attribute in plan.output}
    called = [_as_called(one, taken) for one in beside]
    calls = {attribute.id: _call(one, block, context) for one, attribute in zip(beside, called, strict=True)}
    block = replace(block, output=(*beside[0].child.output, *called), scope={**block.scope, **calls}, pinned=True)
    return block if all(one.reason is None for one in beside) else _taken_apart(plan, beside, context.nested(block))


def _beside(plan: o.FunctionOperator) -> list[o.FunctionOperator]:
    """The operator, and those right below it, of which none takes another's value or reason; the lowest first."""
    found, needed = [plan], {argument.id for argument in (*plan.arguments, *plan.keys)}
    while isinstance(below := found[0].child, o.FunctionOperator):
        if needed & {one.id for one in (below.value, below.reason) if one is not None}:
            break
        needed |= {argument.id for argument in (*below.arguments, *below.keys)}
        found.insert(0, below)
    return found


def _call(plan: o.FunctionOperator, block: Block, context: Context) -> exp.Expr:
    name = context.udfs.get(plan.function)
    if name is None:
        raise UdfUnavailable(f"no SQL function is registered for the UDF {plan.udf} (function operator {plan.function})")
    return nodes.function(identifier(name, "spark"), [context.write(one, block.scope) for one in (*plan.arguments, *plan.keys)])


def _as_called(plan: o.FunctionOperator, taken: set[str]) -> Attribute:
    """What a call gives: the value, or a struct of it and the reason, under a name that is not ``taken``."""
    if plan.reason is None:
        return plan.value
    name = free_name(f"{plan.value.name}_with_reason", taken, folded=True)
    taken.add(name.casefold())
    return Attribute(id=plan.value.id, name=name, type=f"struct<value:{plan.value.type},reason:{plan.reason.type}>")


def _taken_apart(plan: o.FunctionOperator, beside: Sequence[o.FunctionOperator], outer: Block) -> Block:
    """The fields of the structs, outside of the subquery of the calls, which Spark does not write twice then."""
    fields: dict[int, exp.Expr] = {}
    for one in (one for one in beside if one.reason is not None):
        pair = outer.scope[one.value.id]
        named = ((one.value, "value"), (one.reason, "reason"))
        fields |= {a.id: exp.Dot(this=pair.copy(), expression=identifier(f, "spark")) for a, f in named if a is not None}
    return replace(outer, output=plan.output, scope={**outer.scope, **fields})
