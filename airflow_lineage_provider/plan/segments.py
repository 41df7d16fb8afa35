"""Segments of an operator tree (section 5.1 of the augmented-lineage paper)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.plan.numbering import Numbering
from airflow_lineage_provider.plan.operators import Aggregate, FunctionOperator, Plan, SegmentOutput, Source
from airflow_lineage_provider.plan.walk import functions_of, operators

Input = Source | SegmentOutput
SegmentKind = OneOf["non_d", "d", "semi_join", "existence", "window", "python", "domain"]
"""``non_d`` and ``d`` are the paper's. The others are single operators whose rows go back to sets of rows by a rule of their own;
those of a ``domain`` (`operators.Aggregate`) go back to none."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One segment: its operators over leaves that are source tables or other segments' outputs.

    ``pinned``: its top operator's choice of rows cannot be repeated (a limit), so its output is always materialized.
    """

    number: int
    kind: SegmentKind
    plan: Plan
    pinned: bool = False

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The leaves, left to right: the T₁ … Tₘ of the tracing query. The same table may stand there more than once."""
        return tuple(node for node in operators(self.plan) if isinstance(node, Source | SegmentOutput))

    @property
    def has_partners(self) -> bool:
        """Whether rows of its right side let those of its left side pass, or set a flag."""
        return self.kind in ("semi_join", "existence")

    @property
    def functions(self) -> tuple[FunctionOperator, ...]:
        """The function operators of the segment, the top one first."""
        return functions_of(self.plan)

    @property
    def aggregations(self) -> tuple[Aggregate, ...]:
        """The aggregations of the segment, the top one first: its keys are in every row of the output. A domain has no groups."""
        return tuple(node for node in operators(self.plan) if isinstance(node, Aggregate) and not node.domain)


@dataclass(frozen=True, kw_only=True)
class SegmentedPlan:
    """A plan cut into segments; segment 0 is the root segment, and a segment's inputs have higher numbers.

    ``output`` are the attributes of the root segment's output that make the result, in the result's order, and ``names``
    the names that they have there (the user's, which may repeat).
    """

    segments: tuple[Segment, ...]
    output: tuple[Attribute, ...]
    names: tuple[str, ...]
    conf: tuple[tuple[str, str], ...] = ()

    @property
    def root(self) -> Segment:
        return self.segments[0]

    @cached_property
    def numbering(self) -> Numbering:
        """The operators by number."""
        return Numbering(self)

    @property
    def has_subqueries(self) -> bool:
        """Whether rows of the result can go back to partners that let them pass (IN, EXISTS)."""
        return any(self.segments[number].has_partners for number in self.traceable)

    @property
    def has_controls(self) -> bool:
        """Whether the right side of a difference, or of an existence test, can have a say in rows of the result as a whole."""
        return any(self.segments[number].kind in ("d", "existence") for number in self.traceable)

    @cached_property
    def traceable(self) -> frozenset[int]:
        """The segments that rows of the result can go back to: all but the domains, and what only they read."""
        return self.behind(0)[0] | {0}

    def behind(self, number: int) -> tuple[frozenset[int], frozenset[int]]:
        """The segments, and the source leaves, that rows of a segment can go back to."""
        found, leaves = {number}, set[int]()
        for segment in self.segments[number:]:
            if segment.number in found and segment.kind != "domain":
                found.update(leaf.segment for leaf in segment.inputs if isinstance(leaf, SegmentOutput))
                leaves.update(leaf.leaf for leaf in segment.inputs if isinstance(leaf, Source))
        return frozenset(one for one in found - {number} if self.segments[one].kind != "domain"), frozenset(leaves)
