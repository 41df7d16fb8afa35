"""Which source columns' values can be read in a column of a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.lineage_keys import SourceIdentity
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, carried_by_plan
from airflow_lineage_provider.records.versions import NoVersion
from airflow_lineage_provider.rewrite.segment import segment
from airflow_lineage_provider.tracing.columns.carried import carried_by_tables, carries
from airflow_lineage_provider.tracing.columns.transformation import AGGREGATION, IDENTITY, Transformation

SSN, AGE = Attribute(id=1, name="ssn", type="string"), Attribute(id=2, name="age", type="int")
CLIENT = o.Source(relation=Relation(name="client", kind="table"), output=(SSN, AGE), columns=("ssn", "age"), leaf=0)
MADE = Attribute(id=9, name="made", type="string")
YOUNG, OLD = (e.Literal(value=one, type="string") for one in ("young", "old"))
IS_OLD = e.Call(function=">", arguments=(AGE, e.Literal(value="60", type="int")), type="boolean")


def call(function: str, *arguments: e.Expression) -> e.Call:
    return e.Call(function=function, arguments=arguments, type="string")


def carried_by(expression: e.Expression) -> set[tuple[str, str]]:
    plan = o.Project(child=CLIENT, columns=(e.Alias(child=expression, attribute=MADE),))
    return set(carried_by_tables(segment(plan, (MADE,), ("made",)))["", "made"])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (SSN, {"ssn"}),
        (call("upper", SSN), {"ssn"}),
        (e.Cast(child=SSN, type="bigint"), {"ssn"}),
        (call("concat", SSN, call("lower", SSN), AGE), {"ssn", "age"}),
        (call("coalesce", SSN, OLD), {"ssn"}),
        (call("if", IS_OLD, OLD, SSN), {"ssn"}),
        (call("if", IS_OLD, OLD, YOUNG), set()),
        (call("sha2", SSN, e.Literal(value="256", type="int")), set()),
        (call("upper", call("md5", SSN)), set()),
        (e.UdfCall(udf="shout", arguments=(SSN,), type="string", deterministic=True, call=1, eval_type=100), {"ssn"}),
    ],
)
def test_expressions(expression: e.Expression, expected: set[str]) -> None:
    assert carried_by(expression) == {("client", one) for one in expected}


@pytest.mark.parametrize(
    ("function", "is_carried"),
    [("min", True), ("collect_list", True), ("first", True), ("percentile", True), ("sum", False), ("avg", False), ("count", False)],
)
def test_aggregates(function: str, is_carried: bool) -> None:
    value = e.AggregateCall(function=function, arguments=(AGE,), type="int")
    plan = o.Aggregate(child=CLIENT, keys=(SSN,), columns=(SSN, e.Alias(child=value, attribute=MADE)))
    found = carried_by_tables(segment(plan, (SSN, MADE), ("ssn", "made")))
    assert found["", "ssn"] == {("client", "ssn")}
    assert found["", "made"] == ({("client", "age")} if is_carried else set())


def test_a_sum_of_least_values_is_none_of_them_and_nor_is_the_least_sum() -> None:
    mixed = replace(AGGREGATION, mixed=True)
    assert not carries(AGGREGATION.then(mixed))
    assert not carries(mixed.then(AGGREGATION))
    assert carries(AGGREGATION.then(AGGREGATION))


def test_a_decision_is_no_value_that_it_was_made_of() -> None:
    of_udf = Transformation(subtype="TRANSFORMATION", udfs=("shout", "judge"))
    assert carries(of_udf)
    assert not carries(of_udf, {"judge"})
    assert carries(IDENTITY, {"judge"})


PERSON = Attribute(id=3, name="person", type="struct<ssn:string,cards:array<struct<number:bigint>>>")


def test_a_column_carries_the_fields_within_it() -> None:
    """Whichever of them is taken: a pattern may mean each by its own name."""
    client = o.Source(relation=Relation(name="client", kind="table"), output=(PERSON,), columns=("person",), leaf=0)
    columns = (
        e.Alias(child=e.GetField(child=PERSON, field="ssn", type="string"), attribute=MADE),
        e.Alias(child=e.Call(function="to_json", arguments=(PERSON,), type="string"), attribute=replace(MADE, id=10)),
    )
    plan = segment(o.Project(child=client, columns=columns), (MADE, replace(MADE, id=10)), ("number", "j"))
    whole = {("client", one) for one in ("person", "ssn", "cards", "number")}
    assert carried_by_tables(plan) == {("", "number"): whole, ("", "j"): whole}
    identity = SourceIdentity(kind="row_digest", columns=())
    source = RecordedSource(source=client, identity=identity, version=NoVersion(), files={})
    recorded = RecordedPlan(plan=plan, materialized={}, sources={0: source})
    assert carried_by_plan(recorded)["", "j"] == whole
    masks = Discretion(mask=("ssn",)).following(carried_by_plan(recorded))
    assert masks.masks("number")
    assert masks.masks("j")
