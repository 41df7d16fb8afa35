"""The columns whose values those of a run's result and sources carry, through the runs that wrote what it read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.across.writers import made_by
from airflow_lineage_provider.errors import LineageError, StoreUnavailable
from airflow_lineage_provider.recording import carried_by_plan, read, tables_of

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.known_runs import KnownRuns
    from airflow_lineage_provider.reasons.discretion import Carried
    from airflow_lineage_provider.recording import RecordedPlan

Columns = frozenset[tuple[str, str]]


def carried_across(known: KnownRuns, run_id: str) -> Carried:
    """By table and column (of the result: no table) the columns of tables, here and in earlier runs, whose values they carry.

    Whose runs these are is not asked: what is withheld of one table is withheld of all that has its values. A run that was dropped, or
    whose record cannot be read, says nothing.

    :raises RecordDamaged: the record of the run itself cannot be read.
    """
    found: dict[str, Carried] = {}
    waiting = [run_id]
    while waiting:
        each = waiting[-1]
        recorded = read(known.run(each)) if each == run_id else _readable(known, each)
        if recorded is None:
            found[waiting.pop()] = {}
            continue
        writers = _writers(known, each, recorded)
        later = [one for of in writers.values() for one in of if one not in found]
        waiting += later
        if not later:
            waiting.pop()
            found[each] = _carried(recorded, {table: [found[one] for one in of] for table, of in writers.items()})
    return found[run_id]


def _readable(known: KnownRuns, run_id: str) -> RecordedPlan | None:
    """:raises StoreUnavailable: the store does not answer."""
    try:
        record = known.readable(run_id)
        return None if record is None or record.status != "complete" else read(record)
    except StoreUnavailable:
        raise
    except LineageError:
        return None


def _writers(known: KnownRuns, run_id: str, recorded: RecordedPlan) -> dict[str, list[str]]:
    """The complete runs that wrote each source table."""
    made = {
        table: [one for leaf in leaves for one in made_by(known, leaf, run_id).runs.values()]
        for table, leaves in tables_of(recorded).items()
    }
    return {table: list(dict.fromkeys(one.run_id for one in of if one.status == "complete")) for table, of in made.items()}


def _carried(recorded: RecordedPlan, written: dict[str, list[Carried]]) -> Carried:
    sources: dict[tuple[str, str], Columns] = {}
    for table, leaves in tables_of(recorded).items():
        for column in leaves[0].source.columns:
            sources[table, column] = frozenset().union(*(_of_result(one, column) for one in written[table]))
    own = carried_by_plan(recorded)
    return sources | {name: of.union(*(sources.get(one, frozenset()) for one in of)) for name, of in own.items()}


def _of_result(carried: Carried, column: str) -> Columns:
    """What a column of a writer's result carries: found without regard to case, as Spark finds it."""
    return frozenset().union(*(of for (table, name), of in carried.items() if not table and name.casefold() == column.casefold()))
