"""The operators of a segmented plan by number: an operator's place in the walk through the segments, parents before children.

Two places of a plan may hold equal operators, and one operator may be read again from JSON: neither ``==`` nor ``id()`` tells which place
is meant. The number does, and stays the same for the recorded plan in every process. What is kept for operators is kept by
`OperatorNumber`, which `Numbering` alone makes: the type checker refuses other numbers, and an operator of another plan is refused when
it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NewType

from airflow_lineage_provider.errors import PlanCheckError
from airflow_lineage_provider.plan.operators import Plan
from airflow_lineage_provider.plan.walk import children

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.segments import SegmentedPlan

OperatorNumber = NewType("OperatorNumber", int)


@dataclass(frozen=True, kw_only=True)
class NumberedOperator:
    """An operator at its place."""

    number: OperatorNumber
    segment: int
    node: Plan


class Numbering:
    """The numbers of a plan's operators (`SegmentedPlan.numbering`)."""

    def __init__(self, plan: SegmentedPlan) -> None:
        self._operators: list[NumberedOperator] = []
        self._inputs: dict[OperatorNumber, tuple[OperatorNumber, ...]] = {}
        self._tops = {segment.number: self._enter(segment.number, segment.plan) for segment in plan.segments}

    def _enter(self, segment: int, node: Plan) -> OperatorNumber:
        number = OperatorNumber(len(self._operators))
        self._operators.append(NumberedOperator(number=number, segment=segment, node=node))
        self._inputs[number] = tuple(self._enter(segment, child) for child in children(node))
        return number

    def top(self, segment: int) -> NumberedOperator:
        """The operator that gives a segment's output."""
        return self._operators[self._tops[segment]]

    def inputs(self, at: NumberedOperator) -> tuple[NumberedOperator, ...]:
        """The operators below, left to right, in the same segment.

        :raises PlanCheckError: it is an operator of another plan.
        """
        self.check(at)
        return tuple(self._operators[number] for number in self._inputs[at.number])

    def operators(self, segment: int) -> Iterator[NumberedOperator]:
        """Every operator of a segment, parents before children, left to right; not those of subqueries."""
        return (one for one in self._operators if one.segment == segment)

    def check(self, at: NumberedOperator) -> None:
        """:raises PlanCheckError: it is an operator of another plan."""
        if at.number >= len(self._operators) or self._operators[at.number] != at:
            raise PlanCheckError(f"operator {at.number}, a {type(at.node).__name__} in segment {at.segment}, is not of this plan")
