"""Every UDF call becomes a function operator of its own: φ stands in the tree where reasons can be collected.

>>> before = project(table("T", "a, b"), "f(a + 1) AS judge")
>>> show(before)
π f((a + 1)) AS judge
  T [a, b]
>>> show(pull_out_udfs(before))
π judge
  φ f(f_argument_1) → judge
    π a, b, (a + 1) AS f_argument_1
      T [a, b]

Calls are taken out of projections, filters, join conditions, aggregates and sort keys, the innermost first. In a filter
the terms without a UDF stay below the function operators, so that no more rows are judged than need be (Spark's
optimizer does the same):

>>> show(pull_out_udfs(where(table("T", "a, b"), "f(a) = 1 and b > 2")))
π a, b
  σ (f = 1)
    φ f(a) → f
      σ (b > 2)
        T [a, b]

Calls beside each other are function operators one above the other, with their arguments computed below all of them:

>>> show(pull_out_udfs(project(table("T", "a, b"), "f(a + 1) AS x, g(b + 1) AS y")))
π x, y
  φ g(g_argument_1) → y
    φ f(f_argument_1) → x
      π a, b, (a + 1) AS f_argument_1, (b + 1) AS g_argument_1
        T [a, b]

A call whose result id or whose (deterministic) text is the same is one function operator.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import reduce
from itertools import groupby

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expression_walk import expressions_in, map_parts, references, subexpressions
from airflow_lineage_provider.plan.expressions import (
    Alias,
    Attribute,
    Expression,
    Lambda,
    Literal,
    Named,
    Part,
    UdfCall,
    conjunction,
    conjuncts,
)
from airflow_lineage_provider.plan.walk import own_expressions, transform_up
from airflow_lineage_provider.rewrite.determinism import is_deterministic
from airflow_lineage_provider.rewrite.fresh import FreshAttributes

_Values = dict[Hashable, Attribute]
"""The values of calls, by what makes two calls one (`_identity`)."""


class _Numbers:
    """Fresh attributes and the numbers of function operators, in the order in which they are made."""

    def __init__(self, plan: o.Plan) -> None:
        self.fresh = FreshAttributes(plan)
        self.functions = 0

    def next_function(self) -> int:
        self.functions += 1
        return self.functions - 1


def pull_out_udfs(plan: o.Plan) -> o.Plan:
    """The plan without UDF calls in expressions; see the module's text.

    :raises UnsupportedOperator: a call inside a lambda function, or in an outer join's condition over both sides.
    """
    numbers = _Numbers(plan)
    return transform_up(plan, lambda node: _pull_out(node, numbers))


def _pull_out(node: o.Plan, numbers: _Numbers) -> o.Plan:
    if not any(_has_udf(own) for own in own_expressions(node)):
        return node
    for own in own_expressions(node):
        _refuse_in_lambda(own, node)
    match node:
        case o.Project():
            return _from_project(node, numbers)
        case o.Filter():
            return _from_filter(node, numbers)
        case o.Join():
            return _from_join(node, numbers)
        case o.Aggregate():
            child, values = _functions_over(node.child, node.columns, numbers)
            return replace(node, child=child, columns=tuple(_named(column, values) for column in node.columns))
        case o.Sort():
            child, values = _functions_over(node.child, node.order, numbers)
            order = tuple(map_parts(key, lambda part: _values_for_calls(part, values)) for key in node.order)
            return _restore(o.Sort(child=child, order=order, is_global=node.is_global), node.output)
        case o.Window():
            # Partition and sort keys are attributes by now: only arguments hold calls.
            child, values = _functions_over(node.child, node.functions, numbers)
            functions = tuple(Alias(child=_values_for_calls(f.child, values), attribute=f.attribute) for f in node.functions)
            return _restore(replace(node, child=child, functions=functions), node.output)
        case o.Generate():
            child, values = _functions_over(node.child, (node.generator,), numbers)
            generator = map_parts(node.generator, lambda part: _values_for_calls(part, values))
            return _restore(replace(node, child=child, generator=generator), node.output)
    raise UnsupportedOperator(f"a UDF is called in {type(node).__name__}, where no function operator can be made of it")


def _from_project(node: o.Project, numbers: _Numbers) -> o.Plan:
    preferred = {
        _identity(column.child): column.attribute
        for column in reversed(node.columns)
        if isinstance(column, Alias) and isinstance(column.child, UdfCall)
    }
    child, values = _functions_over(node.child, node.columns, numbers, preferred)
    return o.Project(child=child, columns=tuple(_named(column, values) for column in node.columns))


def _from_filter(node: o.Filter, numbers: _Numbers) -> o.Plan:
    terms = conjuncts(node.condition)
    plain = tuple(term for term in terms if not _has_udf(term) and is_deterministic(term))
    rest = tuple(term for term in terms if term not in plain)
    below = conjunction(plain)
    child = node.child if below is None else o.Filter(child=node.child, condition=below)
    child, values = _functions_over(child, rest, numbers)
    condition = conjunction(tuple(_values_for_calls(term, values) for term in rest))
    assert condition is not None
    return _restore(o.Filter(child=child, condition=condition), node.output)


def _from_join(node: o.Join, numbers: _Numbers) -> o.Plan:
    assert node.condition is not None
    left_ids = {attribute.id for attribute in node.left.output}
    right_ids = {attribute.id for attribute in node.right.output}
    left: list[UdfCall] = []
    right: list[UdfCall] = []
    across: list[UdfCall] = []
    for term in conjuncts(node.condition):
        for call in _outermost_calls(term):
            used = {attribute.id for attribute in references(call)}
            (left if used <= left_ids else right if used <= right_ids else across).append(call)
    if across and node.kind not in ("inner", "cross"):
        raise UnsupportedOperator(
            f"UDF {across[0].udf} in the condition of a {node.kind} join takes columns of both sides; "
            "call it in a projection before or after the join"
        )
    left_child, values = _functions_over(node.left, left, numbers)
    right_child, right_values = _functions_over(node.right, right, numbers)
    values |= right_values
    terms = conjuncts(node.condition)
    later = tuple(term for term in terms if any(call in across for call in _outermost_calls(term)))
    condition = conjunction(tuple(_values_for_calls(term, values) for term in terms if term not in later))
    kind = "inner" if node.kind == "cross" and condition else node.kind
    joined: o.Plan = replace(node, left=left_child, right=right_child, kind=kind, condition=condition)
    if later:
        child, more = _functions_over(joined, later, numbers)
        final = conjunction(tuple(_values_for_calls(term, values | more) for term in later))
        assert final is not None
        joined = o.Filter(child=child, condition=final)
    return _restore(joined, node.output)


def _functions_over(child: o.Plan, holders: Iterable[Part], numbers: _Numbers, preferred: _Values | None = None) -> tuple[o.Plan, _Values]:
    """Function operators over ``child`` for every call in ``holders``, the innermost at the bottom; and the calls' values."""
    values: _Values = {}
    calls = [part for holder in holders for part in reversed(list(expressions_in(holder))) if isinstance(part, UdfCall)]
    for _, beside in groupby(sorted(calls, key=_depth), key=_depth):
        first: dict[Hashable, UdfCall] = {}
        for call in beside:
            first.setdefault(_identity(call), call)
        child, made = _functions_beside(child, list(first.values()), values, numbers, preferred or {})
        values |= made
    return child, values


def _functions_beside(
    child: o.Plan, calls: list[UdfCall], values: _Values, numbers: _Numbers, preferred: _Values
) -> tuple[o.Plan, _Values]:
    """Function operators for calls of which none takes another's value; ``values`` are those of the calls within them.

    Their arguments are computed in one projection below all of them: with one below each, each would be a segment of its own.
    """
    known = {attribute.id for attribute in child.output}
    computed: list[Alias] = []
    arguments = [_arguments(call, known, values, numbers, computed) for call in calls]
    if computed:
        child = o.Project(child=child, columns=(*child.output, *computed))
    made: _Values = {}
    for call, own in zip(calls, arguments, strict=True):
        value = preferred.get(_identity(call)) or numbers.fresh.attribute(call.udf, call.type)
        child = o.FunctionOperator(
            child=child, function=numbers.next_function(), udf=call.udf, arguments=own, value=value,
            deterministic=call.deterministic, eval_type=call.eval_type, call=call.call,
        )  # fmt: skip
        made[_identity(call)] = value
    return child, made


def _arguments(call: UdfCall, known: set[int], values: _Values, numbers: _Numbers, computed: list[Alias]) -> tuple[Attribute, ...]:
    """A call's arguments as attributes; what has to be computed for them is added to ``computed``."""
    found: list[Attribute] = []
    for position, argument in enumerate(call.arguments):
        expression = _values_for_calls(argument, values)
        if not (isinstance(expression, Attribute) and expression.id in known):
            name = _argument_name(call, expression, position)
            computed.append(Alias(child=expression, attribute=numbers.fresh.attribute(name, expression.type)))
            expression = computed[-1].attribute
        found.append(expression)
    return tuple(found)


def _named(column: Named, values: _Values) -> Named:
    if isinstance(column, Attribute):
        return column
    child = _values_for_calls(column.child, values)
    return column.attribute if child == column.attribute else Alias(child=child, attribute=column.attribute)


def _values_for_calls(expression: Expression, values: _Values) -> Expression:
    if isinstance(expression, UdfCall) and _identity(expression) in values:
        return values[_identity(expression)]
    return map_parts(expression, lambda part: _values_for_calls(part, values))


def _identity(call: Expression) -> Hashable:
    """What makes two calls one: function and arguments of deterministic UDFs, else the result id."""
    assert isinstance(call, UdfCall)
    return (call.udf, call.function, call.arguments, call.eval_type) if call.deterministic else call.call


def _restore(plan: o.Plan, output: tuple[Attribute, ...]) -> o.Plan:
    return plan if plan.output == output else o.Project(child=plan, columns=output)


def _has_udf(expression: Part) -> bool:
    return any(isinstance(part, UdfCall) for part in expressions_in(expression))


def _depth(call: UdfCall) -> int:
    inner = [_depth(part) for argument in call.arguments for part in expressions_in(argument) if isinstance(part, UdfCall)]
    return 1 + max(inner, default=0)


def _outermost_calls(expression: Part) -> tuple[UdfCall, ...]:
    if isinstance(expression, UdfCall):
        return (expression,)
    return reduce(lambda found, part: found + _outermost_calls(part), subexpressions(expression), ())


def _refuse_in_lambda(expression: Part, node: o.Plan) -> None:
    for part in expressions_in(expression):
        if isinstance(part, Lambda) and _has_udf(part.body):
            raise UnsupportedOperator(
                f"a UDF is called inside a lambda function in {type(node).__name__}; explode the array and call it on rows"
            )


def _argument_name(call: UdfCall, expression: Expression, position: int) -> str:
    return f"{call.udf}_{position + 1}" if isinstance(expression, Literal) else f"{call.udf}_argument_{position + 1}"
