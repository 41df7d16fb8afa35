"""Columns that the user says pass through a Python function of batches: rows with the same values there made a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.walk import operators, transform_up


def with_passed_keys(plan: o.Plan, keys: Mapping[str, Sequence[str]]) -> o.Plan:
    """The captured plan whose functions of batches know the columns that are named for them.

    :raises PlanError: a column is not in the function's input and output, or is of another type there.
    """

    def informed(node: o.Plan) -> o.Plan:
        if not isinstance(node, o.PythonMap) or node.kind != "map" or node.udf not in keys:
            return node
        passed = tuple(_find(node, name, node.children[0].output) for name in keys[node.udf])
        passed_as = tuple(_find(node, name, node.output) for name in keys[node.udf])
        for given, made in zip(passed, passed_as, strict=True):
            if given.type != made.type:
                raise PlanError(f"keys of {node.udf}: column {made.name} is {given.type} in its input and {made.type} in its output")
        return replace(node, passed=passed, passed_as=passed_as)

    return transform_up(plan, informed) if functions_of_batches(plan) & set(keys) else plan


def functions_of_batches(plan: o.Plan) -> frozenset[str]:
    """The names of the functions of batches in a plan."""
    return frozenset(node.udf for node in operators(plan) if isinstance(node, o.PythonMap) and node.kind == "map")


def _find(node: o.PythonMap, name: str, output: Sequence[Attribute]) -> Attribute:
    found = [attribute for attribute in output if attribute.name == name]
    if len(found) != 1:
        listed = ", ".join(attribute.name for attribute in output)
        raise PlanError(f"keys of {node.udf} name column {name}, which its input and its output must have once; one has {listed}")
    return found[0]
