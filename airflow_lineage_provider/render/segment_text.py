"""Segments in words: what kind one is, whether the run stored it, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.values import shortened, visible
from airflow_lineage_provider.plan.text import operator_text

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.explanation import Explanation
    from airflow_lineage_provider.plan.segments import Segment

KINDS: Mapping[str, str] = {
    "non_d": "Non-D", "d": "D, difference", "semi_join": "semi-join", "existence": "existence flag", "window": "window",
    "python": "Python function", "domain": "domain of a subquery",
}  # fmt: skip
NOT_RECORDED = "not recorded by the release that ran it"
"""Why a segment was stored, where the run does not say."""


@dataclass(frozen=True, kw_only=True)
class SegmentLine:
    """A segment on one line; ``because`` is `NOT_RECORDED` for runs of older releases."""

    number: int
    kind: str
    operator: str
    materialized: bool
    because: str


def segment_label(segment: Segment, materialized: frozenset[int]) -> str:
    """``segment 1 · Non-D · stored``."""
    stored = "stored" if segment.number in materialized else "not stored"
    return f"segment {segment.number} · {KINDS[segment.kind]} · {stored}"


def segment_lines(explanation: Explanation) -> tuple[SegmentLine, ...]:
    """Every segment of the run's plan, the root first."""
    because = {choice.segment: choice.because for choice in explanation.choices}
    return tuple(
        SegmentLine(
            number=segment.number,
            kind=KINDS[segment.kind],
            operator=shortened(visible(explanation.redaction.text(operator_text(segment.plan))), 80),
            materialized=segment.number in explanation.materialized,
            because=visible(because.get(segment.number, NOT_RECORDED)),
        )
        for segment in (explanation.plan.segments if explanation.plan is not None else ())
    )
