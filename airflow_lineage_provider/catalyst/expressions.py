"""Catalyst's expressions to ours: the special ones by hand, every other function by its name in the session's registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_lineage_provider.catalyst import aggregates, common_expressions, functions, only_in_plans
from airflow_lineage_provider.catalyst.context import Context
from airflow_lineage_provider.catalyst.datatypes import ddl
from airflow_lineage_provider.catalyst.literals import literal
from airflow_lineage_provider.catalyst.names import udf_name
from airflow_lineage_provider.catalyst.state import check_ansi, check_zone, eval_mode
from airflow_lineage_provider.catalyst.tree import TreeNode, decode, expression_id, object_name
from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import expressions as e

Converter = Callable[[TreeNode, Context], e.Expression]


def expression(node: TreeNode, context: Context) -> e.Expression:
    """An expression of ours for one of Catalyst's.

    :raises UnsupportedOperator: it cannot be said; the message names it and its place.
    """
    convert = _SPECIAL.get(node.name)
    if convert is not None:
        return convert(node, context)
    if "replacement" in node.fields:
        return _replaced(node, context)
    return functions.call(node, arguments(node, context), context)


def arguments(node: TreeNode, context: Context) -> tuple[e.Expression, ...]:
    """The children, converted."""
    return tuple([expression(child, context) for child in node.children])


def named(node: TreeNode, context: Context) -> e.Named:
    """A column of a projection or an aggregation."""
    if node.name != "Alias":
        found = expression(node, context)
        if not isinstance(found, e.Attribute):
            context.refuse(f"{node.name} as a column without a name")
        return found
    name = column_name(node)
    child = expression(node.children[0], context.at(f'column "{name}"'))
    attribute = e.Attribute(id=expression_id(node.fields["exprId"]), name=name, type=child.type)
    return e.Alias(child=child, attribute=attribute)


def column_name(node: TreeNode) -> str:
    """The name of a column inside a plan: Spark knows columns with an empty one, which a database does not."""
    return str(node.fields["name"]) or "column"


def sort_key(node: TreeNode, context: Context) -> e.SortKey:
    """A sort key."""
    return e.SortKey(
        child=expression(node.children[0], context),
        ascending=object_name(node.fields["direction"]) == "Ascending",
        nulls_first=object_name(node.fields["nullOrdering"]) == "NullsFirst",
    )


def attribute_json(node: TreeNode, context: Context) -> e.Attribute:
    """The attribute that an ``AttributeReference`` says, as a leaf gives it."""
    name = column_name(node)
    return e.Attribute(
        id=expression_id(node.fields["exprId"]), name=name, type=type_of(node, context.at(f'column "{name}"')),
        nullable=bool(node.fields["nullable"]),
    )  # fmt: skip


def type_of(node: TreeNode, context: Context, field: str = "dataType") -> str:
    """A type field as DDL text."""
    try:
        return ddl(node.fields[field])
    except UnsupportedOperator as problem:
        context.refuse(str(problem))


def _attribute(node: TreeNode, context: Context) -> e.Expression:
    # A reference carries the name as the query wrote it (``ID`` for ``id``): the attribute itself is the one below.
    found = context.scope.get(expression_id(node.fields["exprId"]))
    if found is None:
        context.refuse(f'a reference to column "{node.fields["name"]}", which is not among this operator\'s inputs,')
    return found


def _literal(node: TreeNode, context: Context) -> e.Expression:
    type_text = type_of(node, context)
    if node.fields.get("parts") is not None:
        return _nested_literal(node, type_text, context)
    found = None if node.fields.get("unknown") else literal(node.fields["value"], type_text)
    if found is None:
        context.refuse(f"a constant of type {type_text}", "Build it with functions (array, map, named_struct, unhex) instead")
    return found


def _nested_literal(node: TreeNode, type_text: str, context: Context) -> e.Expression:
    """A constant array, map or struct, by the function that makes one of its parts."""
    items = tuple([_literal(decode([part]), context) for part in node.fields["parts"]])
    if not items:
        empty = e.Call(function=str(node.fields["dataType"]["type"]), arguments=(), type=_EMPTY[str(node.fields["dataType"]["type"])])
        return e.Cast(child=empty, type=type_text)
    match str(node.fields["dataType"]["type"]):
        case "struct":
            names = (e.Literal(value=str(field["name"]), type="string") for field in node.fields["dataType"]["fields"])
            named_parts = tuple(part for pair in zip(names, items, strict=True) for part in pair)
            return e.Call(function="named_struct", arguments=named_parts, type=type_text)
        case kind:
            return e.Call(function=kind, arguments=items, type=type_text)


_EMPTY = {"array": "array<void>", "map": "map<void,void>", "struct": "struct<>"}


_NO_COLLATION = "string collate null"


def _cast(node: TreeNode, context: Context) -> e.Expression:
    mode = eval_mode(node, "evalMode", context)
    if "timeZoneId" in node.fields:
        check_zone("CAST", str(node.fields["timeZoneId"]), context)
    kind, child = type_of(node, context), expression(node.children[0], context)
    # Catalyst's own, where arguments of different collations meet in a function that reads none: it changes nothing, and has no SQL.
    return child if kind == _NO_COLLATION else e.Cast(child=child, type=kind, safe=mode == "TRY")


def _get_field(node: TreeNode, context: Context) -> e.Expression:
    child = expression(node.children[0], context)
    name = node.fields.get("name") or _struct_field(node.children[0], node.fields["ordinal"], context)
    return e.GetField(child=child, field=str(name), type=type_of(node, context, "resultType"))


def _struct_field(child: TreeNode, ordinal: int, context: Context) -> str:
    struct = child.fields.get("resultType") or child.fields.get("dataType")
    if not isinstance(struct, Mapping) or struct.get("type") != "struct":
        context.refuse(f"field number {ordinal} of a struct without names")
    return str(struct["fields"][ordinal]["name"])


def _get_array_field(node: TreeNode, context: Context) -> e.Expression:
    child = expression(node.children[0], context)
    return e.GetField(child=child, field=str(node.fields["field"]["name"]), type=type_of(node, context, "resultType"))


def _get_item(node: TreeNode, context: Context) -> e.Expression:
    if isinstance(node.fields.get("failOnError"), bool):
        check_ansi("array[…]", node.fields["failOnError"], context)
    child, key = arguments(node, context)
    return e.GetItem(child=child, key=key, type=type_of(node, context, "resultType"))


def _lambda(node: TreeNode, context: Context) -> e.Expression:
    body, *parameters = arguments(node, context)
    found = tuple(p for p in parameters if isinstance(p, e.LambdaVariable))
    return e.Lambda(parameters=found, body=body, type=body.type)


def _lambda_variable(node: TreeNode, context: Context) -> e.Expression:
    # Numbered, so that a column or an inner lambda's variable of the same name is never meant.
    name = f"{node.fields['name']}_{expression_id(node.fields['exprId'])}"
    return e.LambdaVariable(name=name, type=type_of(node, context))


def _in_set(node: TreeNode, context: Context) -> e.Expression:
    context.refuse("IN with a set of constants (InSet), which only the optimizer makes,")


def _udf(node: TreeNode, context: Context) -> e.Expression:
    name = udf_name(node)
    return e.UdfCall(
        udf=name, arguments=arguments(node, context.at(f"UDF {name}")), type=type_of(node, context),
        deterministic=bool(node.fields["udfDeterministic"]), call=expression_id(node.fields["resultId"]),
        eval_type=int(node.fields["evalType"]), function=int(node.fields.get("functionNumber", -1)), aggregates=node.name == "PythonUDAF",
    )  # fmt: skip


def _unwrapped(node: TreeNode, context: Context) -> e.Expression:
    return expression(node.children[0], context)


def _aggregate(node: TreeNode, context: Context) -> e.Expression:
    return aggregates.aggregate_call(node, context, expression)


def _with(node: TreeNode, context: Context) -> e.Expression:
    return expression(common_expressions.inlined(node, context), context)


def _interval_days(node: TreeNode, context: Context) -> e.Expression:
    """What ``date - INTERVAL 90 DAY`` adds to the date: EXTRACT(DAY FROM interval)."""
    part = e.Literal(value="DAY", type="string")
    return e.Call(function="date_part", arguments=(part, *arguments(node, context)), type="int")


def _not_null_count(node: TreeNode, context: Context) -> e.Expression:
    return functions.at_least_non_nulls(int(node.fields["n"]), arguments(node, context))


def _place_in_array(node: TreeNode, context: Context) -> e.Expression:
    return functions.place_in_array(*arguments(node, context))


def _replaced(node: TreeNode, context: Context) -> e.Expression:
    """A function that Spark replaced by others: what it was replaced by, since only that was analyzed.

    Where that has no SQL name, the function itself over its own arguments, if these still mean the columns at hand.
    """
    replacement = node.child("replacement")
    try:
        return expression(replacement, context)
    except UnsupportedOperator as problem:
        whole = functions.as_written(node, context)
        if whole is None:
            raise problem
        name, parameters = whole
        try:
            return e.Call(
                function=name, arguments=tuple([expression(p, context) for p in parameters]), type=type_of(node, context, "resultType")
            )
        except UnsupportedOperator:
            raise problem from None


def _scalar_subquery(node: TreeNode, context: Context) -> e.Expression:
    """A scalar subquery that is not correlated; the same one, written twice, is the same here."""
    number = expression_id(node.fields["exprId"])
    if node.fields.get("outerAttrs"):
        context.refuse("a correlated scalar subquery here", _JOIN_ADVICE)
    if number not in context.subqueries:
        plan = context.operator(decode(node.fields["plan"]), context.over().at("scalar subquery"))
        if len(plan.output) != 1:
            context.refuse(f"a scalar subquery of {len(plan.output)} columns")
        context.subqueries[number] = e.ScalarSubquery(plan=plan, type=plan.output[0].type)
    return context.subqueries[number]


def _refused(what: str, advice: str) -> Converter:
    def refuse(_node: TreeNode, context: Context) -> e.Expression:
        context.refuse(what, advice)

    return refuse


_JOIN_ADVICE = "Write it as a join: left_semi for IN and EXISTS, left_anti for NOT IN and NOT EXISTS, over an aggregation otherwise"
_SPECIAL: Mapping[str, Converter] = {
    "AttributeReference": _attribute,
    "Literal": _literal,
    "Cast": _cast,
    "AnsiCast": _cast,
    "GetStructField": _get_field,
    "GetArrayStructFields": _get_array_field,
    "GetArrayItem": _get_item,
    "GetMapValue": _get_item,
    "LambdaFunction": _lambda,
    "NamedLambdaVariable": _lambda_variable,
    "InSet": _in_set,
    "PythonUDF": _udf,
    "AggregateExpression": _aggregate,
    "With": _with,
    "AtLeastNNonNulls": _not_null_count,
    "ArrayBinarySearch": _place_in_array,
    "ExtractANSIIntervalDays": _interval_days,
    "Alias": _unwrapped,  # inside an expression a name has no meaning
    "KnownNullable": _unwrapped,
    "StaticInvoke": lambda node, context: only_in_plans.static_invoke(node, context, expression),
    "PreciseTimestampConversion": lambda node, context: only_in_plans.precise_timestamp(node, context, expression),
    "ResolvedCollation": lambda node, _context: e.Literal(value=str(node.fields["collationName"]), type="string"),
    "WindowExpression": _refused("a window function inside an expression", "Compute it in a column of its own first"),
    "PythonUDAF": _udf,
    "ScalarSubquery": _scalar_subquery,
    "InSubquery": _refused("IN with a subquery here", _JOIN_ADVICE),
    "Exists": _refused("EXISTS with a subquery here", _JOIN_ADVICE),
    "LateralSubquery": _refused("a lateral subquery", _JOIN_ADVICE),
    "OuterReference": _refused("a correlated subquery", _JOIN_ADVICE),
    "CommonExpressionRef": _refused("a common expression without its definition", "Compute it in a column of its own first"),
    "ScalaUDF": _refused("a Scala or Java UDF", "Declare it as a Python UDF, or use built-in functions"),
}
