"""Every operator has a rule; what the rules say where the oracle has no such rows: ties, rounding, batches, kinds of types."""

from __future__ import annotations

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from airflow_lineage_provider.errors import EnvironmentProblem, UnsupportedOperator
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import ExpressionNode, Operator
from airflow_lineage_provider.plan.expression_walk import replace_fields
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.sketches import safety
from airflow_lineage_provider.sketches.columns import SafeColumn, safe_columns
from airflow_lineage_provider.sketches.kinds import kind_of, place
from airflow_lineage_provider.sketches.proof import Above
from tests.new_process import NewPython
from tests.plan.shorthand import Shorthand
from tests.sketches.recorded import recorded

pytest.importorskip("z3")


@pytest.fixture
def short() -> Shorthand:
    return Shorthand()


def judged(plan: o.Plan, **known: Any) -> dict[str, SafeColumn]:
    """By column."""
    return {one.column: one for one in safe_columns(Pipeline(plan=plan, names=tuple(a.name for a in plan.output)), **known)}


def safe(plan: o.Plan, **known: Any) -> list[str]:
    return [column for column, one in judged(plan, **known).items() if one.safe]


def top(child: o.Plan, by: str, short: Shorthand, count: int = 1) -> o.Limit:
    keys = tuple(replace(key, ascending=False, nulls_first=False) for key in short.sort(child, by).order)
    return o.Limit(child=o.Sort(child=child, order=keys), count=count)


def retyped(plan: o.Plan, column: str, type_: str) -> o.Plan:
    """The plan with another type for a source column, wherever it is read."""
    (number,) = {a.id for node in operators(plan) if isinstance(node, o.Source) for a in node.output if a.name == column}

    def change(value: Any) -> Any:
        if isinstance(value, e.Attribute):
            return replace(value, type=type_) if value.id == number else value
        return replace_fields(value, (e.Alias, e.SortKey, Operator, ExpressionNode), change)

    changed: o.Plan = change(plan)
    return changed


def test_every_operator_has_a_rule() -> None:
    registered = set(safety._related.registry)
    assert set(o.OPERATOR_CLASSES) <= registered
    with pytest.raises(UnsupportedOperator, match="whether a sketch is safe has no rule for object"):
        safety._related(object(), Above(), None)  # type: ignore[arg-type]


def test_few_rows_of_a_group(short: Shorthand) -> None:
    """HAVING count(v) < 3: a part of a group may have as few rows."""
    few = short.where(short.group(short.table("T", "k, v"), by="k", give="k, count(v) AS n"), "n < 3")
    assert [(one.column, one.safe, one.rule) for one in judged(few).values()] == [("k", True, "group"), ("v", False, "selection")]


def test_a_limit_without_an_order_takes_any_rows(short: Shorthand) -> None:
    """A sketch is safe where it takes all that there are."""
    below = short.limit(short.table("T", "a, b"), 3)
    found = judged(short.where(below, "a > 1"))
    assert {one.rule for one in found.values()} == {"limit"}
    assert "without an order" in found["a"].because
    found = judged(below)
    assert {(one.safe, one.rule, one.needs_fewer) for one in found.values()} == {(True, "uncut", 3)}


def test_rows_that_tie_are_said(short: Shorthand) -> None:
    """E4: by the sum alone, several groups may tie; with the group's key none do."""
    grouped = short.group(short.table("T", "g, v"), by="g", give="g, max(v) AS m")
    assert [judged(top(grouped, by, short))["g"].ties for by in ("m", "m, g")] == [True, False]
    assert judged(top(short.table("U", "a, b"), "a, b", short))["a"].ties is False


def test_an_order_by_a_declared_key_has_no_ties(short: Shorthand) -> None:
    table = short.table("T", "id, v")
    plan = top(table, "v, id", short)
    assert [judged(top(table, "id", short), keys=keys)["v"].ties for keys in ({}, {0: ("id",)})] == [True, False]
    assert judged(plan)["v"].ties is False


@pytest.mark.parametrize(
    ("condition", "ties"),
    [
        ("a = k", False),
        ("k = a + 1", False),
        ("k = 3 AND a < z", False),
        ("k = z AND a < z", True),  # whichever row of the right side: it may meet each a
        ("a = a2 AND a < z", True),
        ("k = z + a", True),
        ("z = a", True),
        ("a < z", True),
    ],
)
def test_a_key_of_the_left_side_tells_pairs_apart_where_each_row_has_one_partner(condition: str, ties: bool, short: Shorthand) -> None:
    left, right = short.table("L", "a, a2"), short.table("R", "k, z")
    plan = top(short.join(left, right, condition), "a", short)
    assert judged(plan, keys={0: ("a",), 1: ("k",)})["z"].ties is ties


@pytest.mark.parametrize(("condition", "ties"), [("a = k1", True), ("a = k1 AND k1 = k2", True), ("a = k1 AND a2 = k2", False)])
def test_the_whole_of_a_key_must_be_named(condition: str, ties: bool, short: Shorthand) -> None:
    left, right = short.table("L", "a, a2"), short.table("R", "k1, k2, z")
    plan = top(short.join(left, right, condition), "a", short)
    assert judged(plan, keys={0: ("a",), 1: ("k1", "k2")})["z"].ties is ties


def test_a_declared_key_determines_the_other_columns(short: Shorthand) -> None:
    """HAVING min(v) > 3 by the key: a column that the key determines has each group in one fragment."""
    plan = short.where(short.group(short.table("T", "id, name, v"), by="id", give="id, min(v) AS m"), "m > 3")
    assert safe(plan) == ["id"]
    assert safe(plan, keys={0: ("id",)}) == ["id", "name", "v"]


def test_equal_columns_determine_each_other(short: Shorthand) -> None:
    orders, lines = short.table("orders", "o, date"), short.table("lines", "l, price")
    joined = short.join(orders, lines, "o = l")
    plan = short.where(short.group(joined, by="l", give="l, min(price) AS m"), "m > 3")
    assert safe(plan) == ["o", "l"]


def test_rounded_sums_are_not_compared(short: Shorthand) -> None:
    """The last digits of a sum of doubles differ between runs: it may be given, and not compared."""
    grouped = short.group(short.table("T", "g, v"), by="g", give="g, sum(v) AS s")
    rounded = _as_double(grouped)
    assert safe(rounded) == ["g", "v"]
    assert safe(_compared(rounded)) == []
    assert safe(short.where(grouped, "s > 3")) == ["g"]


def _as_double(plan: o.Aggregate) -> o.Aggregate:
    (key, value) = plan.columns
    assert isinstance(value, e.Alias)
    assert isinstance(value.child, e.AggregateCall)
    call = replace(value.child, type="double")
    return replace(plan, columns=(key, e.Alias(child=call, attribute=replace(value.attribute, type="double"))))


def _compared(plan: o.Aggregate) -> o.Filter:
    bound = e.Literal(value="3", type="double")
    return o.Filter(child=plan, condition=e.Call(function=">", arguments=(plan.output[1], bound), type="boolean"))


def test_without_ansi_sums_may_wrap_around(short: Shorthand) -> None:
    """`a > 0` and a sum that is past the largest number is negative: a part of it is more."""
    positive = short.where(short.table("T", "g, v"), "v > 0")
    plan = short.where(short.group(positive, by="g", give="g, sum(v) AS s"), "s > 3")
    assert safe(plan) == ["g", "v"]
    wrapping = Pipeline(plan=plan, names=("g", "s"), conf=(("spark.sql.ansi.enabled", "false"),))
    assert [one.column for one in safe_columns(wrapping) if one.safe] == ["g"]


def test_a_model_is_a_function_of_its_arguments(short: Shorthand) -> None:
    """Over a changed count it may say anything; over the key it says what it said."""
    grouped = short.group(short.table("T", "g, v"), by="g", give="g, count(v) AS n")
    assert safe(short.where(short.project(grouped, "judge(n) AS j"), "j = 1")) == ["g"]
    assert safe(short.where(short.project(grouped, "g, judge(g) AS j"), "j = 1")) == ["g", "v"]


def test_what_is_random_or_asks_for_batches_is_not_safe(short: Shorthand) -> None:
    table = short.table("T", "a, b")
    random = o.Filter(child=table, condition=e.Call(function="rand", arguments=(), type="boolean"))
    assert judged(random)["a"].rule == "random"
    model = short.project(table, "judge(a) AS j")
    (column,) = model.columns
    assert isinstance(column, e.Alias)
    assert isinstance(column.child, e.UdfCall)
    call = replace(column.child, deterministic=False)
    assert judged(replace(model, columns=(replace(column, child=call),)))["a"].rule == "random"
    mapped = o.PythonMap(children=(table,), kind="map", udf="f", call=1, eval_type=0, output=(e.Attribute(id=99, name="x", type="int"),))
    assert judged(mapped)["a"].rule == "python"
    spread = o.Repartition(child=table, spread="coalesce", count=1)
    assert safe(spread) == ["a", "b"]


def test_the_first_row_of_a_group_is_any_row(short: Shorthand) -> None:
    grouped = short.group(short.table("T", "g, v"), by="g", give="g, max(v) AS m")
    (key, value) = grouped.columns
    assert isinstance(value, e.Alias)
    assert isinstance(value.child, e.AggregateCall)
    first = replace(grouped, columns=(key, replace(value, child=replace(value.child, function="first"))))
    assert judged(first)["g"].ties
    assert safe(short.where(first, "m = 1")) == []


def test_a_correlated_subquerys_domain_is_whole(short: Shorthand) -> None:
    domain = short.group(short.table("T", "a, b"), by="a", give="a", domain=True)
    assert {one.rule for one in judged(domain).values()} == {"domain"}


def test_columns_whose_type_has_no_order_are_refused(short: Shorthand) -> None:
    plan = short.table("T", "a, b")
    for type_ in ("array<int>", "binary", "map<int,int>", "variant", "string collate UNICODE_CI", "interval day to second"):
        found = judged(retyped(plan, "a", type_))["a"]
        assert (found.safe, found.rule) == (False, "type"), type_
        assert found.because
    for type_ in ("bigint", "decimal(10,2)", "date", "timestamp", "timestamp_ntz", "string", "boolean", "double", "varchar(3)"):
        assert judged(retyped(plan, "a", type_))["a"].safe, type_


def test_literals_stand_where_spark_has_them() -> None:
    assert kind_of("string collate UTF8_BINARY") == "text"
    assert kind_of("string collate UTF8_LCASE") == "opaque"
    assert place("1995-03-15", "date") == place("1995-03-14", "date") + 1  # type: ignore[operator]
    assert place("2020-01-01 00:00:01", "timestamp") > place("2020-01-01 00:00:00.5", "timestamp")  # type: ignore[operator]
    assert place("2020-01-01 00:00:00+02:00", "timestamp") is None
    assert [place(text, "float") for text in ("NaN", "Infinity")] == [None, None]


def test_a_proof_that_takes_too_long_is_none(short: Shorthand) -> None:
    product = short.where(short.table("T", "g, v, w"), "v * v * v * w * w + v * w * w * w * w > v * w * w - 7")
    plan = short.where(short.group(product, by="g", give="g, sum(v) AS s"), "s * s * s > s * s + 3")
    assert not judged(plan, timeout_ms=1)["v"].safe


def test_without_z3_the_extra_is_named(short: Shorthand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(EnvironmentProblem, match=r"airflow-provider-lineage\[sketches\]"):
        judged(short.table("T", "a"))


def test_z3_is_loaded_when_something_is_proved(new_python: NewPython) -> None:
    new_python("import sys, airflow_lineage_provider.sketches.columns; assert 'z3' not in sys.modules")


@pytest.mark.parametrize(
    ("types", "known"),
    [
        (("int", "decimal(3,0)", "decimal(12,2)"), True),
        (("int", "bigint"), True),
        (("int", "decimal(2,0)"), False),
        (("int", "string"), False),
    ],
)
def test_a_constant_stays_itself_where_every_cast_has_room_for_it(types: tuple[str, ...], known: bool) -> None:
    """As Spark writes ``price > 450`` of a decimal."""
    from airflow_lineage_provider.sketches.formula import Formulas

    constant: e.Expression = e.Literal(value="450", type=types[0])
    for kind in types[1:]:
        constant = e.Cast(child=constant, type=kind)
    found = Formulas().value(constant, "plain").value
    assert (str(found) == "450") is known


@pytest.mark.long
def test_threads_prove_at_the_same_time() -> None:
    """Runs of one driver may, and garbage of one thread's proofs is collected in another: z3 hung, or crashed, by either."""
    asked = ("q15",)

    def proved() -> list[tuple[str, bool]]:
        return [(one.column, one.safe) for name in asked for one in safe_columns(recorded()[name])]

    expected, done = proved(), threading.Event()
    # Of what is young: all that a large process has would take all of its time.
    collecting = threading.Thread(target=lambda: [gc.collect(1) for _ in iter(lambda: done.wait(0.001), True)])
    collecting.start()
    try:
        with ThreadPoolExecutor(3) as pool:
            assert [one.result() for one in [pool.submit(proved) for _ in range(3)]] == [expected] * 3
    finally:
        done.set()
        collecting.join()
    assert any(safe for _, safe in expected)
    assert not all(safe for _, safe in expected)
