"""A task that is cleared, or tried again, replaces what its earlier tries have stored: that is of outputs which are not there any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.records.versions import FilesVersion, WrittenRows
from airflow_lineage_provider.store.run_list import RunsWanted

if TYPE_CHECKING:
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.store import Store

_WHOSE = ("dag_id", "run_id", "task_id", "map_index")
_AT_ONCE = 200


def drop_replaced(lineage: Lineage, made: Sequence[RunRecord], context: Mapping[str, Any], tell: Callable[[str], object]) -> list[str]:
    """Drop the runs of earlier tries of a task instance (`airflow_context`) whose results those that this try has ``made`` replace.

    It gives their ids.

    Not one that somebody has derived from, nor one whose output another run has read: their lineage hangs on it. A store that is away, or
    in which its user may drop nothing, is told of, and the task goes on.
    """
    number, complete = context["try_number"], [one for one in made if one.status == "complete"]
    if number < 2 or not complete or settings.replaced_runs() == "keep":
        return []
    dropped = list[str]()
    try:
        for old in _earlier(lineage.store, context, number):
            # The newest first: what read it within its own try is gone by then.
            if any(replaces(new, old) for new in complete) and not _is_needed(lineage.store, old.id):
                lineage.store.drop_run(old.id)
                dropped.append(old.id)
    except StoreError as problem:
        tell(f"what earlier tries have stored is left there: {problem}")
    if dropped:
        tell(f"dropped what earlier tries of this task have stored, which this one has replaced: {', '.join(dropped)}")
    return dropped


def _earlier(store: Store, context: Mapping[str, Any], number: int) -> list[RunRecord]:
    """The complete runs of the earlier tries of a task instance, the newest first."""
    wanted = RunsWanted(status="complete", context=tuple((name, context[name]) for name in _WHOSE))
    found = store.list_runs(wanted, lambda _: True, _AT_ONCE).runs
    return store.records([run.id for run in found if isinstance(tried := (run.airflow or {}).get("try_number"), int) and tried < number])


def replaces(new: RunRecord, old: RunRecord) -> bool:
    """Whether nothing is left of a run's output since another one has made its own: certainly, as far as their records tell."""
    if new.pipeline != old.pipeline:
        return False
    if new.output is None or old.output is None:
        return new.output is old.output
    now, before = new.output.version, old.output.version
    if (new.output.kind, new.output.target) != (old.output.kind, old.output.target):
        return False
    if isinstance(now, FilesVersion) and isinstance(before, FilesVersion):
        return now.complete and not set(now.files or ()) & set(before.files or ())
    if isinstance(now, WrittenRows) and isinstance(before, WrittenRows):
        return old.id in now.instead_of or (new.output.mode == "overwrite" and now.place == before.place)
    return False


def _is_needed(store: Store, run_id: str) -> bool:
    return bool(store.derivations(run_id)) or bool(store.readers_of([run_id]).get(run_id))
