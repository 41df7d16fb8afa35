"""Functions by their SQL names: which name, and which arguments in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping

from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.datatypes import ddl
from airflow_lineage_provider.catalyst.state import function_for
from airflow_lineage_provider.catalyst.tree import TreeNode, decode, is_tree, nodes
from airflow_lineage_provider.plan.expressions import Call, Cast, Expression, Lambda, LambdaVariable, Literal

# The registry knows these by their builders, whose names are not the expressions'.
_BUILT = {
    "StringLPad": "lpad", "StringRPad": "rpad", "StringInstr": "instr", "StringInstrWithOccurrence": "instr", "Extract": "date_part",
    "RoundCeil": "ceil", "RoundFloor": "floor", "StringDecode": "decode",
    "VariantExplode": "variant_explode", "CounterDiffWithStartTime": "counter_diff",
    "TimestampDiff": "timestampdiff", "TimestampAdd": "timestampadd",
    # What + - * / become over dates, timestamps and intervals.
    "TimestampAddInterval": "+", "TimestampAddYMInterval": "+", "DateAddInterval": "+", "DateAddYMInterval": "+", "TimeAddInterval": "+",
    "TimeAdd": "+",  # (of Spark 4.0)
    "SubtractTimestamps": "-", "SubtractDates": "-", "SubtractTimes": "-", "MultiplyYMInterval": "*", "MultiplyDTInterval": "*",
    "MultiplyInterval": "*", "DivideYMInterval": "/", "DivideDTInterval": "/", "DivideInterval": "/",
}  # fmt: skip
_ONLY_IN_PYTHON = {
    "CollectFrequentItems": "freqItems()", "PandasMode": "mode() of pandas on Spark", "PandasProduct": "prod() of pandas on Spark",
    "EWM": "ewm() of pandas on Spark", "NullIndex": "null_index of pandas on Spark", "DistributedSequenceID": "a distributed index",
    "UnwrapUDT": "unwrap_udt()", "TryEval": "a try_ function over an expression that has no such form",
}  # fmt: skip
_WITH_SCHEMA = ("JsonToStructs", "CsvToStructs", "XmlToStructs")
# Functions over binaries, which one class is for: its field says which.
_NAMED_BY_FIELD = {"BinaryPredicate": "prettyName", "BinaryPad": "funcName"}
_TYPED_BY_NAME = {"ParseToTimestamp": "to_timestamp", "MakeTimestamp": "make_timestamp"}
CHOOSING = ("First", "Last", "AnyValue")
"""Aggregates that choose a row's value, and may leave NULLs out."""
_TRIMS = ("StringTrim", "StringTrimLeft", "StringTrimRight")


def name_of(node: TreeNode, context: Context) -> str | None:
    """The name under which the session's registry has an expression's class."""
    names = context.function_names
    if node.name == "MakeTimestampFromDateTime":
        # Of a date alone, only the function that goes by the session's type of timestamps.
        return "make_timestamp_ltz" if len(node.children) > 1 or context.settings.timestamp_type != "timestamp" else "make_timestamp"
    if node.name in _NAMED_BY_FIELD:
        return str(node.fields[_NAMED_BY_FIELD[node.name]])
    return _BUILT.get(node.name) or names.get(node.class_name)


def call(node: TreeNode, arguments: tuple[Expression, ...], context: Context) -> Call:
    """A call of the function that an expression's class is registered as.

    :raises UnsupportedOperator: there is no such function, or its state cannot be said in SQL.
    """
    name = name_of(node, context)
    if name is None:
        context.refuse(_ONLY_IN_PYTHON.get(node.name) or f"a function that has no name in SQL (Catalyst calls it {node.name})")
    kept = without(node, _NAMED_BY_FIELD[node.name]) if node.name in _NAMED_BY_FIELD else node
    name, arguments = _with_state(kept, name, arguments, context)
    result = node.fields.get("resultType")
    if result is None:
        context.refuse(f"{name}(…) without its type", "Capture the plan again with this release")
    return Call(function=name, arguments=arguments, type=ddl(result))


def _with_state(node: TreeNode, name: str, arguments: tuple[Expression, ...], context: Context) -> tuple[str, tuple[Expression, ...]]:
    """Name and arguments of a few classes whose fields or order SQL says differently; the others' state must be the default."""
    fields = node.fields
    if node.name in ("Like", "ILike") and fields.get("escapeChar") not in (None, "\\"):
        return name, (*arguments, Literal(value=str(fields["escapeChar"]), type="string"))
    if node.name in _TRIMS and len(arguments) == 2:
        return name, (arguments[1], arguments[0])
    if node.name in _WITH_SCHEMA and isinstance(fields.get("schema"), dict | str):
        schema = Literal(value=ddl(fields["schema"]), type="string")
        return _with_state(without(node, "schema"), name, (*arguments, schema), context)
    if isinstance(fields.get("options"), dict):
        return _with_state(without(node, "options"), name, (*arguments, *_options(fields["options"])), context)
    if node.name in ("TimestampDiff", "TimestampAdd") and re.fullmatch("[A-Z]+", str(fields.get("unit"))):
        unit = Literal(value=str(fields["unit"]), type="string")
        return _with_state(without(node, "unit"), name, (unit, *arguments), context)
    if node.name == "VariantGet" and "targetType" in fields:
        wanted = Literal(value=ddl(fields["targetType"]), type="string")
        return _with_state(without(node, "targetType"), name, (*arguments, wanted), context)
    if node.name in ("Uuid", "Shuffle") and isinstance(fields.get("randomSeed"), int):
        # The seed that the analyzer drew makes copies of the expression (a common table expression that is read twice) agree.
        return name, (*arguments, Literal(value=str(fields["randomSeed"]), type="bigint"))
    if node.name in _TYPED_BY_NAME and "dataType" in fields:
        return _timestamp_function(node, _TYPED_BY_NAME[node.name], context), arguments
    if node.name in CHOOSING and isinstance(fields.get("ignoreNulls"), bool):
        skip = (Literal(value="true", type="boolean"),) if fields["ignoreNulls"] else ()
        return name, (*arguments, *skip)
    return function_for(node, name, context), arguments


def _options(options: Mapping[str, str]) -> tuple[Expression, ...]:
    """Options as the argument ``map('key', 'value', …)``; none where there are none."""
    if not options:
        return ()
    texts = tuple(Literal(value=text, type="string") for pair in sorted(options.items()) for text in pair)
    return (Call(function="map", arguments=texts, type="map<string,string>"),)


def _timestamp_function(node: TreeNode, name: str, context: Context) -> str:
    found = function_for(without(node, "dataType"), name, context)
    wanted = ddl(node.fields["dataType"])
    if found.startswith("try_") and node.name != "MakeTimestamp":
        if wanted != context.settings.timestamp_type:
            context.refuse(f"{found}(…) that gives {wanted}")
        return found
    return f"{found}_ntz" if wanted == "timestamp_ntz" else f"{found}_ltz"


def without(node: TreeNode, field: str) -> TreeNode:
    """The node without one of its fields."""
    kept = {name: value for name, value in node.fields.items() if name != field}
    return TreeNode(node.class_name, kept, node.children, node.position)


def as_written(node: TreeNode, context: Context) -> tuple[str, tuple[TreeNode, ...]] | None:
    """The name and arguments of a replaced function as the query had them; None when these cannot be trusted.

    Its arguments are no children, so the analyzer's later rewrites (new ids in a self-join, say) do not reach them:
    they are good only when they read exactly the columns that the replacement reads.
    """
    name = name_of(node, context)
    values = [value for field, value in node.fields.items() if field not in ("replacement", "resultType")]
    if name is None or not all(is_tree(value) for value in values):
        return None
    parameters = tuple([decode(value) for value in values])
    read = {_column(part) for parameter in parameters for part in nodes(parameter) if part.name == "AttributeReference"}
    replaced = {_column(part) for part in nodes(node.child("replacement")) if part.name == "AttributeReference"}
    return (name, parameters) if read == replaced else None


def _column(node: TreeNode) -> int:
    return int(node.fields["exprId"]["id"])


def at_least_non_nulls(count: int, arguments: tuple[Expression, ...]) -> Expression:
    """``count`` of the arguments are neither NULL nor NaN (what ``dropna`` asks), in functions that SQL has."""
    known = [_known(argument) for argument in arguments]
    if count == len(known) and known:
        result = known[0]
        for term in known[1:]:
            result = Call(function="and", arguments=(result, term), type="boolean")
        return result
    total: Expression = Literal(value="0", type="int")
    for term in known:
        one = Call(function="if", arguments=(term, Literal(value="1", type="int"), Literal(value="0", type="int")), type="int")
        total = Call(function="+", arguments=(total, one), type="int")
    return Call(function=">=", arguments=(total, Literal(value=str(count), type="int")), type="boolean")


def place_in_array(array: Expression, value: Expression) -> Expression:
    """Where Java's binary search finds a value in a sorted array, in functions that SQL has: its place from 0; ``-1 - n`` where it is not
    there, and ``n`` items are below it, NULLs among them. (The selection of a run that read through a sketch has it.)"""
    item = LambdaVariable(name="item", type=value.type)
    null = Call(function="isnull", arguments=(item,), type="boolean")
    below = Call(function="or", arguments=(null, Call(function="<", arguments=(item, value), type="boolean")), type="boolean")
    items = Lambda(parameters=(item,), body=below, type="boolean")
    count = Call(function="size", arguments=(Call(function="filter", arguments=(array, items), type=array.type),), type="int")
    there = Call(function="array_contains", arguments=(array, value), type="boolean")
    place = Cast(child=Call(function="array_position", arguments=(array, value), type="bigint"), type="int")
    one = Literal(value="1", type="int")
    found = Call(function="-", arguments=(place, one), type="int")
    missing = Call(function="-", arguments=(Literal(value="-1", type="int"), count), type="int")
    either = Call(function="if", arguments=(there, found, missing), type="int")
    nothing = Call(function="isnull", arguments=(value,), type="boolean")
    return Call(function="if", arguments=(nothing, Literal(value=None, type="int"), either), type="int")


def _known(argument: Expression) -> Expression:
    present = Call(function="isnotnull", arguments=(argument,), type="boolean")
    if argument.type not in ("float", "double"):
        return present
    number = Call(function="not", arguments=(Call(function="isnan", arguments=(argument,), type="boolean"),), type="boolean")
    return Call(function="and", arguments=(present, number), type="boolean")
