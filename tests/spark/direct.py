"""A captured plan run as SQL with no rewrite but these two: names apart, and scalar subqueries as left joins with their row."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.expression_walk import transform_expression
from airflow_lineage_provider.plan.walk import all_operators, children, made_by, rename_attributes, subqueries, transform_up, with_children
from airflow_lineage_provider.spark.session import apply_conf
from airflow_lineage_provider.sql import lower
from airflow_lineage_provider.tracing.binding import Key, LeafTable, bind
from tests.spark.pipelines import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.spark.capturing.capture import CapturedPipeline


def rows_of(spark: SparkSession, captured: CapturedPipeline, show: bool = False) -> list[str]:
    """The rows of the captured plan, executed as SQL over views of its leaves."""
    plan = joined_subqueries(captured.pipeline.plan)
    names = {a.id: f"{a.name[:20]}_{a.id}" for node in all_operators(plan) for a in made_by(node)}
    plan = rename_attributes(plan, names)
    check(plan)
    tables: dict[Key, LeafTable] = {}
    for number, leaf in enumerate(captured.leaves):
        columns = [f"c{i}" for i in range(len(leaf.columns))]
        leaf.toDF(*columns).createOrReplaceTempView(f"leaf_{number}")
        tables["source", number] = LeafTable(name=(f"leaf_{number}",))
    plan = transform_up(plan, _plain_columns)
    with apply_conf(spark, dict(captured.pipeline.conf)):
        text = lower(plan, bind(plan, tables), dialect="spark")
        if show:
            print(text)
        return rows(spark.sql(text).toDF(*captured.pipeline.names))


def _plain_columns(node: o.Plan) -> o.Plan:
    return replace(node, columns=tuple(f"c{i}" for i in range(len(node.columns)))) if isinstance(node, o.Source) else node


def joined_subqueries(plan: o.Plan) -> o.Plan:
    """Each scalar subquery as a left join with its (only) row."""
    numbers = count(10_000_000)
    return _joined(plan, numbers)


def _joined(node: o.Plan, numbers: Any) -> o.Plan:
    node = with_children(node, tuple(_joined(child, numbers) for child in children(node)))
    found = tuple(dict.fromkeys(subqueries(node)))
    if not found:
        return node
    assert not isinstance(node, o.Join), "a scalar subquery in a join condition needs the real rewrite"
    (child,) = children(node)
    values: dict[e.ScalarSubquery, e.Attribute] = {}
    for subquery in found:
        inner = _renumbered(_joined(subquery.plan, numbers), numbers)
        child = o.Join(left=child, right=inner, kind="left")
        values[subquery] = inner.output[0]
    # A new child and new expressions at once: neither fits the other's old form.
    changed = object.__new__(type(node))
    for name, value in vars(node).items():
        object.__setattr__(changed, name, _with_values(value, values))
    object.__setattr__(changed, "child", child)
    return o.Project(child=replace(changed), columns=node.output)


def _with_values(value: Any, values: dict[e.ScalarSubquery, e.Attribute]) -> Any:
    if isinstance(value, tuple):
        return tuple(_with_values(item, values) for item in value)
    if not isinstance(value, (*e.EXPRESSION_CLASSES, e.Alias, e.SortKey)):
        return value
    whole: Any = value
    return transform_expression(whole, lambda part: values.get(part, part) if isinstance(part, e.ScalarSubquery) else part)


def _renumbered(plan: o.Plan, numbers: Any) -> o.Plan:
    """The same subquery may stand at several places."""
    new = e.Attribute(id=next(numbers), name="value", type=plan.output[0].type)
    return o.Project(child=plan, columns=(e.Alias(child=plan.output[0], attribute=new),))
