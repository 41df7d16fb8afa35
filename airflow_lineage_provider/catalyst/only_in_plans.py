"""Expressions that Spark's analyzer writes into plans and that SQL has no name for: in functions that SQL has."""

from __future__ import annotations

from collections.abc import Callable

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.tree import TreeNode
from airflow_lineage_provider.plan import expressions as e

Convert = Callable[[TreeNode, Context], e.Expression]


def static_invoke(node: TreeNode, context: Context, expression: Convert) -> e.Expression:
    """A column of type CHAR(n), which is read with blanks to its length (``readSidePadding``).

    :raises UnsupportedOperator: any other call of a static method.
    """
    method = str(node.fields.get("functionName"))
    if method != "readSidePadding" or not str(node.fields.get("staticObject")).endswith(".CharVarcharCodegenUtils"):
        context.refuse(f"the call of Java's {node.fields.get('staticObject')}.{method}")
    text, width = (expression(child, context) for child in node.children)
    padded = e.Call(function="rpad", arguments=(text, width, e.Literal(value=" ", type="string")), type="string")
    length = e.Call(function="length", arguments=(text,), type="int")
    short = e.Call(function="<", arguments=(length, width), type="boolean")
    # rpad would cut what is longer.
    return e.Call(function="if", arguments=(short, padded, text), type="string")


def precise_timestamp(node: TreeNode, context: Context, expression: Convert) -> e.Expression:
    """Between a timestamp and its microseconds: what ``window(…)`` computes the window of a row with.

    :raises UnsupportedOperator: a session window, whose rows no row tells by itself; a timestamp without time zone.
    """
    (child,) = node.children
    inner = child.children[0] if child.name == "KnownNullable" else child
    if inner.name == node.name:
        context.refuse("a session window", "Number the sessions (a running sum over lag), and group by the number")
    kinds = (str(node.fields.get("fromType")), str(node.fields.get("toType")))
    found = {("timestamp", "long"): ("unix_micros", "bigint"), ("long", "timestamp"): ("timestamp_micros", "timestamp")}.get(kinds)
    if found is None:
        context.refuse("a time window over timestamps without time zone", "Cast the column to TIMESTAMP")
    function, kind = found
    return e.Call(function=function, arguments=(expression(child, context),), type=kind)
