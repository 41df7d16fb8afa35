"""Instances and their templates: constants of conditions and limits apart, everything that makes a result tells them from each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.sketches.template import Instance, instance_of, why_another_time

FILES = Relation(name="t", kind="files", format="parquet", paths=("/data/t",))


def attribute(number: int, name: str, kind: str = "int") -> e.Attribute:
    return e.Attribute(id=number, name=name, type=kind)


def number(value: int) -> e.Literal:
    return e.Literal(value=str(value), type="int")


def call(function: str, *arguments: e.Expression) -> e.Call:
    return e.Call(function=function, arguments=arguments, type="boolean")


def table(relation: Relation = FILES, first: int = 0, leaf: int = 0) -> o.Source:
    return o.Source(relation=relation, output=(attribute(first, "k"), attribute(first + 1, "v")), columns=("k", "v"), leaf=leaf)


def top(least: int, most: int, count: int, relation: Relation = FILES, first: int = 0) -> o.Plan:
    """``SELECT k, sum(v) FROM t WHERE v > least GROUP BY k HAVING sum(v) < most ORDER BY k LIMIT count``"""
    source = table(relation, first)
    k, v = source.output
    total = e.Attribute(id=first + 2, name="total", type="bigint")
    call_ = e.AggregateCall(function="sum", arguments=(v,), type="bigint")
    groups = o.Aggregate(
        child=o.Filter(child=source, condition=call(">", v, number(least))), keys=(k,), columns=(k, e.Alias(child=call_, attribute=total))
    )
    kept = o.Filter(child=groups, condition=call("<", total, e.Literal(value=str(most), type="bigint")))
    return o.Limit(child=o.Sort(child=kept, order=(e.SortKey(child=k),)), count=count)


def instance(plan: o.Plan, conf: tuple[tuple[str, str], ...] = (), others: tuple[str, ...] = ()) -> Instance:
    return instance_of(Pipeline(plan=plan, names=tuple("ab"), conf=conf), others)


def test_constants_are_the_binding() -> None:
    one, other = instance(top(1, 2, 3)), instance(top(10, 20, 30))
    assert one.template == other.template
    assert (one.binding, other.binding) == (("1", "2", "3", "0"), ("10", "20", "30", "0"))


def test_the_sessions_numbers_and_the_names_of_results_do_not_matter() -> None:
    assert instance(top(1, 2, 3)) == instance(top(1, 2, 3, first=100))


def test_what_else_makes_a_result_makes_another_template() -> None:
    made = instance(top(1, 2, 3))
    others = [
        instance(top(1, 2, 3, replace(FILES, paths=("/data/other",)))),
        instance(top(1, 2, 3, replace(FILES, options=(("mergeSchema", "true"),)))),
        instance(top(1, 2, 3), conf=(("spark.sql.ansi.enabled", "false"),)),
        instance(top(1, 2, 3), others=("credit_exam 2",)),
        instance(o.Distinct(child=top(1, 2, 3))),
    ]
    assert len({made.template, *(one.template for one in others)}) == len(others) + 1


def test_constants_of_values_are_the_templates() -> None:
    def doubled(factor: int) -> o.Plan:
        source = table()
        made = e.Alias(child=e.Call(function="*", arguments=(source.output[1], number(factor)), type="int"), attribute=attribute(9, "w"))
        return o.Project(child=source, columns=(source.output[0], made))

    assert instance(doubled(2)).template != instance(doubled(3)).template
    assert instance(doubled(2)).binding == ()


def test_a_type_of_a_constant_is_the_templates() -> None:
    def above(literal: e.Literal) -> o.Plan:
        source = table()
        return o.Filter(child=source, condition=call(">", source.output[1], literal))

    assert instance(above(number(5))).template != instance(above(e.Literal(value="5", type="bigint"))).template
    assert instance(above(e.Literal(value=None, type="int"))) == Instance(instance(above(number(5))).template, (None,))


NOW = e.Call(function="now", arguments=(), type="timestamp")


def joined(other: o.Plan) -> o.Plan:
    source = table(leaf=0)
    return o.Join(left=source, right=other, kind="inner", condition=call("=", source.output[0], other.output[0]))


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (top(1, 2, 3), ""),
        (joined(table(first=10, leaf=1)), ""),
        (joined(o.Limit(child=table(first=10, leaf=1), count=3)), "may be others in another run"),
        (o.Filter(child=table(), condition=call("<", e.Call(function="rand", arguments=(), type="double"), number(1))), "random"),
        (joined(o.Filter(child=table(first=10, leaf=1), condition=call("<", NOW, number(1)))), "clock"),
    ],
)  # fmt: skip
def test_what_another_run_may_do_otherwise(plan: o.Plan, told: str) -> None:
    found = why_another_time(plan, frozenset({0}))
    assert (told in found) if told else not found
