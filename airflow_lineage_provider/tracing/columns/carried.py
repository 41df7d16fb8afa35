"""The source columns whose values can be read in a column of a result: as they are, or in what was computed of them row by row.

A sum, a count or a hash tells no value of one row, what only decides which rows there are, or which value is taken, tells none either,
and what a reasoned UDF decides is its own. The least value, a list, a cast and an expression do, and so may what a function makes that is
not known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan.datatypes import fields_within
from airflow_lineage_provider.plan.operators import FunctionOperator, Source
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import all_operators
from airflow_lineage_provider.tracing.columns.lineage import source_columns
from airflow_lineage_provider.tracing.columns.operators import Tracer
from airflow_lineage_provider.tracing.columns.transformation import NOTHING, Influences, Origin, Transformation


def carries(kind: Transformation, deciding: Collection[str] = ()) -> bool:
    """Whether a way from a source column leaves its values to be read; ``deciding`` are the reasoned UDFs."""
    return kind.type == "DIRECT" and not kind.masking and not kind.mixed and not set(kind.udfs) & set(deciding)


def carried(plan: SegmentedPlan) -> Mapping[str, frozenset[Origin]]:
    """For each column of a plan's result (one for all of a name) the columns of leaves whose values it carries.

    Of a plan that cannot be traced every column carries all.
    """
    deciding = _deciding(plan)
    try:
        columns = Tracer(plan).segment(0).columns
    except PlanError:
        whole = frozenset(source_columns(plan, by_leaf=True))
        return dict.fromkeys(plan.names, whole)
    found: dict[str, frozenset[Origin]] = {}
    for name, attribute in zip(plan.names, plan.output, strict=True):
        found[name] = found.get(name, frozenset()) | _carried(columns[attribute.id], deciding)
    return found


def carried_within(plan: SegmentedPlan) -> Mapping[str, frozenset[Origin]]:
    """The same of all columns on the way, also of those that the result has not: by name, whatever is called so together.

    Of a plan that cannot be traced ``*``, any column, carries all.
    """
    deciding, tracer = _deciding(plan), Tracer(plan)
    try:
        for one in plan.segments:
            tracer.segment(one.number)
    except PlanError:
        return {"*": frozenset(source_columns(plan, by_leaf=True))}
    found: dict[str, set[Origin]] = {}
    for node, traced in tracer.operators:
        for attribute in node.output:
            found.setdefault(attribute.name, set()).update(_carried(traced.columns.get(attribute.id, NOTHING), deciding))
    return {name: frozenset(of) for name, of in found.items()}


def carried_by_tables(plan: SegmentedPlan) -> Mapping[tuple[str, str], frozenset[tuple[str, str]]]:
    """The same by names: of the result (it has no table) the columns of tables, called as explanations call these."""
    sources, within = source_columns(plan, by_leaf=False), fields_of_sources(plan)
    return {
        ("", name): frozenset((sources[at].table, one) for at in of for one in (sources[at].column, *within[at]))
        for name, of in carried(plan).items()
    }


def fields_of_sources(plan: SegmentedPlan) -> dict[Origin, tuple[str, ...]]:
    """Of each column of the leaves the names of the fields within it: who has its values has theirs."""
    leaves = [node for one in plan.segments for node in all_operators(one.plan) if isinstance(node, Source)]
    return {(one.leaf, at): fields_within(attribute.type) for one in leaves for at, attribute in enumerate(one.output)}


def _carried(influences: Influences, deciding: Collection[str]) -> frozenset[Origin]:
    return frozenset(origin for origin, kind in influences if carries(kind, deciding))


def _deciding(plan: SegmentedPlan) -> set[str]:
    return {node.udf for one in plan.segments for node in all_operators(one.plan) if isinstance(node, FunctionOperator)}
