"""The tables that decided as a whole: right sides of the differences that target rows passed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.answers.explanation import Control
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.tracing.trace import Trace

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.segments import SegmentedPlan


def controls(recorded: RecordedPlan, traced: Trace, names: Mapping[int, str], *, listed: bool) -> tuple[Control, ...]:
    """The controls of a trace that did not go into the right sides; ``names`` are those of the source tables by leaf.

    ``listed``: the answer has all rows of the right sides among its source rows.
    """
    found = []
    for number, rows in sorted(traced.controls.items()):
        segment = recorded.plan.segments[number]
        assert isinstance(segment.plan, o.Join)
        sources = tuple(dict.fromkeys(names[leaf] for leaf in _leaves(segment.plan.right, recorded.plan)))
        kind: Literal["difference", "existence"] = "difference" if segment.kind == "d" else "existence"
        operator = operator_text(segment.plan)
        found.append(Control(segment=number, operator=operator, sources=sources, rows=rows, kind=kind, listed=listed))
    return tuple(found)


def _leaves(plan: o.Plan, whole: SegmentedPlan) -> Iterator[int]:
    for node in operators(plan):
        if isinstance(node, o.Source):
            yield node.leaf
        elif isinstance(node, o.SegmentOutput) and node.segment in whole.traceable:
            yield from _leaves(whole.segments[node.segment].plan, whole)
