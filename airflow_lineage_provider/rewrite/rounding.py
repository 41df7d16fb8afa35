"""Which values of a result may differ in their last digits between two runs over the same rows."""

from __future__ import annotations

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.exact_sums import is_exact
from airflow_lineage_provider.plan.expression_walk import expressions_in
from airflow_lineage_provider.plan.walk import all_operators, made_by, own_expressions
from airflow_lineage_provider.rewrite.determinism import ROUNDING

_FLOATING = ("float", "double")


def rounded_columns(plan: o.Plan) -> frozenset[int]:
    """The columns of a plan, by their places, whose values may have other last digits in each run: sums and averages of floating-point
    numbers, which hang on the order in which these come, what functions in Python give, whose libraries may add up as many rows come at
    once, and whatever is computed of either. Every other column has the same values, to the last bit."""
    found: set[int] = set()
    for node in reversed([*all_operators(plan)]):  # what is read before what reads it
        found |= _made_rounded(node, found)
    return frozenset(at for at, column in enumerate(plan.output) if column.id in found)


def _made_rounded(node: o.Plan, known: set[int]) -> set[int]:
    """Those of the attributes that an operator makes."""
    if isinstance(node, o.Union):
        return {own.id for at, own in enumerate(node.output) if any(child.output[at].id in known for child in node.children)}
    made = {one.id for one in made_by(node)}
    if isinstance(node, o.FunctionOperator | o.PythonMap):
        return made
    parts = {part: _is_rounded(part, known) for part in own_expressions(node)}
    by_alias = {part.attribute.id: rounded for part, rounded in parts.items() if isinstance(part, e.Alias)}
    return {one for one in made if by_alias.get(one, any(parts.values()))}


def _is_rounded(part: e.Part, known: set[int]) -> bool:
    for one in expressions_in(part):
        match one:
            case e.Attribute():
                if one.id in known:
                    return True
            case e.AggregateCall() | e.WindowFunction():
                by_python = isinstance(one, e.WindowFunction) and one.call is not None
                if by_python or (one.function in ROUNDING and one.type in _FLOATING and not is_exact(one)):
                    return True
            case e.UdfCall():
                return True
            case e.ScalarSubquery():
                if one.plan.output[0].id in known:
                    return True
            case _:
                pass
    return False
