"""The operator tree of the paper's Example 4, by hand: count the judgements of December's applications."""

from __future__ import annotations

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import AggregateCall, Alias, Attribute, Call, Literal, UdfCall
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation

INT = "int"


def source(name: str, leaf: int, first_id: int, columns: dict[str, str]) -> o.Source:
    """A source table whose attributes are numbered from ``first_id``."""
    output = tuple(Attribute(id=first_id + i, name=column, type=kind) for i, (column, kind) in enumerate(columns.items()))
    return o.Source(relation=Relation(name=name, kind="local"), output=output, columns=tuple(columns), leaf=leaf)


def equal(left: Attribute, right: Attribute) -> Call:
    return Call(function="=", arguments=(left, right), type="boolean")


CLIENT = source("client", 0, 0, {"client_id": "string", "name": "string", "country": "string", "income": INT})
DEBT = source("debt", 1, 10, {"client_id": "string", "debt": INT, "date": "date"})
LOAN = source("loan", 2, 20, {"client_id": "string", "loan_amount": INT, "date": "date"})


def example_4() -> Pipeline:
    """``α Judge, COUNT(*) (φ credit_exam (π Income, Debt, LoanAmount (Client ⋈ Debt ⋈ σ_C (Loan))))``; the UDF stands in a projection."""
    month = Call(function="month", arguments=(LOAN.output[2],), type=INT)
    december = o.Filter(child=LOAN, condition=Call(function="=", arguments=(month, Literal(value="12", type=INT)), type="boolean"))
    with_debt = o.Join(left=CLIENT, right=DEBT, kind="inner", condition=equal(CLIENT.output[0], DEBT.output[0]))
    joined = o.Join(left=with_debt, right=december, kind="inner", condition=equal(CLIENT.output[0], LOAN.output[0]))
    inputs = (CLIENT.output[3], DEBT.output[1], LOAN.output[1])
    chosen = o.Project(child=joined, columns=inputs)
    judge = Attribute(id=30, name="judge", type="string")
    call = UdfCall(udf="credit_exam", arguments=inputs, type="string", deterministic=True, call=99, eval_type=200)
    judged = o.Project(child=chosen, columns=(Alias(child=call, attribute=judge),))
    number = Alias(
        child=AggregateCall(function="count", arguments=(Literal(value="1", type=INT),), type="bigint"),
        attribute=Attribute(id=31, name="count", type="bigint", nullable=False),
    )
    return Pipeline(plan=o.Aggregate(child=judged, keys=(judge,), columns=(judge, number)), names=("judge", "count"))
