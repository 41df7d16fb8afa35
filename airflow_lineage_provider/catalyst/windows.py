"""Window functions: Catalyst's ``Window`` with its ``WindowExpression``\\ s."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Literal as OneOf

from airflow_lineage_provider.catalyst import aggregates, functions
from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.expressions import expression, sort_key
from airflow_lineage_provider.catalyst.tree import TreeNode, expression_id, object_name
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o

# What Catalyst gives as their arguments is the window's order.
_RANKS = frozenset({"Rank", "DenseRank", "PercentRank"})
_BY_OFFSET = frozenset({"Lag", "Lead", "NthValue"})
# Which rows they read is known; of others it is not.
_KNOWN = _RANKS | _BY_OFFSET | {"RowNumber", "CumeDist", "NTile", "CounterDiff", "CounterDiffWithStartTime"}
_ANY_ORDER = e.Literal(value="1", type="int")
_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double"})


def window(node: TreeNode, children: tuple[o.Plan, ...], context: Context) -> o.Plan:
    """The window functions of one operator share partitioning and order; each has its own frame."""
    (child,) = children
    inside = context.over(child.output)
    limits = node.fields.get("limits") is True
    given = {attribute.id for attribute in child.output}
    # Catalyst lets columns of the input pass through the window of a correlated subquery.
    made = [tree for tree in node.trees("windowExpressions") if tree.name == "Alias" or expression_id(tree.fields["exprId"]) not in given]
    order = tuple([sort_key(key, inside.at("ORDER BY")) for key in node.trees("orderSpec")])
    return o.Window(
        child=child,
        functions=tuple([_function(function, inside) for function in made]),
        partition=tuple([expression(key, inside.at("PARTITION BY")) for key in node.trees("partitionSpec")]),
        # LIMIT without an order takes whichever rows come first; to number rows, SQL wants some order.
        order=order or ((e.SortKey(child=_ANY_ORDER),) if limits else ()),
        limits=limits,
    )


def _function(alias: TreeNode, context: Context) -> e.Alias:
    name = str(alias.fields["name"])
    context = context.at(f'column "{name}"')
    if alias.name != "Alias" or alias.children[0].name != "WindowExpression":
        context.refuse(f"{alias.children[0].name if alias.children else alias.name} among window functions")
    made = alias.children[0]
    frame = _frame(made.child("windowSpec").child("frameSpecification"), context)
    child = _call(made.child("windowFunction"), frame, context)
    return e.Alias(child=child, attribute=e.Attribute(id=expression_id(alias.fields["exprId"]), name=name, type=child.type))


def _call(node: TreeNode, frame: e.WindowFrame, context: Context) -> e.WindowFunction:
    if node.name == "AggregateExpression":
        return _aggregate(node, frame, context)
    if node.name not in _KNOWN:
        name = functions.name_of(node, context) or node.name
        context.refuse(f"the window function {name}", "Use lag, lead or an aggregate function instead")
    ignore_nulls = node.fields.get("ignoreNulls") is True
    if node.name in _BY_OFFSET:
        node = functions.without(node, "ignoreNulls")
    parameters = () if node.name in _RANKS else tuple([_folded(child, context) for child in node.children])
    called = functions.call(node, parameters, context)
    return e.WindowFunction(function=called.function, arguments=called.arguments, type=called.type, frame=frame, ignore_nulls=ignore_nulls)


def _aggregate(node: TreeNode, frame: e.WindowFrame, context: Context) -> e.WindowFunction:
    function = node.child("aggregateFunction")
    if function.name == "NthValue":
        return _call(function, frame, context)
    called = aggregates.aggregate_call(node, context, expression)
    if isinstance(called, e.UdfCall):
        return e.WindowFunction(function=called.udf, arguments=called.arguments, type=called.type, frame=frame, call=called.call)
    if not isinstance(called, e.AggregateCall):
        context.refuse("a pivot over a window")
    found = e.WindowFunction(
        function=called.function, arguments=called.arguments, type=called.type, frame=frame, distinct=called.distinct, filter=called.filter,
        within_group=called.within_group,
    )  # fmt: skip
    if function.fields.get("ignoreNulls") is True and function.name in functions.CHOOSING:
        return replace(found, arguments=found.arguments[:-1], ignore_nulls=True)
    return found


def _frame(node: TreeNode, context: Context) -> e.WindowFrame:
    if node.name != "SpecifiedWindowFrame":
        context.refuse("a window without its frame", "Capture the plan again with this release")
    lower, upper = node.child("lower"), node.child("upper")
    rows = object_name(node.fields["frameType"]) == "RowFrame"
    return e.WindowFrame(kind="rows" if rows else "range", lower=_bound(lower, context), upper=_bound(upper, context))


def _bound(node: TreeNode, context: Context) -> OneOf["unbounded", "current_row"] | e.Expression:
    if node.name in ("UnboundedPreceding$", "UnboundedFollowing$"):
        return "unbounded"
    if node.name == "CurrentRow$":
        return "current_row"
    found = _folded(node, context)
    if not isinstance(found, e.Literal) or found.value is None:
        context.refuse("a window frame with an expression for its bound", "Write the number or the interval itself")
    return found


def _folded(node: TreeNode, context: Context) -> e.Expression:
    """A constant as a literal, although its sign and its type are expressions around it; any other expression as it is."""
    if node.name == "UnaryMinus":
        inner = _folded(node.children[0], context)
        return _negative(inner) if isinstance(inner, e.Literal) and inner.value is not None else expression(node, context)
    if node.name == "Cast":
        inner, whole = _folded(node.children[0], context), expression(node, context)
        return (_retyped(inner, whole.type) or whole) if isinstance(inner, e.Literal) else whole
    return expression(node, context)


def _retyped(literal: e.Literal, kind: str) -> e.Literal | None:
    """A number as a literal of another type that holds its very value; None where that is not plain."""
    whole = literal.type in ("tinyint", "smallint", "int", "bigint")
    if literal.value is None or not (whole or literal.type.startswith("decimal")):
        return None
    if kind in ("float", "double"):
        return replace(literal, value=repr(float(literal.value)), type=kind)
    if whole and kind in _NUMBERS:
        return replace(literal, type=kind)
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
    scale = len(literal.value.partition(".")[2])
    if found is None or int(found[2]) < scale:
        return None
    return replace(literal, value=f"{Decimal(literal.value):.{found[2]}f}", type=kind)


def _negative(literal: e.Literal) -> e.Literal:
    text = str(literal.value)
    if text.startswith("INTERVAL '"):
        sign, rest = text[: len("INTERVAL '")], text[len("INTERVAL '") :]
        return replace(literal, value=sign + (rest[1:] if rest.startswith("-") else f"-{rest}"))
    return replace(literal, value=text[1:] if text.startswith("-") else f"-{text}")
