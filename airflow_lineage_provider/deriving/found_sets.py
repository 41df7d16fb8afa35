"""When the sets of rows behind a run's rows were found, and what that cost: what a later run decides by (`capture.modes`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from airflow_lineage_provider.capture.recorded import RecordedWay
from airflow_lineage_provider.running.capture_modes import CapturedWithRun
from airflow_lineage_provider.tracing.trace import COLLECTED

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.tracing.trace import Step, TracingQuery

_LATER = RecordedWay(segment=0, mode="defer", because="found after the run")


@dataclass
class FoundSets:
    """What was found so far, by segment, and as it was decided with the run."""

    with_run: CapturedWithRun = field(default_factory=CapturedWithRun)
    _found: dict[int, RecordedWay] = field(default_factory=dict)

    def add(self, step: Step, queries: Iterable[TracingQuery]) -> None:
        """What stands behind some rows, and the tracing queries that have found it, or that it was collected."""
        for one in queries:
            known = self._found.get(one.segment) or self._decided(one.segment)
            mode: Literal["inject", "defer"] = "inject" if one.engine == COLLECTED else "defer"
            self._found[one.segment] = replace(known, mode=mode, seconds=known.seconds + one.seconds)
        for segment, rows in step.sets.items():
            known = self._found.get(segment) or self._decided(segment)
            # Groups that were dropped since have had theirs collected, too.
            collected = self.with_run.collected if known.mode == "inject" else None
            self._found[segment] = replace(known, rows=known.rows + rows if collected is None else collected.size(segment))

    def _decided(self, segment: int) -> RecordedWay:
        found = next((one for one in self.with_run.ways if one.segment == segment), _LATER)
        return replace(found, segment=segment, rows=0, seconds=0.0)

    def ways(self, recorded: RecordedPlan, asked: Set[int]) -> tuple[RecordedWay, ...]:
        """When the rows behind each segment's were found; ``asked`` are the stored segments about which it was asked."""
        return tuple(self._ways(recorded, asked))

    def _ways(self, recorded: RecordedPlan, asked: Set[int]) -> Iterator[RecordedWay]:
        for segment in recorded.plan.segments:
            found = self._found.get(segment.number)
            if segment.number in asked and not segment.aggregations and segment.kind == "non_d":
                seconds = 0.0 if found is None else found.seconds
                because = "its rows hold what the rows behind them are known by"
                yield RecordedWay(segment=segment.number, mode="stored", because=because, seconds=seconds)
            elif found is not None:
                yield found
            else:
                # Of a result without rows nothing is looked for.
                yield from (one for one in self.with_run.ways if one.segment == segment.number)
