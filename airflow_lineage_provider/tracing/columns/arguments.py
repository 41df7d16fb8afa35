"""The source columns behind the arguments of reasoned UDFs."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_lineage_provider.plan.operators import FunctionOperator
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.tracing.columns.carried import carries, fields_of_sources
from airflow_lineage_provider.tracing.columns.lineage import ColumnInput, inputs_of, source_columns
from airflow_lineage_provider.tracing.columns.operators import Tracer, trace


@dataclass(frozen=True, kw_only=True)
class CalledWith:
    """One call of a UDF in a plan: of each argument, by position, what it is computed from and what influences it, and the source columns,
    each with its table, whose values it carries (`carried`)."""

    udf: str
    arguments: tuple[tuple[ColumnInput, ...], ...]
    carried: tuple[frozenset[tuple[str, str]], ...]


def argument_lineage(plan: SegmentedPlan) -> tuple[CalledWith, ...]:
    """The calls of reasoned UDFs in a plan.

    :raises UnsupportedOperator: for an operator or an expression without a rule.
    """
    tracer, sources, within = Tracer(plan), source_columns(plan, by_leaf=False), fields_of_sources(plan)
    calls = [node for one in plan.segments for node in all_operators(one.plan) if isinstance(node, FunctionOperator)]
    deciding = {call.udf for call in calls}
    found = []
    for call in calls:
        known = trace(call.child, tracer).columns
        columns = [known[one.id] for one in call.arguments]
        origins = [[at for at, kind in one if carries(kind, deciding)] for one in columns]
        behind = [frozenset((sources[at].table, one) for at in of for one in (sources[at].column, *within[at])) for of in origins]
        found.append(CalledWith(udf=call.udf, arguments=tuple(inputs_of(one, sources) for one in columns), carried=tuple(behind)))
    return tuple(found)
