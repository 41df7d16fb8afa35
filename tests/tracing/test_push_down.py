"""Restrictions go as deep as is sound, and no deeper: on plans made by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import (
    WHOLE_PARTITION,
    AggregateCall,
    Alias,
    Attribute,
    Call,
    Expression,
    Literal,
    WindowFunction,
)
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.tracing.push_down import narrowed, push_down, restricted
from airflow_lineage_provider.tracing.reserved import TARGET


def attribute(number: int, name: str, type: str = "int") -> Attribute:
    return Attribute(id=number, name=name, type=type)


def table(name: str, leaf: int, *columns: Attribute) -> o.Source:
    return o.Source(relation=Relation(name=name, kind="table"), output=columns, columns=tuple(c.name for c in columns), leaf=leaf)


A, B = attribute(1, "a"), attribute(2, "b")
C, D = attribute(3, "c"), attribute(4, "d")
T, U = table("t", 0, A, B), table("u", 1, C, D)


def equal(left: Expression, right: Expression) -> Call:
    return Call(function="=", arguments=(left, right), type="boolean")


def is_seven(a: Attribute) -> Call:
    return equal(a, Literal(value="7", type=a.type))


def pushed(plan: o.Plan, *terms: Expression) -> list[str]:
    return [line.strip() for line in plan_text(push_down(plan, terms)).splitlines()]


def test_an_inner_join_passes_it_to_both_sides_by_equality() -> None:
    joined = o.Join(left=T, right=U, kind="inner", condition=equal(A, C))
    assert pushed(joined, is_seven(A)) == ["⋈ (a = c)", "σ (a = 7)", "t [a, b]", "σ (c = 7)", "u [c, d]"]
    assert pushed(joined, is_seven(D)) == ["⋈ (a = c)", "t [a, b]", "σ (d = 7)", "u [c, d]"]


@pytest.mark.parametrize("type_text", ["double", "float"])
def test_a_term_over_floating_point_numbers_is_not_given_to_those_who_read_files(type_text: str) -> None:
    """Whose statistics know no NaN, and tell 0.0 from -0.0."""
    x = attribute(1, "x", type_text)
    assert pushed(table("t", 0, x), is_seven(x)) == ["t [x]"]


@pytest.mark.parametrize(("form", "restricted_to"), [("json", ["t [day]"]), ("parquet", ["σ (day = '7')", "t [day]"])])
def test_days_are_not_given_to_the_json_reader(form: str, restricted_to: list[str]) -> None:
    day = attribute(1, "day", "date")
    source = o.Source(relation=Relation(name="t", kind="files", format=form), output=(day,), columns=("day",), leaf=0)
    plan = restricted(segment(o.Project(child=source, columns=(day,)), (day,), ("day",)), is_seven(day))
    assert [line.strip() for line in plan_text(plan.root.plan).splitlines()][1:] == restricted_to


def test_a_term_over_both_sides_stays_above() -> None:
    joined = o.Join(left=T, right=U, kind="inner", condition=equal(A, C))
    assert pushed(joined, equal(B, D))[0] == "σ (b = d)"


@pytest.mark.parametrize(
    ("kind", "of_left", "of_right"),
    [
        ("left", ["⟕ (a = c)", "σ (a = 7)", "t [a, b]", "σ (c = 7)", "u [c, d]"], ["σ (d = 7)", "⟕ (a = c)", "t [a, b]", "u [c, d]"]),
        ("right", ["σ (a = 7)", "⟖ (a = c)", "t [a, b]", "u [c, d]"], ["⟖ (a = c)", "t [a, b]", "σ (d = 7)", "u [c, d]"]),
        ("full", ["σ (a = 7)", "⟗ (a = c)", "t [a, b]", "u [c, d]"], ["σ (d = 7)", "⟗ (a = c)", "t [a, b]", "u [c, d]"]),
    ],
)
def test_an_outer_join_is_not_restricted_on_the_side_that_it_fills_with_nulls(
    kind: o.JoinKind, of_left: list[str], of_right: list[str]
) -> None:
    joined = o.Join(left=T, right=U, kind=kind, condition=equal(A, C))
    assert pushed(joined, is_seven(A)) == of_left
    assert pushed(joined, is_seven(D)) == of_right


def test_a_difference_is_restricted_on_the_left_alone() -> None:
    """``(T₁ − T₂) ⋉ Ō → (T₁ ⋉ Ō) − T₂`` (section 6.1 of the augmented-lineage paper)."""
    difference = o.Join(left=T, right=U, kind="left_anti", condition=equal(A, C))
    assert pushed(difference, is_seven(A)) == ["▷ (a = c)", "σ (a = 7)", "t [a, b]", "u [c, d]"]
    semi = o.Join(left=T, right=U, kind="left_semi", condition=equal(A, C))
    assert pushed(semi, is_seven(A)) == ["⋉ (a = c)", "σ (a = 7)", "t [a, b]", "σ (c = 7)", "u [c, d]"]


def test_an_aggregation_lets_grouping_keys_through_and_nothing_else() -> None:
    total = attribute(9, "total")
    call = AggregateCall(function="max", arguments=(B,), type="int")
    grouped = o.Aggregate(child=T, keys=(A,), columns=(A, Alias(child=call, attribute=total)))
    assert pushed(grouped, is_seven(A), is_seven(total)) == ["σ (total = 7)", "α a; max(b) AS total", "σ (a = 7)", "t [a, b]"]


def test_a_window_lets_partition_keys_through() -> None:
    n = attribute(9, "n")
    call = WindowFunction(function="count", arguments=(B,), type="int", frame=WHOLE_PARTITION)
    window = o.Window(child=T, functions=(Alias(child=call, attribute=n),), partition=(A,))
    lines = pushed(window, is_seven(A), is_seven(B))
    assert lines[0] == "σ (b = 7)"
    assert lines[2:] == ["σ (a = 7)", "t [a, b]"]


def test_a_projection_is_seen_through_where_nothing_can_fail() -> None:
    year, ratio = attribute(9, "year"), attribute(10, "ratio")
    computed = o.Project(
        child=T,
        columns=(
            Alias(child=Call(function="year", arguments=(A,), type="int"), attribute=year),
            Alias(child=Call(function="/", arguments=(A, B), type="int"), attribute=ratio),
        ),
    )
    assert pushed(computed, is_seven(year))[1:] == ["σ (year(a) = 7)", "t [a, b]"]
    # a / b fails where b is 0: a selection above the projection would have been met by rows that stay only.
    assert "σ" not in " ".join(pushed(computed, is_seven(ratio))[1:])


def test_a_union_is_restricted_branch_by_branch() -> None:
    x, y = attribute(9, "x"), attribute(10, "y")
    union = o.Union(children=(T, U), output=(x, y))
    assert pushed(union, is_seven(y)) == ["∪", "σ (b = 7)", "t [a, b]", "σ (d = 7)", "u [c, d]"]


def test_a_function_operator_lets_through_what_it_does_not_make() -> None:
    value = attribute(9, "value", "string")
    judged = o.FunctionOperator(child=T, function=0, udf="f", arguments=(B,), value=value)
    assert pushed(judged, is_seven(A), is_seven(value)) == ["σ (value = '7')", "φ f(b) → value", "σ (a = 7)", "t [a, b]"]


def test_a_term_that_may_fail_stays_where_it_is_asked() -> None:
    risky = equal(Call(function="/", arguments=(A, B), type="int"), Literal(value="7", type="int"))
    assert push_down(T, (risky,)) is T


def test_a_tracing_query_is_narrowed_to_its_targets_values() -> None:
    tag, copy = attribute(-1, "lineage_tag", "bigint"), attribute(20, "target_a")
    leaf = o.SegmentOutput(segment=TARGET, output=(tag, copy))
    joined = o.Join(left=o.Join(left=T, right=U, kind="inner", condition=equal(A, C)), right=leaf, kind="inner", condition=equal(A, copy))
    query = o.Distinct(child=o.Project(child=joined, columns=(tag, D)))
    lines = [line.strip() for line in plan_text(narrowed(query, pa.table({"t": [0, 1], "k": [7, 9]}))).splitlines()]
    assert [line for line in lines if line.startswith("σ")] == [
        "σ in(a, cast('7' AS int), cast('9' AS int))",
        "σ in(c, cast('7' AS int), cast('9' AS int))",
    ]
    many = pa.table({"t": list(range(500)), "k": list(range(500))})
    assert narrowed(query, many) == query
