"""The operator tree as indented lines, for screens that a picture does not fit: only branches are indented, so that it stays narrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import shortened, visible
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.text import operator_text
from airflow_lineage_provider.plan.walk import children
from airflow_lineage_provider.reasons.discretion import NOTHING_WITHHELD, Redaction
from airflow_lineage_provider.render.segment_text import segment_label

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.segments import SegmentedPlan

DEPTH, LINES = 8, 300
"""Deeper branches stay where they are; more lines are not drawn."""


@dataclass(frozen=True, kw_only=True)
class OutlineLine:
    """An operator; ``label`` is its segment's where one begins, ``source`` the table's name for a leaf."""

    depth: int
    text: str
    label: str
    segment: int
    source: str | None


def outline(plan: SegmentedPlan, materialized: frozenset[int], redaction: Redaction = NOTHING_WITHHELD) -> tuple[OutlineLine, ...]:
    """The lines from the result down to the sources, `LINES` at most."""
    labels = {segment.number: segment_label(segment, materialized) for segment in plan.segments}
    return tuple(islice(_lines(plan, labels, redaction), LINES))


def _lines(plan: SegmentedPlan, labels: Mapping[int, str], redaction: Redaction) -> Iterator[OutlineLine]:
    """Without recursion: a plan may be deeper than Python's stack."""
    waiting: list[tuple[o.Plan, int, int, bool]] = [(plan.root.plan, 0, 0, True)]
    while waiting:
        node, segment, depth, first = waiting.pop()
        if isinstance(node, o.SegmentOutput):
            waiting.append((plan.segments[node.segment].plan, node.segment, depth, True))
            continue
        below = children(node)
        source = node.relation.name if isinstance(node, o.Source) else None
        text = visible(source) if source is not None else shortened(visible(redaction.text(operator_text(node))), 160)
        yield OutlineLine(depth=min(depth, DEPTH), text=text, label=labels[segment] if first else "", segment=segment, source=source)
        deeper = depth + 1 if len(below) > 1 else depth
        waiting += [(child, segment, deeper, False) for child in reversed(below)]
