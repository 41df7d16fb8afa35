"""Plans under numbers of their own."""

from __future__ import annotations

from typing import Any

from airflow_lineage_provider.plan import codec
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.check import check
from airflow_lineage_provider.plan.expressions import Alias, Attribute, Call, Lambda, LambdaVariable, UdfCall
from airflow_lineage_provider.plan.pipeline import Pipeline
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.plan.renumbered import Renumbering
from airflow_lineage_provider.rewrite.pipeline import rewrite


def plan(first: int, parameter: str, call: int) -> Pipeline:
    """``π transform(a, x -> x), f(b)`` over a table, as a session numbers it."""
    a, b = (Attribute(id=first + i, name=name, type=kind) for i, (name, kind) in enumerate([("a", "array<int>"), ("b", "int")]))
    table = o.Source(relation=Relation(name="t", kind="files"), output=(a, b), columns=("a", "b"), leaf=0)
    x = LambdaVariable(name=parameter, type="int")
    same = Call(function="transform", arguments=(a, Lambda(parameters=(x,), body=x, type="int")), type="array<int>")
    udf: dict[str, Any] = {"udf": "f", "function": 0, "arguments": (b,), "type": "int", "call": call}
    columns = (
        Alias(child=same, attribute=Attribute(id=first + 7, name="same", type="array<int>")),
        Alias(child=UdfCall(**udf, deterministic=True, eval_type=200), attribute=Attribute(id=first + 9, name="f", type="int")),
    )
    return Pipeline(plan=o.Project(child=table, columns=columns), names=("same", "f"))


def test_two_sessions_give_one_text() -> None:
    one, other = Renumbering(), Renumbering()
    texts = {codec.to_json(own.node(given)) for own, given in ((one, plan(10, "x_1", 5)), (other, plan(900, "x_77", 905)))}
    assert len(texts) == 1
    assert other.numbers[905] == one.numbers[5]
    assert len(set(one.numbers.values())) == len(one.numbers)


def test_it_is_the_same_plan() -> None:
    own = Renumbering()
    renumbered = own.node(plan(10, "x_1", 5))
    check(renumbered.plan)
    assert [a.name for a in renumbered.plan.output] == ["same", "f"]
    (function,) = (function for segment in rewrite(renumbered).segments for function in segment.functions)
    assert function.call == own.numbers[5]


def test_no_call_stays_none() -> None:
    assert Renumbering()._number(-1) == -1
    assert Renumbering()._number(None) is None
