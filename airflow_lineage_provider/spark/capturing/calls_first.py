"""Calls of UDFs come before the subqueries that stand in the same operator, so that a call's rows are those that it reads.

``SELECT f(a), (SELECT max(c) FROM u) FROM t`` says nothing of an order, but a function operator above the join with ``u`` would have
the rows of ``u`` in the lineage of every decision.

Before: ``π f(a), (…)`` over T. After: ``π f, (…)`` over ``π *, f(a) AS f`` over T.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from airflow_lineage_provider.spark.jvm_classes import java_class
from airflow_lineage_provider.spark.jvm_trees import SUBQUERIES, class_name, has, items, operators

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_APART = ("PLAN_EXPRESSION", "AGGREGATE_EXPRESSION", "WINDOW_EXPRESSION", "LAMBDA_VARIABLE", "OUTER_REFERENCE")
"""A call with any of these inside cannot go below the operator."""


def calls_first(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The plan, without the plans of its subqueries, in which no operator has both subqueries and calls on what its input gives."""
    if not (has(spark, plan, "PYTHON_UDF") and has(spark, plan, "PLAN_EXPRESSION")):
        return plan
    return _Mover(spark).plan(plan)


class _Mover:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._utils = java_class(spark, "org.apache.spark.api.python.PythonUtils")
        self._map = java_class(spark, "java.util.HashMap")
        self._list = java_class(spark, "java.util.ArrayList")
        self._none = java_class(spark, "scala.Option").empty()
        self._expressions = java_class(spark, "org.apache.spark.sql.catalyst.expressions")
        self._logical = java_class(spark, "org.apache.spark.sql.catalyst.plans.logical")

    def plan(self, plan: JavaObject) -> JavaObject:
        changed = self._map()
        for node in operators(plan):
            new = self._operator(node)
            if new is not None:
                changed.put(node, new)
        # A Scala map is a partial function, which is what a transformation takes. From the top, so that nodes are those that were found.
        return plan if changed.isEmpty() else plan.transformDown(self._utils.toScalaMap(changed))

    def _operator(self, node: JavaObject) -> JavaObject | None:
        match class_name(node):
            case "Project" | "Aggregate":
                expressions = items(node.expressions())
                asks = any(has(self._spark, one, "PLAN_EXPRESSION") for one in expressions)
                calls = self._calls(expressions, node) if asks else []
                return self._over(node, calls, node.child()) if calls else None
            case "Filter":
                return self._filter(node)
        return None

    def _filter(self, node: JavaObject) -> JavaObject | None:
        """The other terms stay below, so that the function sees no more rows than need be, and none that it may fail on."""
        terms = list(_conjuncts(node.condition()))
        both = [all(has(self._spark, one, name) for name in ("PLAN_EXPRESSION", "PYTHON_UDF")) for one in terms]
        asking = [one for one, chosen in zip(terms, both, strict=True) if chosen]
        calls = self._calls(asking, node) if asking else []
        if not calls:
            return None
        others = [one for one, chosen in zip(terms, both, strict=True) if not chosen]
        below = self._logical.Filter(self._and(others), node.child()) if others else node.child()
        above = self._over(self._logical.Filter(self._and(asking), node.child()), calls, below)
        return self._logical.Project(node.output(), above)

    def _and(self, terms: Sequence[JavaObject]) -> JavaObject:
        return reduce(self._expressions.And, terms)

    def _calls(self, expressions: Sequence[JavaObject], node: JavaObject) -> list[JavaObject]:
        given = node.child().outputSet()
        return [call for one in expressions for call in self._outermost(one, given)]

    def _outermost(self, expression: JavaObject, given: JavaObject) -> Iterator[JavaObject]:
        """The calls that can be made of what the input gives, but those inside others and inside subqueries."""
        if not has(self._spark, expression, "PYTHON_UDF"):
            return
        if class_name(expression) == "PythonUDF" and self._can_move(expression, given):
            yield expression
            return
        for child in items(expression.children()) if class_name(expression) not in SUBQUERIES else ():
            yield from self._outermost(child, given)

    def _can_move(self, call: JavaObject, given: JavaObject) -> bool:
        return call.references().subsetOf(given) and not any(has(self._spark, call, name) for name in _APART)

    def _over(self, node: JavaObject, calls: Sequence[JavaObject], child: JavaObject) -> JavaObject:
        """The operator, with the calls in a projection of its own below it. Calls that mean the same are one."""
        values, columns = self._map(), self._list()
        for attribute in items(child.output()):
            columns.add(attribute)
        known: list[tuple[JavaObject, JavaObject]] = []
        for call in calls:
            value = next((alias for other, alias in known if other.semanticEquals(call)), None)
            if value is None:
                value = self._alias(call)
                known.append((call, value))
                columns.add(value)
            values.put(call, value.toAttribute())
        children = self._list()
        children.add(self._logical.Project(self._utils.toSeq(columns), child))
        return node.transformExpressions(self._utils.toScalaMap(values)).withNewChildren(self._utils.toSeq(children))

    def _alias(self, call: JavaObject) -> JavaObject:
        nothing = self._utils.toSeq(self._list())
        number = self._expressions.NamedExpression.newExprId()
        return self._expressions.Alias(call, call.name(), number, nothing, self._none, nothing)


def _conjuncts(condition: JavaObject) -> Iterator[JavaObject]:
    if class_name(condition) == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition
