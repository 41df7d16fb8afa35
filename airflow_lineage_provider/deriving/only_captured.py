"""Questions that captured lineage answers, or nobody (``lazy=False``): what would be traced is refused before any query is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from airflow_lineage_provider.answers.captured import captured_index
from airflow_lineage_provider.answers.values import count
from airflow_lineage_provider.errors import NotCaptured

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from airflow_lineage_provider.answers.captured import CapturedIndex
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.plan import operators as o
    from airflow_lineage_provider.tracing.maps import Rows, RowSet


class TracedInstead(Exception):
    """Captured lineage of an output's rows does not say what is asked, and rows that are made again, which tracing finds, have other
    numbers: the question is asked from the first on, as if nothing had been captured (`Asking`)."""


class NothingTraced:
    """Stands where tracing queries would be run, and where rows would be followed, about rows of an output (`written_rows`)."""

    def run(self, plan: o.Plan, target: pa.Table) -> NoReturn:
        """:raises TracedInstead: always."""
        raise TracedInstead

    def follow(self, rows: Rows, output: RowSet) -> NoReturn:
        """:raises TracedInstead: always."""
        raise TracedInstead


@dataclass(frozen=True)
class OnlyCaptured:
    """Stands where tracing queries would be run, and where rows would be followed."""

    asked: AskedRun

    def run(self, plan: o.Plan, target: pa.Table) -> NoReturn:
        """:raises NotCaptured: always."""
        self.refuse()

    def follow(self, rows: Rows, output: RowSet) -> NoReturn:
        """:raises NotCaptured: always."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Say what was not captured, what captures it, and what it is to ask all the same.

        :raises NotCaptured: always.
        """
        record, recorded = self.asked.record, self.asked.recorded
        found = captured_index(record, recorded)
        if found is None:
            what = "was not captured: Run.capture(), or `airflow-lineage capture`, captures it"
        elif found.problem:
            what = f"was to be captured, and was not: {found.problem}"
        elif record.captured is not None and not record.captured.is_of(self.asked.subqueries, self.asked.difference, recorded.plan):
            is_other = not record.captured.is_of(self.asked.subqueries, "data", recorded.plan)
            option = "subqueries" if is_other else "difference"
            what = (
                f"was captured with {option}={getattr(record.captured, option)!r}, and is asked about with "
                f"{getattr(self.asked, option)!r}: Run.capture({option}=…) captures that in its place"
            )
        else:
            what = "; ".join(_left_out(found)) or "was not captured as far as this question goes: Run.capture() captures all"
        lazily = f"with lazy=True it is traced, through {count(len(recorded.plan.segments), 'segment')} of the plan"
        if set(range(len(recorded.plan.segments))) - set(recorded.materialized):
            lazily += ", of which the run did not store all"
        raise NotCaptured(f"the lineage of run {record.id} {what}; {lazily}")


def _left_out(found: CapturedIndex) -> Iterator[str]:
    """What was not captured of a run whose lineage was, and what captures it."""
    if found.not_captured:
        off = [f"{name} (granularity=[])" if name in found.tables else name for name in found.not_captured]
        yield f"was captured without {', '.join(off)}: Run.capture(), or Capture(tables=…) with them, captures theirs"
    if by_value := [f"{name} (granularity={list(one.granularity)})" for name, one in found.tables.items() if one.granularity]:
        yield (
            f"was captured by values, not by rows, of {', '.join(by_value)}: ask aggregate(by=…) for such values alone, or forward by a "
            "condition on them, or capture it without granularity"
        )
    if partly := [f"{name} where {one.where}" for name, one in found.tables.items() if one.where]:
        yield f"was captured of {', '.join(partly)}: ask for such rows alone, .where(…), or capture it with CaptureTable() for all"
