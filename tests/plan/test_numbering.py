"""Operators by number: the same number for the same place, whoever reads the plan, and none for another plan's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.lineage_keys import KeyColumn, SourceIdentity
from airflow_lineage_provider.plan.numbering import NumberedOperator, OperatorNumber
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.tracing.forward.columns import child_of, counted, ties
from airflow_lineage_provider.tracing.forward.plans import ForwardPlan, forward, way
from airflow_lineage_provider.tracing.forward.tags import Tags
from tests.plan.paper_plans import LOAN, example_4

PLAN = rewrite(example_4())
KEY = SourceIdentity(kind="primary_key", columns=(KeyColumn(name="k", type="int"),))


def followed(plan: SegmentedPlan) -> ForwardPlan:
    leaves = {node.leaf: KEY for one in plan.segments for node in operators(one.plan) if isinstance(node, o.Source)}
    return forward(plan, leaves, {one.number for one in plan.segments}, Tags(frozenset(leaves)))


def test_numbers_count_through_the_segments_parents_first() -> None:
    found = [one for segment in PLAN.segments for one in PLAN.numbering.operators(segment.number)]
    assert [one.number for one in found] == list(range(len(found)))
    assert [one.node for one in found] == [node for segment in PLAN.segments for node in operators(segment.plan)]
    assert PLAN.numbering is PLAN.numbering
    assert PLAN.numbering.top(1).node is PLAN.segments[1].plan


def test_the_plan_that_is_read_again_has_the_same_numbers() -> None:
    again: SegmentedPlan = codec.from_json(codec.to_json(PLAN))
    assert [*again.numbering.operators(1)] == [*PLAN.numbering.operators(1)]
    places = way(again, 2)
    assert places == way(PLAN, 2)
    plan = followed(PLAN)
    assert all(plan.became(place.at) for place in places), "places of the plan as it was read before do as well"


def test_equal_operators_at_two_places_are_two() -> None:
    twice = o.Union(children=(LOAN, LOAN), output=tuple(replace(a, id=a.id + 100) for a in LOAN.output))
    segment = Segment(number=0, kind="non_d", plan=twice)
    numbering = SegmentedPlan(segments=(segment,), output=twice.output, names=("a", "b", "c")).numbering
    left, right = numbering.inputs(numbering.top(0))
    assert left.node is right.node
    assert (left.number, right.number) == (1, 2)


def test_an_operator_of_another_plan_is_refused() -> None:
    top = PLAN.numbering.top(0)
    plan = followed(PLAN)
    other = replace(PLAN.numbering.top(1), number=top.number)
    beyond = NumberedOperator(number=OperatorNumber(99), segment=0, node=top.node)
    for wrong in (other, beyond, replace(top, segment=1)):
        with pytest.raises(PlanCheckError, match=r"operator \d+, a \w+ in segment \d, is not of this plan"):
            PLAN.numbering.inputs(wrong)
        with pytest.raises(PlanCheckError, match="is not of this plan"):
            plan.became(wrong)


def test_what_was_not_followed_is_told() -> None:
    plan = replace(followed(PLAN), made={})
    (source,) = (at for at in PLAN.numbering.operators(1) if at.node == PLAN.segments[1].inputs[0])
    with pytest.raises(PlanCheckError, match=rf"operator {source.number} \(client .*\) of segment 1 was not followed"):
        counted(plan, source)


def test_what_an_operator_and_its_inputs_became() -> None:
    plan = followed(PLAN)
    top = PLAN.numbering.top(0)
    assert child_of(plan, top, 0) is plan.segments[1].leaf
    assert plan.became(top) is plan.segments[0].body
    assert ties(plan, top) is None
