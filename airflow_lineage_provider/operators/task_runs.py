"""The runs of a task, where this process has not made them, looked up in the results store, which knows whose they are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from airflow_lineage_provider.called import Called
from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.operators.replaced_runs import drop_replaced
from airflow_lineage_provider.operators.run_result import log_stored
from airflow_lineage_provider.retried import runs_of_try
from airflow_lineage_provider.words import OnStoreFailure

log = logging.getLogger(__name__)


def runs_of(
    store: str | None, context: Mapping[str, Any], on_store_failure: OnStoreFailure, *, tell: Callable[[str], object] | None = None
) -> Called:
    """The runs of one try of a task instance that have a result, in the order in which they began.

    :param tell: where what they stored is written.

    :raises StoreError: the store does not answer; where the result alone is kept then, that is a warning, and there are none.
    """
    from airflow_lineage_provider.pipeline import Lineage

    try:
        with Lineage(store=store) as lineage:
            found = runs_of_try(lineage, context)
            if tell is not None:
                for run in found:
                    log_stored(run, tell)
                drop_replaced(lineage, [run.record for run in found], context, tell)
    except StoreError as problem:
        if on_store_failure == "fail":
            raise
        log.warning("the application has ended, and its runs cannot be looked up: %s", problem)
        found = []
    return Called(written=tuple(found[:-1]), result=found[-1] if found else None)


def lacking_capture(store: str | None, tries: Iterable[Mapping[str, Any]], on_store_failure: OnStoreFailure) -> Mapping[str, Any] | None:
    """The newest of some tries that has runs, where one of them lacks captured lineage; None where there is none.

    :raises StoreError: as `runs_of`.
    """
    for context in tries:
        runs = runs_of(store, context, on_store_failure).runs
        if runs:
            return context if any(run.record.captured is not None and run.record.captured.problem for run in runs) else None
    return None


def captured_now(store: str | None, context: Mapping[str, Any], on_store_failure: OnStoreFailure) -> Called:
    """The runs of a try that lacked captured lineage, where they have it now: an application has captured it, and run nothing.

    :raises StoreError: as `runs_of`.
    """
    found = runs_of(store, context, on_store_failure)
    is_whole = all(run.record.captured is not None and not run.record.captured.problem for run in found.runs)
    return found if is_whole else Called(written=())


def clean_up(store: str | None) -> None:
    """Have the store fail the runs of drivers that died, as it does whenever it is opened; that it is away is no further error."""
    from airflow_lineage_provider.pipeline import Lineage

    try:
        Lineage(store=store).close()
    except StoreError as problem:
        log.warning("the application failed, and the results store cannot be opened, which will clean up after it later: %s", problem)
