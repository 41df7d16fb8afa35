"""Which sums and averages of floating-point numbers no order of rows changes: bounds against the values themselves."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.exact_sums import is_exact, most_of
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.rewrite.determinism import is_repeatable

COLUMNS = {name: e.Attribute(id=at, name=name, type=name) for at, name in enumerate(("tinyint", "smallint", "int", "bigint", "double"))}
FLAG = e.Attribute(id=9, name="flag", type="boolean")
WIDTHS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


def constant(value: int | float, kind: str = "int") -> e.Literal:
    return e.Literal(value=str(value), type=kind)


def call(function: str, *arguments: e.Expression, kind: str = "int") -> e.Call:
    return e.Call(function=function, arguments=arguments, type=kind)


def case(*values: e.Expression, kind: str = "int") -> e.Call:
    """CASE WHEN flag THEN the first … ELSE the last."""
    first, *rest = values
    return call("when", FLAG, first, *rest, kind=kind)


def average(value: e.Expression, function: str = "avg") -> e.AggregateCall:
    return e.AggregateCall(function=function, arguments=(value,), type="double")


EXACT: dict[str, e.Expression] = {
    "a share": case(constant(1), constant(0)),
    "no ELSE": case(constant(1)),
    "flags": e.Cast(child=FLAG, type="int"),
    "flags as doubles": e.Cast(child=e.Cast(child=FLAG, type="int"), type="double"),
    "numbers of two bytes": COLUMNS["smallint"],
    "points": case(constant(100), call("-", constant(20_000), COLUMNS["tinyint"])),
    "doubles that are whole": case(constant(1.0, "double"), constant(0.0, "double"), kind="double"),
    "nothing": e.Literal(value=None, type="int"),
    "what is cut to two bytes": e.Cast(child=COLUMNS["double"], type="smallint"),
}
NOT_EXACT: dict[str, e.Expression] = {
    "four bytes": COLUMNS["int"],
    "doubles": COLUMNS["double"],
    "halves": case(constant(0.5, "double"), constant(0.0, "double"), kind="double"),
    "a large constant": case(constant(2**15 + 1), constant(0)),
    "one of four bytes": case(COLUMNS["int"], constant(0)),
    "bytes as a number": e.Cast(child=e.Literal(value="10", type="binary"), type="int"),
    "a quotient": call("/", constant(1), constant(3), kind="double"),
    "a product": call("*", COLUMNS["smallint"], COLUMNS["tinyint"]),
}


@pytest.mark.parametrize("what", EXACT)
@pytest.mark.parametrize("function", ["avg", "sum"])
def test_small_whole_numbers(what: str, function: str) -> None:
    assert is_exact(average(EXACT[what], function))


@pytest.mark.parametrize("what", NOT_EXACT)
def test_others(what: str) -> None:
    assert not is_exact(average(NOT_EXACT[what]))


def test_other_functions_round_whole_numbers_too() -> None:
    assert not is_exact(average(EXACT["a share"], "stddev"))


@pytest.mark.parametrize(("value", "repeats"), [(EXACT["a share"], True), (COLUMNS["double"], False)])
def test_such_an_aggregation_can_be_repeated(value: e.Expression, repeats: bool) -> None:
    table = o.Source(relation=Relation(name="t", kind="local"), output=(FLAG, *COLUMNS.values()), columns=("flag", *COLUMNS), leaf=0)
    made = o.Aggregate(
        child=table, keys=(), columns=(e.Alias(child=average(value), attribute=e.Attribute(id=20, name="a", type="double")),)
    )
    assert is_repeatable(made) is repeats


def wrapped(value: int, kind: str) -> int:
    """As an integer of this type, which begins anew at the other end."""
    half = 1 << WIDTHS[kind]
    return (value + half) % (2 * half) - half


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "greatest": max,
    "least": min,
}


def values(row: Mapping[str, int], value: Any) -> int:
    """What an expression is over a row: the meaning that bounds are held against."""
    match value:
        case e.Attribute():
            return int(row[value.name])
        case e.Literal():
            return int(str(value.value))
        case e.Cast():
            return wrapped(values(row, value.child), value.type)
        case e.Call(function="when"):
            return wrapped(values(row, value.arguments[1 if row["flag"] else 2]), value.type)
    return wrapped(_OPERATIONS[value.function](*(values(row, one) for one in value.arguments)), value.type)


KINDS = st.sampled_from(list(WIDTHS))
LEAVES = st.one_of(st.sampled_from([COLUMNS[name] for name in WIDTHS]), st.integers(-(2**20), 2**20).map(constant))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda one, kind: e.Cast(child=one, type=kind), inner, KINDS),
        st.builds(lambda one, other, kind: case(one, other, kind=kind), inner, inner, KINDS),
        st.builds(
            lambda name, one, other, kind: call(name, one, other, kind=kind), st.sampled_from(list(_OPERATIONS)), inner, inner, KINDS
        ),
    ),
    max_leaves=6,
)
ROWS = st.fixed_dictionaries({name: st.integers(-(2**width), 2**width - 1) for name, width in WIDTHS.items()} | {"flag": st.integers(0, 1)})


@given(EXPRESSIONS, ROWS)
def test_no_value_is_beyond_its_bound(value: e.Expression, row: dict[str, int]) -> None:
    bound = most_of(value)
    assert bound is not None
    assert abs(values(row, value)) <= bound


def test_no_order_changes_a_sum_of_them() -> None:
    drawn = random.Random(7)
    numbers = [float(drawn.randint(-(2**15), 2**15)) for _ in range(50_000)]
    # (One after the other: Python's own sum compensates from 3.12 on.)
    sums = {reduce(add, drawn.sample(numbers, len(numbers))) for _ in range(5)}
    assert len(sums) == 1
    assert reduce(add, map(float, [2**53, 1, -(2**53)])) != reduce(add, map(float, [2**53, -(2**53), 1]))  # what larger ones do
