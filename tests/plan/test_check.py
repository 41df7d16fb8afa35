"""The plan checker finds what no operator's constructor sees."""

from __future__ import annotations

import pytest

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check, check_unique, is_canonical
from airflow_lineage_provider.plan.text import expression_text
from tests.plan.paper_plans import CLIENT, INT, LOAN, example_4, source

ID, NAME, COUNTRY, INCOME = CLIENT.output
SUM = e.AggregateCall(function="sum", arguments=(INCOME,), type="bigint")


def named(child: e.Expression, number: int, name: str) -> e.Alias:
    return e.Alias(child=child, attribute=e.Attribute(id=number, name=name, type=child.type))


def test_the_papers_plan_is_fine() -> None:
    check(example_4().plan)


SAME_IDS = source("other", 3, 0, {"a": "string"})
AS_TEXT = e.Attribute(id=INCOME.id, name="income", type="string")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (o.Join(left=CLIENT, right=SAME_IDS, kind="cross"), "gives attribute #0 twice"),
        (o.Project(child=CLIENT, columns=(AS_TEXT,)), "Project reads income#3 as string, it is int"),
        (o.Project(child=CLIENT, columns=(named(SUM, 50, "s"),)), "Project holds an aggregate function outside an aggregation"),
    ],
    ids=["an attribute twice", "another type", "an aggregate function outside"],
)
def test_what_is_wrong_anywhere_in_the_tree_is_found(plan: o.Plan, message: str) -> None:
    with pytest.raises(PlanCheckError, match=message):
        check(o.Distinct(child=o.Sort(child=plan, order=(), is_global=True)))


@pytest.mark.parametrize(
    ("column", "message"),
    [(named(ID, 20, "again"), "attribute #20 is made at 2 places"), (named(ID, 50, "Loan_Amount"), "2 attributes are named loan_amount")],
    ids=["an id", "a name"],
)
def test_what_is_made_at_two_places_is_found(column: e.Alias, message: str) -> None:
    loans = o.Project(child=LOAN, columns=(LOAN.output[1],))
    clients = o.Project(child=source("clients", 4, 60, {"x": INT}), columns=())
    made = o.Project(child=o.Join(left=o.Join(left=loans, right=clients, kind="cross"), right=_only_id(), kind="cross"), columns=(column,))
    with pytest.raises(PlanCheckError, match=message):
        check_unique(made)


def _only_id() -> o.Plan:
    return source("ids", 5, ID.id, {"id": "string"})


def test_canonical_aggregations_give_their_keys_and_then_calls() -> None:
    total = named(SUM, 50, "total")
    more = e.Call(function="+", arguments=(SUM, SUM), type="bigint")
    assert is_canonical(o.Aggregate(child=CLIENT, keys=(COUNTRY,), columns=(COUNTRY, total)))
    assert not is_canonical(o.Aggregate(child=CLIENT, keys=(COUNTRY,), columns=(total, COUNTRY)))
    assert not is_canonical(o.Aggregate(child=CLIENT, keys=(COUNTRY,), columns=(COUNTRY, named(more, 51, "twice"))))


def test_a_sorted_group_reads_as_in_sql() -> None:
    half = e.Literal(value="0.5", type="double")
    median = e.AggregateCall(function="percentile_cont", arguments=(half, INCOME), type="double", within_group=("desc nulls last",))
    assert expression_text(median) == "percentile_cont(0.5) WITHIN GROUP (ORDER BY income DESC)"
