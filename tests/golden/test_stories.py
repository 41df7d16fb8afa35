"""Every pass and every tracing query on recorded plans, as text that a person can read and compare: milliseconds each.

``UPDATE_GOLDEN=1 pytest tests/golden`` writes the texts anew; read the difference before keeping it. That they are right is shown
elsewhere: the same pipelines are run, and traced, in Spark and PostgreSQL against independent answers.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.base import LineageRule
from airflow_lineage_provider.plan.expressions import WHOLE_PARTITION, Alias, Attribute, Call, SortKey, WindowFunction
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.rewrite.pipeline import PASSES
from tests.catalyst.goldens import OPERATORS, load, names
from tests.golden.story import output_names, rules_of, story
from tests.plan.paper_plans import example_4

STORIES = Path(__file__).parent / "stories"


def windows_by_computed_keys() -> Pipeline:
    """As no Spark of today hands them over: Catalyst computes the keys in a projection below."""
    amount, date = (Attribute(id=number, name=name, type=kind) for number, name, kind in ((0, "amount", "int"), (1, "day", "date")))
    loans = o.Source(relation=Relation(name="loan", kind="local"), output=(amount, date), columns=("amount", "day"), leaf=0)
    year = Call(function="year", arguments=(date,), type="int")
    total = WindowFunction(function="sum", arguments=(amount,), type="bigint", frame=WHOLE_PARTITION)
    made = Alias(child=total, attribute=Attribute(id=2, name="total", type="bigint"))
    key = SortKey(child=Call(function="abs", arguments=(amount,), type="int"))
    return Pipeline(plan=o.Window(child=loans, functions=(made,), partition=(year,), order=(key,)), names=("amount", "day", "total"))


def a_wide_domain() -> Pipeline:
    """The outer query's copy, of which the subquery needs one column alone."""
    outer, copy = (tuple(Attribute(id=first + i, name=name, type="int") for i, name in enumerate("ab")) for first in (0, 2))
    relation = Relation(name="t", kind="local")
    left, again = (o.Source(relation=relation, output=columns, columns=("a", "b"), leaf=0) for columns in (outer, copy))
    doubled = Alias(child=Call(function="+", arguments=(copy[1], copy[1]), type="int"), attribute=Attribute(id=4, name="c", type="int"))
    wide = o.Project(child=again, columns=(*copy, doubled))
    domain = o.Aggregate(child=wide, keys=(copy[0],), columns=(copy[0],), domain=True)
    same = Call(function="<=>", arguments=(outer[0], copy[0]), type="boolean")
    return Pipeline(plan=o.Join(left=left, right=domain, kind="inner", condition=same), names=("a", "b", "again"))


def pipelines() -> dict[str, Pipeline]:
    plans = {name: load(name).convert().plan for name in (*names(), *names(OPERATORS))}
    by_hand = {"example_4": example_4(), "windows_by_computed_keys": windows_by_computed_keys(), "a_wide_domain": a_wide_domain()}
    return {**by_hand, **{name: Pipeline(plan=plan, names=output_names(plan)) for name, plan in plans.items()}}


PIPELINES = pipelines()


@pytest.mark.parametrize("name", PIPELINES)
def test_story(name: str) -> None:
    told = story(PIPELINES[name])
    file = STORIES / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(told)
    assert told.split("\n") == file.read_text().split("\n")


def test_there_is_no_story_without_a_plan() -> None:
    assert {file.stem for file in STORIES.glob("*.txt")} == set(PIPELINES)


def test_they_tell_of_everything() -> None:
    """Every pass changes a plan, and every rule of lineage is traced, in some story."""
    told = [file.read_text() for file in STORIES.glob("*.txt")]
    changed = {one.__name__ for one in PASSES if any(f"\n{one.__name__}\n" in text for text in told)}
    # Numbering attributes anew changes what no person reads.
    assert changed == {one.__name__ for one in PASSES} - {"unique_attributes"}
    assert set().union(*map(rules_of, PIPELINES.values())) == set(LineageRule)
