"""Segmentation (section 5.2 of the augmented-lineage paper); Example 10 is the golden test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.expressions import AggregateCall, Alias, Attribute, Call, Literal, SortKey, UdfCall
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.text import plan_text
from airflow_lineage_provider.rewrite.pipeline import PASSES, rewrite
from airflow_lineage_provider.rewrite.segment import segment
from tests.plan.paper_plans import CLIENT, DEBT, LOAN, equal, example_4

X, Y = CLIENT.output[0], CLIENT.output[3]
ONE = Literal(value="1", type="int")


def cut(plan: o.Plan) -> list[str]:
    """The segments of a plan without UDF calls, each as text."""
    made = segment(plan, plan.output, tuple(a.name for a in plan.output))
    return [plan_text(one.plan) for one in made.segments]


def count(child: o.Plan, *keys: Attribute, number: int = 90) -> o.Aggregate:
    call = Alias(
        child=AggregateCall(function="count", arguments=(ONE,), type="bigint"),
        attribute=Attribute(id=number, name=f"n{number}", type="bigint"),
    )
    return o.Aggregate(child=child, keys=keys, columns=(*keys, call))


def phi(child: o.Plan, number: int = 0) -> o.FunctionOperator:
    value = Attribute(id=70 + number, name=f"v{number}", type="string")
    return o.FunctionOperator(child=child, function=number, udf="f", arguments=(child.output[0],), value=value)


def test_example_10() -> None:
    segments = rewrite(example_4()).segments
    assert [plan_text(one.plan) for one in segments] == [
        "α judge; count(1) AS count\n  segment 1 [income, debt, loan_amount, judge]",
        "φ credit_exam(income, debt, loan_amount) → judge\n"
        "  π income, debt, loan_amount\n"
        "    ⋈ (client_id = client_id_3)\n"
        "      ⋈ (client_id = client_id_2)\n"
        "        client [client_id, name, country, income]\n"
        "        debt [client_id_2, debt, date]\n"
        "      σ (month(date_2) = 12)\n"
        "        loan [client_id_3, loan_amount, date_2]",
    ]
    assert [one.kind for one in segments] == ["non_d", "non_d"]


def test_every_pass_keeps_the_invariants() -> None:
    plan = example_4().plan
    for one in PASSES:
        plan = one(plan)
        check(plan)


def test_segmentation_is_unique_and_covers_the_tree() -> None:
    once, again = rewrite(example_4()), rewrite(example_4())
    assert once == again
    assert codec.from_json(codec.to_json(once)) == once


def test_functions_then_aggregations_then_the_rest_are_one_segment() -> None:
    plan = phi(phi(count(o.Filter(child=CLIENT, condition=equal(X, X)), X)), 1)
    assert len(cut(plan)) == 1


def test_a_function_below_an_aggregation_is_cut() -> None:
    assert len(cut(count(phi(CLIENT), X))) == 2


def test_a_function_below_a_projection_is_cut() -> None:
    inner = phi(CLIENT)
    computed = Alias(
        child=Call(function="upper", arguments=(inner.value,), type="string"), attribute=Attribute(id=80, name="u", type="string")
    )
    assert len(cut(o.Project(child=inner, columns=(computed,)))) == 2


def test_nested_keys_decide_whether_aggregations_share_a_segment() -> None:
    coarse_over_fine = count(count(CLIENT, X, Y), X, number=91)
    assert len(cut(coarse_over_fine)) == 1
    by_count = count(CLIENT, X)
    assert len(cut(count(by_count, by_count.output[1], number=91))) == 2


def test_a_union_above_a_join_shares_its_segment_but_not_below() -> None:
    join = o.Join(left=CLIENT, right=DEBT, kind="inner", condition=equal(CLIENT.output[0], DEBT.output[0]))
    left, right = o.Project(child=join, columns=(X,)), o.Project(child=LOAN, columns=(LOAN.output[0],))
    union = o.Union(children=(left, right), output=(Attribute(id=60, name="id", type="string"),))
    assert len(cut(union)) == 1
    above = o.Join(left=union, right=source_again(), kind="inner", condition=equal(union.output[0], source_again().output[0]))
    assert len(cut(above)) == 2


def source_again() -> o.Source:
    return replace(DEBT, output=tuple(replace(a, id=a.id + 100) for a in DEBT.output), leaf=5)


def test_an_aggregation_below_a_join_is_cut() -> None:
    counted = count(DEBT, DEBT.output[0])
    assert len(cut(o.Join(left=CLIENT, right=counted, kind="left", condition=equal(X, DEBT.output[0])))) == 2


def test_what_cannot_be_repeated_tops_a_pinned_segment() -> None:
    limited = o.Limit(child=o.Sort(child=CLIENT, order=()), count=3)
    made = segment(count(limited, X), (X,), ("x",))
    assert [(plan_text(one.plan).split("\n")[0].strip(), one.pinned) for one in made.segments] == [
        ("α client_id; count(1) AS n90", False),
        ("limit 3", True),
    ]
    random = o.Filter(
        child=CLIENT, condition=Call(function=">", arguments=(Call(function="rand", arguments=(), type="double"), ONE), type="boolean")
    )
    assert [one.pinned for one in segment(count(random, X), (X,), ("x",)).segments] == [False, True]


@pytest.mark.parametrize(("kind", "segments"), [("left_anti", "d"), ("left_semi", "semi_join")])
def test_a_difference_and_a_semi_join_are_segments_of_their_own(kind: o.JoinKind, segments: str) -> None:
    joined = o.Join(left=CLIENT, right=count(DEBT, DEBT.output[0]), kind=kind, condition=equal(CLIENT.output[0], DEBT.output[0]))
    made = segment(count(joined, X), (X,), ("x",)).segments
    assert [one.kind for one in made] == ["non_d", segments, "non_d"]
    assert isinstance(made[1].plan, o.Join)
    assert isinstance(made[1].plan.left, o.Source)
    assert isinstance(made[1].plan.right, o.SegmentOutput)


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_a_udf_in_a_join_condition_goes_to_the_side_it_reads(kind: str) -> None:
    call = UdfCall(udf="f", arguments=(DEBT.output[0],), type="string", deterministic=True, call=1, eval_type=200)
    condition = Call(function="=", arguments=(X, call), type="boolean")
    join = o.Join(left=CLIENT, right=DEBT, kind=kind, condition=condition)  # type: ignore[arg-type]
    made = rewrite(Pipeline(plan=join, names=tuple(a.name for a in join.output)))
    assert made.segments[1].functions[0].udf == "f"
    assert tuple(a.name for a in made.output) == ("client_id", "name", "country", "income", "client_id_2", "debt", "date")


def test_a_filter_keeps_its_other_terms_below_the_function() -> None:
    call = UdfCall(udf="f", arguments=(Y,), type="boolean", deterministic=True, call=1, eval_type=200)
    cheap = Call(function=">", arguments=(Y, ONE), type="boolean")
    plan = o.Filter(child=CLIENT, condition=Call(function="and", arguments=(call, cheap), type="boolean"))
    made = rewrite(Pipeline(plan=plan, names=tuple(a.name for a in plan.output)))
    assert plan_text(made.segments[1].plan).split("\n")[1].strip() == "σ (income > 1)"


def test_a_limit_goes_below_the_function_unless_the_order_needs_its_value() -> None:
    call = UdfCall(udf="f", arguments=(Y,), type="string", deterministic=True, call=1, eval_type=200)
    value = Attribute(id=50, name="v", type="string")
    judged = o.Project(child=CLIENT, columns=(X, Alias(child=call, attribute=value)))

    def top(plan: o.Plan) -> list[str]:
        made = rewrite(Pipeline(plan=plan, names=tuple(a.name for a in plan.output)))
        return [line.strip().split()[0] for one in made.segments for line in plan_text(one.plan).split("\n")]

    assert top(o.Limit(child=judged, count=2)) == ["φ", "segment", "limit", "client"]
    assert top(o.Limit(child=o.Sort(child=judged, order=(SortKey(child=X),)), count=2)) == ["φ", "segment", "limit", "sort", "client"]
    assert top(o.Limit(child=o.Sort(child=judged, order=(SortKey(child=value),)), count=2)) == ["limit", "sort", "segment", "φ", "client"]


def test_a_call_written_twice_is_one_function_operator() -> None:
    call = UdfCall(udf="f", arguments=(Y,), type="string", deterministic=True, call=1, eval_type=200)
    twice = tuple(Alias(child=replace(call, call=i), attribute=Attribute(id=50 + i, name=f"c{i}", type="string")) for i in (1, 2))
    made = rewrite(Pipeline(plan=o.Project(child=CLIENT, columns=twice), names=("c1", "c2")))
    assert [f.function for one in made.segments for f in one.functions] == [0]
    random = tuple(replace(one, child=replace(call, call=i, deterministic=False)) for i, one in enumerate(twice, start=1))
    made = rewrite(Pipeline(plan=o.Project(child=CLIENT, columns=random), names=("c1", "c2")))
    assert sorted(f.function for one in made.segments for f in one.functions) == [0, 1]
