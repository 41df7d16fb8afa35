"""Column lineage across runs: the plans of the runs behind a result, joined at the tables that pass between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.across.writers import made_by
from airflow_lineage_provider.recording import read
from airflow_lineage_provider.tracing.columns.joined import JoinedPlan, WrittenLeaf, joined_column_lineage

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.tracing.columns.lineage import ColumnLineage


def columns_across(known: KnownRuns, run_id: str, may_read: Callable[[RunRecord], bool]) -> ColumnLineage:
    """The column lineage of a run's result, from the tables that no recorded run wrote.

    A table is where it ends, too, when the run that wrote it was dropped, has lost its lineage, or is not for this person.

    :raises RecordDamaged: the record of a run cannot be read.
    """
    plans: dict[str, JoinedPlan] = {}
    waiting = [run_id]
    while waiting:
        each = waiting.pop()
        if each not in plans:
            plans[each] = _joined(known, each, may_read)
            waiting += [writer for leaf in plans[each].written.values() for writer in leaf.by]
    return joined_column_lineage(plans, run_id)


def _joined(known: KnownRuns, run_id: str, may_read: Callable[[RunRecord], bool]) -> JoinedPlan:
    recorded: RecordedPlan = read(known.run(run_id))
    found = {leaf: _written(known, source, run_id, may_read) for leaf, source in recorded.sources.items()}
    return JoinedPlan(plan=recorded.plan, written={leaf: one for leaf, one in found.items() if one.by})


def _written(known: KnownRuns, source: RecordedSource, reader: str, may_read: Callable[[RunRecord], bool]) -> WrittenLeaf:
    made = made_by(known, source, reader)
    by = tuple(one.run_id for one in made.runs.values() if one.status == "complete" and may_read(known.run(one.run_id)))
    return WrittenLeaf(by=by, wholly=made.complete and len(by) == len(made.runs))
