"""The columns whose values those of a run's result and sources carry, through the runs that wrote what it read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.across.writers import made_by
from airflow_lineage_provider.errors import PlanError, RecordDamaged, RunNotFound
from airflow_lineage_provider.reasons.discretion import ALL_UNTOLD, UNTOLD
from airflow_lineage_provider.recording import carried_by_plan, read, tables_of

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.reasons.discretion import Carried
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
    from airflow_lineage_provider.records.run import RunRecord

Columns = frozenset[tuple[str, str]]
_Writers = dict[str, list[str] | None]
"""By source table the runs that wrote it; None where that cannot be told."""

_FOR_GOOD = (PlanError, RecordDamaged, RunNotFound)
"""A record that cannot be read, by this release at least; any other error may pass, and nothing is made of it."""


def carried_across(known: KnownRuns, run_id: str, found: dict[str, Carried], in_time: Callable[[], None] = lambda: None) -> Carried:
    """By table and column (of the result: no table) the columns of tables, here and in earlier runs, whose values they carry.

    Whose runs these are is not asked: what is withheld of one table is withheld of all that has its values. Of a run that was dropped, is
    incomplete, or whose record cannot be read, nobody knows any more what it wrote: that is `UNTOLD`, and so is all that carries it.
    ``found`` is what is known of runs already, and gets what is found here, also where the way to the end fails.

    :raises StoreError: the store does not answer, or not in time; ``in_time``, which is called for each run, may raise, too.
    """
    waiting = [] if run_id in found else [run_id]
    while waiting:
        in_time()
        each = waiting[-1]
        if each in found:
            waiting.pop()
            continue
        recorded = _readable(known, each)
        if recorded is None:
            found[waiting.pop()] = ALL_UNTOLD
            continue
        writers = _writers(known, each, recorded)
        later = [one for of in writers.values() for one in of or () if one not in found]
        waiting += later
        if not later:
            waiting.pop()
            found[each] = _carried(recorded, {table: None if of is None else [found[one] for one in of] for table, of in writers.items()})
    return found[run_id]


def carried_alone(record: RunRecord | None) -> Carried:
    """The same as a run's own plan says it. Of one whose record, or plan, cannot be read (None) nobody knows."""
    try:
        return ALL_UNTOLD if record is None or record.status != "complete" else carried_by_plan(read(record))
    except _FOR_GOOD:
        return ALL_UNTOLD


def _readable(known: KnownRuns, run_id: str) -> RecordedPlan | None:
    """What a complete run wrote down; None where there is none, or it cannot be read."""
    try:
        record = known.run(run_id)
        return read(record) if record.status == "complete" else None
    except _FOR_GOOD:
        return None


def _writers(known: KnownRuns, run_id: str, recorded: RecordedPlan) -> _Writers:
    return {table: _of_table(known, leaves, run_id) for table, leaves in tables_of(recorded).items()}


def _of_table(known: KnownRuns, leaves: list[RecordedSource], run_id: str) -> list[str] | None:
    try:
        return list(dict.fromkeys(writer for leaf in leaves for writer in made_by(known, leaf, run_id).runs))
    except _FOR_GOOD:
        return None


def _carried(recorded: RecordedPlan, written: dict[str, list[Carried] | None]) -> Carried:
    sources: dict[tuple[str, str], Columns] = {}
    for table, leaves in tables_of(recorded).items():
        for column in leaves[0].source.columns:
            sources[table, column] = _of_source(written[table], column)
    own = carried_by_plan(recorded)
    return sources | {name: of.union(*(sources.get(one, frozenset()) for one in of)) for name, of in own.items()}


def _of_source(written: list[Carried] | None, column: str) -> Columns:
    """What a column that was read carries. One that none of the writers has was given another name when it was read, and may be any."""
    found = None if written is None else [of for one in written if (of := _of_result(one, column)) is not None]
    if found is None or (written and not found):
        return frozenset({UNTOLD})
    return frozenset().union(*found)


def _of_result(carried: Carried, column: str) -> Columns | None:
    """What a column of a writer's result carries: found without regard to case, as Spark finds it; None where there is none."""
    if UNTOLD in carried:
        return carried[UNTOLD]
    found = [of for (table, name), of in carried.items() if not table and name.lower() == column.lower()]
    return frozenset().union(*found) if found else None
