"""Columns that the user says pass through a Python function of batches: rows with the same values there made a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.segments import SegmentedPlan
from airflow_lineage_provider.plan.walk import operators, transform_up


def with_passed_keys(plan: SegmentedPlan, keys: Mapping[str, Sequence[str]]) -> tuple[SegmentedPlan, frozenset[str]]:
    """The plan whose functions of batches know the columns named for them, and the names of all such functions.

    :raises PlanError: a column is not among the function's input and output, or is of another type there.
    """
    known = frozenset(n.udf for s in plan.segments for n in operators(s.plan) if isinstance(n, o.PythonMap) and n.kind == "map")

    def informed(node: o.Plan) -> o.Plan:
        if not isinstance(node, o.PythonMap) or node.kind != "map" or node.udf not in keys:
            return node
        passed = tuple(_find(node, name, node.columns, node.children[0].output) for name in keys[node.udf])
        names = [a.name for a in node.output]
        passed_as = tuple(_find(node, name, names, node.output) for name in keys[node.udf])
        for name, given, made in zip(keys[node.udf], passed, passed_as, strict=True):
            if given.type != made.type:
                raise PlanError(f"keys of {node.udf}: column {name} is of type {given.type} in its input and {made.type} in its output")
        return replace(node, passed=passed, passed_as=passed_as)

    segments = tuple(replace(s, plan=transform_up(s.plan, informed)) for s in plan.segments)
    return replace(plan, segments=segments), known


def _find(node: o.PythonMap, name: str, names: Sequence[str], output: Sequence[Attribute]) -> Attribute:
    found = [attribute for known, attribute in zip(names, output, strict=True) if known == name]
    if len(found) != 1:
        raise PlanError(f"keys of {node.udf} name column {name}, which its input and its output must have; they have {', '.join(names)}")
    return found[0]
