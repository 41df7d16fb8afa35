"""The runs of a task, where this process has not made them, looked up in the results store, which knows whose they are."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.called import Called
from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.words import OnStoreFailure

if TYPE_CHECKING:
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.recorded_run import Run

log = logging.getLogger(__name__)

_WHOSE = ("dag_id", "run_id", "task_id", "map_index", "try_number")
_AT_ONCE = 200


def runs_of(store: str | None, context: Mapping[str, Any], on_store_failure: OnStoreFailure) -> Called:
    """The runs of one try of a task instance that have a result, in the order in which they began.

    :raises StoreError: the store does not answer; where the result alone is kept then, that is a warning, and there are none.
    """
    from airflow_lineage_provider.pipeline import Lineage

    try:
        with Lineage(store=store) as lineage:
            found = _found(lineage, context)
    except StoreError as problem:
        if on_store_failure == "fail":
            raise
        log.warning("the application has ended, and its runs cannot be looked up: %s", problem)
        found = []
    return Called(written=tuple(found[:-1]), result=found[-1] if found else None)


def _found(lineage: Lineage, context: Mapping[str, Any]) -> list[Run]:
    from airflow_lineage_provider.store.run_list import RunsWanted

    whose = tuple((name, context[name]) for name in _WHOSE)
    ids: list[str] = []
    before: str | None = None
    while True:
        page = lineage.store.list_runs(RunsWanted(context=whose, before=before), lambda _: True, _AT_ONCE)
        ids += [run.id for run in page.runs if run.status in ("complete", "incomplete")]
        before = page.last
        if before is None:
            return [lineage.get_run(each, whole=True) for each in reversed(ids)]


def clean_up(store: str | None) -> None:
    """Have the store fail the runs of drivers that died, as it does whenever it is opened; that it is away is no further error."""
    from airflow_lineage_provider.pipeline import Lineage

    try:
        Lineage(store=store).close()
    except StoreError as problem:
        log.warning("the application failed, and the results store cannot be opened, which will clean up after it later: %s", problem)
