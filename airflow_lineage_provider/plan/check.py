"""The plan checker: invariants that hold after every pass (run after each one in tests, and once before a run)."""

from __future__ import annotations

from collections import Counter

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan.base import unknown
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.expressions import EXPRESSION_CLASSES, AggregateCall, Alias, Attribute, SortKey, attribute_of
from airflow_lineage_provider.plan.operators import Aggregate, Plan, Project, check_known
from airflow_lineage_provider.plan.walk import all_operators, children, made_by, operators, own_expressions


def check(plan: Plan) -> None:
    """References resolve and outputs are unambiguous, everywhere in the tree.

    References to missing attributes are already refused by the operators' constructors; this checks what needs the whole tree.

    :raises PlanCheckError: naming the operator and the attribute. :raises UnsupportedOperator: a class that plans do not have.
    """
    for node in operators(plan):
        _check_class(node)
        _check_output(node)
        _check_aggregate_calls(node)


def check_unique(plan: Plan) -> None:
    """Besides `check`: every attribute is made at one place, and no two share a name (without regard to case)."""
    check(plan)
    made = [attribute for node in all_operators(plan) for attribute in made_by(node)]
    for number, count in Counter(attribute.id for attribute in made).items():
        if count > 1:
            raise PlanCheckError(f"attribute #{number} is made at {count} places")
    for name, count in Counter(attribute.name.casefold() for attribute in made).items():
        if count > 1:
            raise PlanCheckError(f"{count} attributes are named {name}")


def is_canonical(aggregate: Aggregate) -> bool:
    """Whether an aggregation gives its keys, which are attributes, and then single aggregate calls."""
    width = len(aggregate.keys)
    keys = tuple(attribute_of(column) for column in aggregate.columns[:width])
    calls = aggregate.columns[width:]
    return (
        all(isinstance(key, Attribute) for key in aggregate.keys)
        and keys == aggregate.keys
        and all(isinstance(call, Alias) and isinstance(call.child, AggregateCall) for call in calls)
    )


def _check_class(node: Plan) -> None:
    check_known(node, "the plan checker")
    for part in (part for own in own_expressions(node) for part in expressions_in(own)):
        if not isinstance(part, (*EXPRESSION_CLASSES, Alias, SortKey)):
            raise unknown(part, "the plan checker")


def _check_output(node: Plan) -> None:
    ids = Counter(attribute.id for attribute in node.output)
    repeated = [str(number) for number, count in ids.items() if count > 1]
    if repeated and not isinstance(node, Project):
        raise PlanCheckError(f"{type(node).__name__} gives attribute #{', #'.join(repeated)} twice")
    by_id: dict[int, Attribute] = {}
    for child in children(node):
        by_id |= {attribute.id: attribute for attribute in child.output}
    for part in (part for own in own_expressions(node) for part in expressions_in(own)):
        if isinstance(part, Attribute) and part.id in by_id and by_id[part.id].type != part.type:
            raise PlanCheckError(f"{type(node).__name__} reads {part.name}#{part.id} as {part.type}, it is {by_id[part.id].type}")


def _check_aggregate_calls(node: Plan) -> None:
    if isinstance(node, Aggregate):
        return
    for own in own_expressions(node):
        if any(isinstance(part, AggregateCall) for part in expressions_in(own)):
            raise PlanCheckError(f"{type(node).__name__} holds an aggregate function outside an aggregation")
