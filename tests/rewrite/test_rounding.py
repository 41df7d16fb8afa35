"""Which columns of a result may have other last digits in each run: what passes through no sum of floating-point numbers has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.rewrite.rounding import rounded_columns

G, X, N = (e.Attribute(id=at, name=name, type=kind) for at, (name, kind) in enumerate((("g", "int"), ("x", "double"), ("n", "int"))))
SOURCE = o.Source(relation=Relation(name="t", kind="files", format="parquet"), output=(G, X, N), columns=("g", "x", "n"), leaf=0)


def made(child: e.Expression, number: int, kind: str = "double") -> e.Alias:
    return e.Alias(child=child, attribute=e.Attribute(id=number, name=f"made_{number}", type=kind))


def aggregated(function: str, value: e.Attribute, kind: str = "double") -> o.Aggregate:
    """The key, the aggregate, and the number of rows."""
    call = e.AggregateCall(function=function, arguments=(value,), type=kind)
    many = made(e.AggregateCall(function="count", arguments=(), type="bigint"), 11, "bigint")
    return o.Aggregate(child=SOURCE, keys=(G,), columns=(G, made(call, 10, kind), many))


@pytest.mark.parametrize(("function", "value", "kind", "wanted"), [
    ("sum", X, "double", {1}), ("avg", X, "double", {1}), ("stddev", X, "double", {1}), ("max", X, "double", set()),
    ("sum", N, "bigint", set()), ("sum", N, "decimal(20,2)", set()),
])  # fmt: skip
def test_sums_of_floating_point_numbers(function: str, value: e.Attribute, kind: str, wanted: set[int]) -> None:
    assert rounded_columns(SOURCE) == set()
    assert rounded_columns(aggregated(function, value, kind)) == wanted


def test_what_is_computed_of_one() -> None:
    below = aggregated("sum", X)
    total, many = below.output[1:]
    share = made(e.Call(function="/", arguments=(total, e.Cast(child=many, type="double")), type="double"), 20)
    filtered = o.Filter(child=o.Project(child=below, columns=(many, share, G)), condition=e.Literal(value="true", type="boolean"))
    assert rounded_columns(filtered) == {1}
    plain = o.Project(child=SOURCE, columns=(made(N, 30, "bigint"), made(X, 31), G))
    own = tuple(replace(one, id=40 + at) for at, one in enumerate(filtered.output))
    assert rounded_columns(o.Union(children=(filtered, plain), output=own)) == {1}
    beside = made(
        e.Call(function="+", arguments=(X, e.ScalarSubquery(plan=o.Project(child=below, columns=(total,)), type="double")), type="double"),
        50,
    )
    assert rounded_columns(o.Project(child=SOURCE, columns=(X, beside))) == {1}


def test_functions_in_python() -> None:
    value = e.Attribute(id=60, name="score", type="double")
    judged = o.FunctionOperator(child=SOURCE, function=0, udf="score", arguments=(X,), value=value)
    assert rounded_columns(judged) == {3}
    assert rounded_columns(o.Project(child=judged, columns=(X, made(e.Call(function="abs", arguments=(value,), type="double"), 61)))) == {1}
