"""What may be another value in each run over the same rows: rounded sums and what reads them, ties, overflows, the session's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.rewrite.determinism import is_repeatable
from airflow_lineage_provider.sketches.columns import SafeColumn, safe_columns
from airflow_lineage_provider.sketches.reuse import why_not_reused
from airflow_lineage_provider.sketches.statistics import ColumnBounds
from airflow_lineage_provider.sketches.template import instance_of, why_another_time
from tests.plan.shorthand import Shorthand


def named(number: int, name: str, kind: str) -> e.Attribute:
    return e.Attribute(id=number, name=name, type=kind)


def constant(value: str, kind: str) -> e.Literal:
    return e.Literal(value=value, type=kind)


def source(*attributes: e.Attribute) -> o.Source:
    made = Shorthand().table("T", "a, b")
    return replace(made, output=attributes, columns=tuple(one.name for one in attributes))


def called(function: str, kind: str, *arguments: e.Expression) -> e.Call:
    return e.Call(function=function, arguments=arguments, type=kind)


def grouped(child: o.Plan, keys: tuple[e.Expression, ...], function: str, argument: e.Expression, kind: str) -> o.Aggregate:
    """Its one value is ``value``, an attribute whose id follows from how deep it is."""
    depth = 100 + len(str(child))
    made = e.Alias(child=e.AggregateCall(function=function, arguments=(argument,), type=kind), attribute=named(depth, "value", kind))
    plain = tuple(key for key in keys if isinstance(key, e.Attribute))
    others = tuple(e.Alias(child=key, attribute=named(depth + 1, "key", "bigint")) for key in keys if not isinstance(key, e.Attribute))
    return o.Aggregate(child=child, keys=keys, columns=(*plain, *others, made))


def value_of(plan: o.Plan) -> e.Attribute:
    return next(one for name in ("rank", "value") for one in plan.output if one.name == name)


def having(plan: o.Plan, operator: str, bound: str) -> o.Filter:
    value = value_of(plan)
    return o.Filter(child=plan, condition=called(operator, "boolean", value, constant(bound, value.type)))


def judged(
    plan: o.Plan, *, ansi: bool = True, bounds: Mapping[tuple[int, str], ColumnBounds] | None = None, keys: tuple[str, ...] = ()
) -> dict[str, SafeColumn]:
    pipeline = Pipeline(
        plan=plan, names=tuple(one.name for one in plan.output), conf=(("spark.sql.ansi.enabled", "true" if ansi else "false"),)
    )
    return {one.column: one for one in safe_columns(pipeline, bounds=bounds, keys={0: keys} if keys else None)}


def safe(plan: o.Plan, **known: object) -> list[str]:
    return [name for name, one in judged(plan, **known).items() if one.safe]  # type: ignore[arg-type]


K, J, V = named(0, "k", "int"), named(1, "j", "int"), named(2, "v", "double")
SUMS = grouped(source(K, J, V), (K, J), "sum", V, "double")
SUM = value_of(SUMS)
ABOVE = called("when", "int", called(">", "boolean", SUM, constant("0.6", "double")), constant("1", "int"))
RANK = named(300, "rank", "int")


def window(function: str, kind: str, *arguments: e.Expression, by: e.Expression) -> o.Window:
    frame = e.WindowFrame(kind="rows", lower="unbounded", upper="unbounded" if arguments else "current_row")
    call = e.WindowFunction(function=function, arguments=arguments, type=kind, frame=frame)
    key = e.SortKey(child=by, ascending=False, nulls_first=False)
    return o.Window(child=SUMS, partition=(K,), order=(key,), functions=(e.Alias(child=call, attribute=replace(RANK, type=kind)),))


def first_of(plan: o.Plan) -> o.Limit:
    key = e.SortKey(child=value_of(plan), ascending=False, nulls_first=False)
    return o.Limit(child=o.Sort(child=plan, order=(key,), is_global=True), count=1, offset=0)


SUMMED_TWICE: dict[str, o.Plan] = {
    "the largest is compared": having(grouped(SUMS, (K,), "max", SUM, "double"), ">", "0.6"),
    "counted where one is larger": having(grouped(SUMS, (K,), "count", ABOVE, "bigint"), "=", "0"),
    "the largest is ordered by": first_of(grouped(SUMS, (K,), "max", SUM, "double")),
    "the largest is grouped by": grouped(
        grouped(SUMS, (K,), "max", SUM, "double"),
        (value_of(grouped(SUMS, (K,), "max", SUM, "double")),),
        "count",
        constant("1", "int"),
        "bigint",
    ),
    "ranked by": having(window("rank", "int", by=SUM), "<=", "1"),
    "the largest of a partition is compared": having(window("max", "double", SUM, by=J), ">", "0.6"),
}


def test_what_is_computed_of_rounded_sums_is_not_compared() -> None:
    """(.1 + .2) + .3 is more than .6, .1 + (.2 + .3) is not: a sketch of the one run lacks what passes in the other."""
    assert {name: safe(plan) for name, plan in SUMMED_TWICE.items()} == {name: [] for name in SUMMED_TWICE}


def test_what_is_computed_of_rounded_sums_may_be_given() -> None:
    assert safe(grouped(SUMS, (K,), "max", SUM, "double")) == ["k", "j", "v"]
    exact = grouped(source(K, J, named(2, "v", "int")), (K, J), "sum", named(2, "v", "int"), "bigint")
    assert safe(having(grouped(exact, (K,), "max", value_of(exact), "bigint"), ">", "6")) == ["k", "j"]


def test_a_cast_without_room_is_no_step() -> None:
    """Of 5, 127, -900, -800, 900 three are NULL as a tinyint, in two fragments of (0, 10, 120); of 44, 300 the group is 44 for both."""
    number = named(0, "n", "int")
    for is_try, (kind, found) in product((True, False), (("tinyint", []), ("bigint", ["n"]))):
        ten = e.Cast(child=constant("10", "int"), type="double")
        step = called("/", "double", e.Cast(child=e.Cast(child=number, type=kind, safe=is_try), type="double"), ten)
        plan = grouped(source(number, J), (called("floor", "bigint", step),), "count", constant("1", "int"), "bigint")
        assert safe(having(plan, "<", "3"), ansi=is_try) == found


def test_without_ansi_a_sum_of_what_is_not_negative_may_be() -> None:
    """Of twice 2^62 it is: the smallest number. Over the sketch of one half of a group it may be, where that of all is not."""
    number = named(2, "v", "bigint")
    plan = having(grouped(source(K, J, number), (K,), "sum", number, "bigint"), "<", "0")
    bounds = {(0, "v"): ColumnBounds("0", str(2**62), False)}
    assert safe(plan, ansi=True, bounds=bounds) == ["k", "j", "v"]
    assert safe(plan, ansi=False, bounds=bounds) == ["k"]


def test_without_ansi_a_sum_may_be_null() -> None:
    number = named(2, "v", "decimal(38,0)")
    plan = grouped(source(K, J, number), (K,), "sum", number, "decimal(38,0)")
    bounds = {(0, "v"): ColumnBounds("0", "9" * 38, False)}
    for function in ("isnull", "isnotnull"):
        asked = o.Filter(child=plan, condition=called(function, "boolean", value_of(plan)))
        assert safe(asked, ansi=False, bounds=bounds) == ["k"]
        assert safe(asked, ansi=True, bounds=bounds) == ["k", "j", "v"]


def test_another_session_s_database_is_another_value() -> None:
    owner = named(1, "owner", "string")
    for function in ("current_database", "current_schema", "current_catalog", "current_path"):
        plan = o.Filter(child=source(K, owner), condition=called("=", "boolean", owner, called(function, "string")))
        assert why_another_time(plan, frozenset({0}))
        assert judged(plan)["k"].rule == "random"


def test_rows_that_tie_below_a_limit_may_have_another_number() -> None:
    """Which of (1, 5, 1) and (1, 5, 2) is number 1 hangs on how Spark sorts the two."""
    order, value = named(2, "o", "int"), named(1, "v", "int")
    for function, found in (("row_number", []), ("rank", ["k"])):
        frame = e.WindowFrame(kind="rows", lower="unbounded", upper="current_row")
        call = e.WindowFunction(function=function, arguments=(), type="int", frame=frame)
        numbered = o.Window(
            child=source(K, value, order), partition=(K,), order=(e.SortKey(child=value, ascending=True, nulls_first=True),),
            functions=(e.Alias(child=call, attribute=RANK),),
        )  # fmt: skip
        key = e.SortKey(child=order, ascending=True, nulls_first=True)
        cut = o.Limit(child=o.Sort(child=numbered, order=(key,), is_global=True), count=10, offset=0)
        assert safe(having(cut, "=", "1"), keys=("o",)) == found


def test_estimates_hang_on_the_order_of_rows() -> None:
    for function in ("hll_sketch_agg", "theta_sketch_agg", "kll_merge_agg_bigint", "vector_sum", "an_aggregate_of_somebodys"):
        plan = grouped(source(K, J), (K,), function, J, "binary")
        estimate = called("theta_sketch_estimate", "bigint", value_of(plan))
        assert safe(o.Filter(child=plan, condition=called(">", "boolean", estimate, constant("5000", "bigint")))) == []


def test_an_average_of_very_large_numbers_is_rounded() -> None:
    """2^53 + 1 + 1 is 2^53 in one order."""
    for kind, largest, found in (
        ("bigint", None, []),
        ("bigint", "9007199254740992", []),
        ("int", "1700000000", []),
        ("int", "9999", ["k"]),
        ("smallint", None, ["k"]),
    ):
        number = named(2, "v", kind)
        plan = having(grouped(source(K, J, number), (K,), "avg", number, "double"), ">", "3.5")
        bounds = {} if largest is None else {(0, "v"): ColumnBounds("0", largest, False)}
        assert safe(plan, bounds=bounds) == found


@pytest.mark.parametrize(("given", "kind", "room"), [("decimal(10,0)", "int", []), ("decimal(9,0)", "int", ["k", "j", "v"])])
def test_a_cast_that_a_number_may_not_survive_is_another_value(given: str, kind: str, room: list[str]) -> None:
    """TRY_CAST of 9999999999 as an int is NULL: over a sketch of the group's 200 it is more than 100."""
    number = named(2, "v", given)
    plan = grouped(source(K, J, number), (K,), "max", number, given)
    cast = e.Cast(child=value_of(plan), type=kind, safe=True)
    asked = o.Filter(child=plan, condition=called(">", "boolean", cast, constant("100", kind)))
    assert safe(asked) == (room or ["k"])


def test_a_constant_that_its_type_has_no_room_for_is_no_number() -> None:
    """Without ANSI 3000000000 is −1294967296 as an int: what is above 2000000000 is few of what is above that."""
    number = named(2, "v", "int")

    def above(bound: str) -> Pipeline:
        cast = e.Cast(child=constant(bound, "bigint"), type="int")
        plan = o.Filter(child=source(K, J, number), condition=called(">", "boolean", number, cast))
        return Pipeline(plan=plan, names=("k", "j", "v"), conf=(("spark.sql.ansi.enabled", "false"),))

    few = instance_of(above("2000000000")).binding
    assert why_not_reused(above("3000000000"), few)
    assert not why_not_reused(above("2100000000"), few)


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UTF8_BINARY"])
def test_which_of_equal_texts_stands_for_a_group_hangs_on_the_rows(collation: str) -> None:
    text = named(2, "c", f"string collate {collation}")
    rows = source(K, J, text)
    largest = grouped(rows, (K,), "max", text, text.type)
    for plan, found in (
        (grouped(rows, (K, text), "count", J, "bigint"), text),
        (largest, value_of(largest)),
        (o.Distinct(child=rows), text),
    ):
        asked = o.Filter(child=plan, condition=called("=", "boolean", e.Cast(child=found, type="string"), constant("A", "string")))
        assert (is_repeatable(plan), "k" in safe(asked)) == (collation == "UTF8_BINARY",) * 2
