"""Plans in few words, for the examples in docstrings: ``where(table("T", "a, b"), "a > 1")``.

Expressions are SQL; a column is looked up in what the operator below gives (``T.a``: in the table itself), a function that SQL does not
know is a UDF, and every type is ``int``, as no example is about types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

import sqlglot
from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.plan.walk import operators

_SYMBOLS: Mapping[type[Any], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.And: "and", exp.Or: "or",
    exp.EQ: "=", exp.GT: ">", exp.LT: "<", exp.GTE: ">=", exp.LTE: "<=",
}  # fmt: skip


class Shorthand:
    """The names that examples use; attributes and calls are numbered from 0."""

    def __init__(self) -> None:
        self._ids, self._calls, self._leaves, self._functions = count(), count(), count(), count()

    def table(self, name: str, columns: str) -> o.Source:
        names = tuple(columns.split(", "))
        output = tuple(self._attribute(column) for column in names)
        return o.Source(relation=Relation(name=name, kind="local"), output=output, columns=names, leaf=next(self._leaves))

    def project(self, child: o.Plan, columns: str) -> o.Project:
        return o.Project(child=child, columns=self._named(columns, child))

    def where(self, child: o.Plan, condition: str, *subqueries: o.Plan) -> o.Filter:
        return o.Filter(child=child, condition=self._expression(condition, child, subqueries))

    def group(self, child: o.Plan, by: str = "", give: str = "", *, domain: bool = False) -> o.Aggregate:
        keys = tuple(self._expression(key, child) for key in _parts(by))
        return o.Aggregate(child=child, keys=keys, columns=self._named(give, child), domain=domain)

    def distinct(self, child: o.Plan) -> o.Distinct:
        return o.Distinct(child=child)

    def join(self, left: o.Plan, right: o.Plan, condition: str = "", kind: o.JoinKind = "inner") -> o.Join:
        return o.Join(left=left, right=right, kind=kind, condition=self._expression(condition, left, (), right) if condition else None)

    def union(self, *children: o.Plan) -> o.Union:
        return o.Union(children=children, output=tuple(self._attribute(a.name) for a in children[0].output))

    def sort(self, child: o.Plan, by: str) -> o.Sort:
        return o.Sort(child=child, order=tuple(e.SortKey(child=self._expression(key, child)) for key in _parts(by)))

    def limit(self, child: o.Plan, rows: int) -> o.Limit:
        return o.Limit(child=child, count=rows)

    def window(self, child: o.Plan, functions: str, partition: str) -> o.Window:
        named = self._named(functions, child)
        made = tuple(e.Alias(child=_over_all(column), attribute=e.attribute_of(column)) for column in named)
        return o.Window(child=child, functions=made, partition=tuple(self._expression(key, child) for key in _parts(partition)))

    def function(self, child: o.Plan, call: str) -> o.FunctionOperator:
        """``credit_exam(a, b) AS judge`` as a function operator."""
        (column,) = self._named(call, child)
        assert isinstance(column, e.Alias)
        assert isinstance(column.child, e.UdfCall)
        arguments = tuple(one for one in column.child.arguments if isinstance(one, e.Attribute))
        return o.FunctionOperator(
            child=child, function=next(self._functions), udf=column.child.udf, arguments=arguments, value=column.attribute
        )

    def show(self, plan: o.Plan) -> None:
        print(plan_text(plan))

    def ids(self, attributes: Iterable[e.Attribute]) -> list[int]:
        return [attribute.id for attribute in attributes]

    def _attribute(self, name: str) -> e.Attribute:
        return e.Attribute(id=next(self._ids), name=name, type="int")

    def _named(self, columns: str, child: o.Plan) -> tuple[e.Named, ...]:
        made: list[e.Named] = []
        for part in _parts(columns):
            node = sqlglot.parse_one(part, dialect="spark")
            found = self._converted(node.this if isinstance(node, exp.Alias) else node, child)
            if isinstance(node, exp.Alias):
                made.append(e.Alias(child=found, attribute=self._attribute(node.alias)))
            else:
                assert isinstance(found, e.Attribute), f"{part} needs a name"
                made.append(found)
        return tuple(made)

    def _expression(self, text: str, child: o.Plan, subqueries: Iterable[o.Plan] = (), other: o.Plan | None = None) -> e.Expression:
        waiting = iter(subqueries)

        def subquery() -> e.Expression:
            return e.ScalarSubquery(plan=next(waiting), type="int")

        return self._converted(sqlglot.parse_one(text, dialect="spark"), child, subquery, other)

    def _converted(
        self, node: Any, child: o.Plan, subquery: Callable[[], e.Expression] | None = None, other: o.Plan | None = None
    ) -> e.Expression:
        def converted(part: Any) -> e.Expression:
            return self._converted(part, child, subquery, other)

        match node:
            case exp.Placeholder():
                assert subquery is not None
                return subquery()
            case exp.Paren() | exp.TsOrDsToDate():
                return converted(node.this)
            case exp.Column():
                return _column(node, [child] if other is None else [child, other])
            case exp.Literal():
                return e.Literal(value=node.name, type="int")
            case exp.Anonymous():
                arguments = tuple(map(converted, node.expressions))
                return e.UdfCall(udf=node.name, arguments=arguments, type="int", deterministic=True, call=next(self._calls), eval_type=200)
            case exp.AggFunc():
                return e.AggregateCall(function=node.sql_name().lower(), arguments=(converted(node.this),), type="int")
            case exp.Binary():
                return e.Call(function=_SYMBOLS[type(node)], arguments=(converted(node.left), converted(node.right)), type="int")
        return e.Call(function=node.sql_name().lower(), arguments=tuple(map(converted, node.iter_expressions())), type="int")


def names() -> dict[str, Any]:
    """What an example can use, besides what its module has."""
    made = Shorthand()
    return {name: getattr(made, name) for name in vars(Shorthand) if not name.startswith("_")}


def _parts(text: str) -> list[str]:
    """The texts between commas that stand in no parentheses."""
    depth, parts = 0, [""]
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _column(node: exp.Column, below: list[o.Plan]) -> e.Attribute:
    known = [attribute for plan in below for attribute in plan.output]
    if node.table:
        tables = [one for plan in below for one in operators(plan) if isinstance(one, o.Source) and one.relation.name == node.table]
        known = [attribute for one in tables for attribute in one.output]
    return next(attribute for attribute in known if attribute.name == node.name)


def _over_all(column: e.Named) -> e.WindowFunction:
    call = e.expression_of(column)
    assert isinstance(call, e.AggregateCall)
    return e.WindowFunction(function=call.function, arguments=call.arguments, type=call.type, frame=e.WHOLE_PARTITION)
