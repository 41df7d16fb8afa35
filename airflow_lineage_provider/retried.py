"""A retry of a task whose run stands, and lacks nothing but captured lineage, which is required: that is captured, and nothing is run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import CaptureRequired, SourceUnavailable

if TYPE_CHECKING:
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.running.run import Request

log = logging.getLogger(__name__)

_WHOSE = ("dag_id", "run_id", "task_id", "map_index", "try_number")
_AT_ONCE = 200


def runs_of_try(lineage: Lineage, context: Mapping[str, Any]) -> list[Run]:
    """The runs of one try of a task instance that have a result, in the order in which they began.

    :raises StoreError: the store does not answer.
    """
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


def completed(
    lineage: Lineage, request: Request, name_of_writes: str | None, tries: Iterable[Mapping[str, Any]], progress: Progress | bool | None
) -> list[Run] | None:
    """The runs of the newest of some ``tries`` that made any, the DataFrame's last, when all that they lacked was captured lineage, which
    they have now; None where the pipeline is to be run.

    It is, too, where a source has changed since: lineage of what was read cannot be captured any more.

    :raises CaptureRequired: it cannot be captured now either. :raises StoreError: the store does not answer.
    """
    runs = next((found for context in tries if (found := runs_of_try(lineage, context))), [])
    missing = [run for run in runs if run.record.captured is not None and run.record.captured.problem]
    if request.capture is None or not missing or not _is_result(runs, request, name_of_writes):
        return None
    try:
        for run in missing:
            log.info("run %s of an earlier try stands: its lineage is captured, and nothing is run again", run.id)
            run._capture_with_run(request.capture, request.secrets.values, progress)
    except CaptureRequired as problem:
        if isinstance(problem.__cause__, SourceUnavailable):
            log.warning("the pipeline is run again: %s", problem.__cause__)
            return None
        raise
    return runs


def _is_result(runs: Sequence[Run], request: Request, name_of_writes: str | None) -> bool:
    """Whether the last run is the DataFrame's, after which there was nothing left to do: not one of what the function wrote by itself."""
    last = runs[-1].record
    if (last.status, last.pipeline, last.captured is None) != ("complete", request.name, False):
        return False
    is_written = last.output is not None
    return is_written == (request.output is not None) and not (is_written and name_of_writes == request.name)
