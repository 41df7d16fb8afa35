"""Subqueries as joins, by Catalyst's own rules, on the analyzed plan before it is read.

IN and EXISTS become semi-joins, NOT IN (aware of NULLs) and NOT EXISTS anti-joins, either of them inside another condition an
existence join; correlated scalar subqueries and lateral joins become joins with what they compute. The rules are those with which
Spark runs the query, so that even their answers about NULLs are Spark's. Only scalar subqueries that are not correlated stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.spark.capturing.calls_first import calls_first
from airflow_lineage_provider.spark.jvm_classes import java_class, scala_object
from airflow_lineage_provider.spark.jvm_trees import SUBQUERIES, class_name, has, items, operators, parts, sequence, with_fields
from airflow_lineage_provider.spark.releases import inline_cte, needs_join_conditions

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

_CATALYST = "org.apache.spark.sql.catalyst."
# Spark's order: what only the analyzer needs goes first, in subqueries too; then predicates leave their subqueries, outermost first.
_STRIP = ("analysis.EliminateSubqueryAliases", "analysis.EliminateView", "expressions.EliminatePipeOperators")
_PULL_UP = ("optimizer.OptimizeOneRowRelationSubquery", "optimizer.PullupCorrelatedPredicates")
# NOT goes inwards, since NOT IN inside a condition asks about NULLs and NOT (… IN …) would not.
_JOIN = (
    "optimizer.BooleanSimplification", "optimizer.RewriteCorrelatedScalarSubquery", "optimizer.RewriteLateralSubquery",
    "optimizer.RewritePredicateSubquery",
)  # fmt: skip
_ADVICE = (
    "Correlate by equality (inner column = outer column), or join the two tables, aggregate by the outer table's key and join "
    "the result back"
)

_COUNTS = frozenset({"CountIf", "RegrCount"})
_PATTERNS = ("PLAN_EXPRESSION", "LATERAL_JOIN")


def has_subqueries(spark: SparkSession, plan: JavaObject) -> bool:
    """Whether a subquery or a lateral join stands anywhere in the plan, or in an expression."""
    return any(has(spark, plan, pattern) for pattern in _PATTERNS)


def without_sql_functions(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The plan with the bodies of SQL functions (``CREATE FUNCTION … RETURN …``) in place of their calls, in subqueries too."""
    return applied(spark, ("optimizer.EliminateSQLFunctionNode",), plan)


def without_subqueries(spark: SparkSession, plan: JavaObject) -> tuple[JavaObject, frozenset[int]]:
    """The plan (`inlined`) with its subqueries as joins, and without views and aliases; the columns of domains in it, by expression id.

    Where a subquery is correlated by more than equality, below an aggregation or a limit, Spark joins it with the values of the outer
    query's columns (a domain), which it takes of a copy of the outer query.

    :raises UnsupportedOperator: Spark cannot make a join of a subquery.
    """
    from py4j.protocol import Py4JJavaError

    rewriter = _Rewriter(spark)
    try:
        return rewriter.joined(_stripped(spark, plan)), frozenset(rewriter.domains)
    except Py4JJavaError as problem:
        raise UnsupportedOperator(
            f"a subquery is not supported: Spark cannot make it a join ({first_line(problem)}). {_ADVICE}."
        ) from problem


def inlined(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """The plan with every common table expression written out where it is read, in subqueries too."""
    return inline_cte(spark).apply(plan)


def subqueries_in(spark: SparkSession, plan: JavaObject) -> Iterator[JavaObject]:
    """The subquery expressions of a plan's operators: not those inside these."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if not has_subqueries(spark, node):
            continue
        waiting.extend(items(node.children()))
        for expression in items(node.expressions()):
            yield from _within(spark, expression)


def _within(spark: SparkSession, expression: JavaObject) -> Iterator[JavaObject]:
    if not has_subqueries(spark, expression):
        return
    if class_name(expression) in SUBQUERIES:
        yield expression
    for child in items(expression.children()):
        yield from _within(spark, child)


class _Rewriter:
    """The rules of one session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.domains: set[int] = set()

    def joined(self, plan: JavaObject) -> JavaObject:
        """One level's subqueries as joins, those inside them first."""
        if not has_subqueries(self._spark, plan):
            return plan
        plan = applied(self._spark, _PULL_UP, calls_first(self._spark, plan))
        plan = replaced(self._spark, plan, self._inner)
        return applied(self._spark, _JOIN, plan)

    def _inner(self, subquery: JavaObject) -> JavaObject:
        self._note_domains(subquery.plan())
        new = subquery.withNewPlan(self.joined(subquery.plan()))
        return _marked(self._spark, new) if class_name(subquery) == "Exists" and not subquery.isCorrelated() else new

    def _note_domains(self, plan: JavaObject) -> None:
        """Note the domains of a subquery.

        :raises UnsupportedOperator: a UDF in it is called on what comes from the outer query. The call is made for a value of the
            domain, and no outer row stands behind it.
        """
        nodes = list(operators(plan))
        found = {number for node in nodes if class_name(node) == "DomainJoin" for number in _ids(node.domainAttrs())}
        self.domains |= found
        udf = _call_on(found, nodes) if found and has(self._spark, plan, "PYTHON_UDF") else None
        if udf is not None:
            raise UnsupportedOperator(
                f"the UDF {udf} called in a correlated subquery on columns of the outer query is not supported (at the subquery): Spark "
                "would call it for values, not for rows of the outer query. Call it in a query inside FROM, and correlate with its value."
            )


def _ids(attributes: JavaObject) -> list[int]:
    return [int(attribute.exprId().id()) for attribute in items(attributes)]


def _call_on(columns: set[int], nodes: list[JavaObject]) -> str | None:
    """A Python UDF that is called on any of these columns, or on what is computed from them."""
    expressions = [expression for node in nodes for whole in items(node.expressions()) for expression in parts(whole)]
    named = [(set(_ids(one.references().toSeq())), int(one.exprId().id())) for one in expressions if class_name(one) == "Alias"]
    for node in nodes:
        if class_name(node) == "Generate":
            named += [(set(_ids(node.generator().references().toSeq())), made) for made in _ids(node.generatorOutput())]
        if class_name(node) == "Expand":
            named += [(set(_ids(node.references().toSeq())), made) for made in _ids(node.output())]
        if class_name(node) == "Union":
            named += [({b}, a) for child in items(node.children()) for a, b in zip(_ids(node.output()), _ids(child.output()), strict=True)]
    known = set(columns)
    while more := {made for read, made in named if read & known} - known:
        known |= more
    calls = (one for one in expressions if class_name(one) == "PythonUDF")
    return next((str(one.name()) for one in calls if known.intersection(_ids(one.references().toSeq()))), None)


def replaced(spark: SparkSession, plan: JavaObject, change: Callable[[JavaObject], JavaObject]) -> JavaObject:
    """The plan with its subquery expressions changed."""
    return _with(spark, plan, [(subquery, change(subquery)) for subquery in subqueries_in(spark, plan)])


def _with(spark: SparkSession, plan: JavaObject, new: Sequence[tuple[JavaObject, JavaObject]]) -> JavaObject:
    """The plan with expressions replaced by others."""
    if not new:
        return plan
    found = java_class(spark, "java.util.HashMap")()
    for old, other in new:
        found.put(old, other)
    # A Scala map is a partial function, which is what a transformation takes.
    return plan.transformAllExpressions(java_class(spark, "org.apache.spark.api.python.PythonUtils").toScalaMap(found))


def _marked(spark: SparkSession, exists: JavaObject) -> JavaObject:
    """An EXISTS that reads nothing of the outer query, marked so that it becomes a join like the others.

    Spark would ask for one row of it instead, and the lineage would be that row, whichever it is.
    """
    always = sequence(spark, [java_class(spark, "org.apache.spark.sql.catalyst.expressions.Literal").TrueLiteral()])
    marked = exists.withNewOuterAttrs(always)
    return with_fields(spark, marked, joinCond=always) if needs_join_conditions(spark) else marked


def _stripped(spark: SparkSession, plan: JavaObject) -> JavaObject:
    plan = applied(spark, _STRIP, plan)

    def inner(subquery: JavaObject) -> JavaObject:
        below = _with_plain_counts(spark, _stripped(spark, subquery.plan()))
        return subquery.withNewPlan(_unlimited(below) if class_name(subquery) == "Exists" else below)

    return replaced(spark, plan, inner)


def _with_plain_counts(spark: SparkSession, plan: JavaObject) -> JavaObject:
    """A subquery's plan with ``count`` for the functions that are one (``count_if``, ``regr_count``), as Spark's optimizer has it by then.

    Its rules ask an aggregation what it gives over no rows, and only the plain function knows that it is 0.
    """
    if not (has(spark, plan, "AGGREGATE_EXPRESSION") and has(spark, plan, "RUNTIME_REPLACEABLE")):
        return plan
    every = (part for node in operators(plan) for expression in items(node.expressions()) for part in parts(expression))
    return _with(spark, plan, [(part, part.replacement()) for part in every if class_name(part) in _COUNTS])


def _unlimited(plan: JavaObject) -> JavaObject:
    """The plan of an EXISTS without its LIMIT: whether there is a row does not depend on how many at most are asked for.

    The lineage is the same as without it, all rows for which the condition is true. An OFFSET asks for more than one row, and stays.
    """
    while class_name(plan) in ("GlobalLimit", "LocalLimit") and class_name(plan.child()) != "Offset" and _at_least_one(plan.limitExpr()):
        plan = plan.child()
    return plan


def _at_least_one(count: JavaObject) -> bool:
    value = count.eval(None) if count.foldable() else None
    return isinstance(value, int) and value > 0


def applied(spark: SparkSession, rules: tuple[str, ...], plan: JavaObject) -> JavaObject:
    """The plan after some of Catalyst's rules."""
    for rule in rules:
        plan = scala_object(spark, f"{_CATALYST}{rule}").apply(plan)
    return plan
