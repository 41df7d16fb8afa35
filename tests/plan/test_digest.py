"""The digest of a plan: the same for the same plan, whatever the session and the process; another for another plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.digest import plan_digest
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Call, Lambda, LambdaVariable, Literal, UdfCall
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import operators, rename_attributes
from airflow_lineage_provider.rewrite.pipeline import rewrite
from tests.new_process import NewPython
from tests.plan.paper_plans import example_4

EXAMPLE_4 = "e7b9c9e165501a7a39e472ea1d90a93cc594a81fdcdecd04b46c5c85895a14c3"


def table(first: int = 0, path: str = "/data/1", **relation: Any) -> o.Source:
    output = tuple(Attribute(id=first + i, name=name, type="int") for i, name in enumerate("ab"))
    given: dict[str, Any] = {"name": "t", "kind": "files", "format": "parquet", "paths": (path,)}
    return o.Source(relation=Relation(**(given | relation)), output=output, columns=("a", "b"), leaf=0)


def segmented(plan: o.Plan, **more: Any) -> SegmentedPlan:
    segment = Segment(number=0, kind="non_d", plan=plan)
    return SegmentedPlan(segments=(segment,), output=plan.output, names=tuple(a.name for a in plan.output), **more)


def mapped(first: int = 0, parameter: str = "x_3", calls: tuple[int, int] = (7, 7), literal: str = "1", **source: Any) -> SegmentedPlan:
    """``π transform(sequence(a, 1), x -> x + f(b)), f(b)`` over a table, as one session numbers it or another."""
    leaf = table(first, **source)
    a, b = leaf.output
    variable = LambdaVariable(name=parameter, type="int")
    called = [UdfCall(udf="f", arguments=(b,), type="int", deterministic=True, call=call, eval_type=200) for call in calls]
    body = Call(function="+", arguments=(variable, called[0]), type="int")
    listed = Call(function="sequence", arguments=(a, Literal(value=literal, type="int")), type="array<int>")
    each = Call(function="transform", arguments=(listed, Lambda(parameters=(variable,), body=body, type="int")), type="array<int>")
    columns = (
        Alias(child=each, attribute=Attribute(id=first + 50, name="each", type="array<int>")),
        Alias(child=called[1], attribute=Attribute(id=first + 60, name="f", type="int")),
    )
    return segmented(o.Project(child=leaf, columns=columns))


def rename_attributes_of(plan: SegmentedPlan) -> SegmentedPlan:
    """The plan, its attributes called otherwise: a name may be made of an expression's text, with a parameter's number in it."""
    (segment,) = plan.segments
    names = {a.id: f"{a.name}_x_77" for node in operators(segment.plan) for a in node.output}
    return replace(plan, segments=(replace(segment, plan=rename_attributes(segment.plan, names)),))


def test_what_a_session_numbers_is_no_part_of_it() -> None:
    digest = plan_digest(mapped())
    assert digest == plan_digest(mapped(first=1000, parameter="x_77", calls=(90, 90)))
    assert digest == plan_digest(rename_attributes_of(mapped()))
    assert digest == plan_digest(mapped(path="/data/2", options=(("header", "true"),)))
    assert digest == plan_digest(replace(mapped(), conf=(("spark.sql.ansi.enabled", "true"),), names=("p", "q")))
    assert digest == plan_digest(codec.from_json(codec.to_json(mapped())))


@pytest.mark.parametrize(
    "other",
    [
        mapped(literal="2"),
        mapped(name="u"),
        mapped(format="csv"),
        replace(mapped(), segments=(replace(mapped().root, plan=o.Project(child=table(), columns=table().output)),)),
        mapped(calls=(7, 8)),
        segmented(table()),
        segmented(o.Limit(child=table(), count=1)),
        replace(mapped(), segments=(replace(mapped().root, pinned=True),)),
    ],
)
def test_another_plan_has_another(other: SegmentedPlan) -> None:
    assert plan_digest(mapped()) != plan_digest(other)


def test_columns_that_change_places() -> None:
    leaf = table()
    a, b = leaf.output
    assert plan_digest(segmented(o.Project(child=leaf, columns=(a, b)))) != plan_digest(segmented(o.Project(child=leaf, columns=(b, a))))


def test_a_value_and_its_text_are_two() -> None:
    texts = [Literal(value="1", type="int"), Literal(value="1", type="string"), Literal(value=None, type="int")]
    leaf = table()
    equal = [Call(function="=", arguments=(leaf.output[0], one), type="boolean") for one in texts]
    assert len({plan_digest(segmented(o.Filter(child=leaf, condition=one))) for one in equal}) == 3


def test_the_digest_of_the_papers_example_is_this_one_in_every_process_and_python(new_python: NewPython) -> None:
    """It is stored with runs: where it changes, the costs of earlier runs are not found."""
    assert plan_digest(rewrite(example_4())) == EXAMPLE_4
    code = (
        "from airflow_lineage_provider.plan.digest import plan_digest\nfrom airflow_lineage_provider.rewrite.pipeline import rewrite\n"
        "from tests.plan.paper_plans import example_4\nprint(plan_digest(rewrite(example_4())))"
    )
    for seed in ("1", "2"):
        assert new_python(code, variables={"PYTHONHASHSEED": seed}) == EXAMPLE_4
