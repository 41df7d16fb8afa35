"""What lies below Python functions over batches or groups: which of its rows made a row, nobody says."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.guarantees import Guarantee, weakest
from airflow_lineage_provider.plan.segments import Segment, SegmentedPlan
from airflow_lineage_provider.plan.walk import operators


@dataclass(frozen=True, kw_only=True)
class Opaque:
    """The guarantees that Python functions leave: for source leaves, and for segments."""

    leaves: dict[int, Guarantee]
    segments: dict[int, Guarantee]


def opaque(plan: SegmentedPlan, met: Container[int]) -> Opaque:
    """What Python functions leave of the guarantees below them; ``met`` are the segments whose sets of rows a trace looked for."""
    found = Opaque(leaves={}, segments={})
    for segment in plan.segments:
        guarantee = _of_function(segment) if segment.number in met else None
        for below in _below(segment.plan, plan) if guarantee is not None else ():
            if isinstance(below, o.Source):
                found.leaves[below.leaf] = weakest(guarantee, found.leaves.get(below.leaf))
            else:
                found.segments[below.number] = weakest(guarantee, found.segments.get(below.number))
    return found


def _of_function(segment: Segment) -> Guarantee | None:
    node = segment.plan
    o.check_known(node, "the guarantee of a trace")
    if not isinstance(node, o.PythonMap) or node.passed:
        return None
    if node.kind == "table":
        cause = f"{node.udf} reads the rows of a table one after another: all rows of the table, or of the partition, are shown"
        return Guarantee(level="superset", cause=cause)
    if node.keys:
        return Guarantee(level="superset", cause=f"{node.udf} is called with whole groups: all rows of the group are shown")
    return Guarantee(
        level="unavailable",
        cause=f"{node.udf} is called with batches, and nothing says which rows made which: name a column that passes through it, "
        f"keys={{{node.udf!r}: [column]}}, when the pipeline is run",
    )


def _below(plan: o.Plan, whole: SegmentedPlan) -> Iterator[o.Source | Segment]:
    """The source leaves and the segments below an operator."""
    for node in operators(plan):
        if isinstance(node, o.Source):
            yield node
        elif isinstance(node, o.SegmentOutput):
            yield whole.segments[node.segment]
            yield from _below(whole.segments[node.segment].plan, whole)
