"""A retry of a task whose run stands, and lacks nothing but captured lineage, which is required: that is captured, and nothing is run."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import CaptureRequired, ParameterError, SourceUnavailable
from airflow_lineage_provider.recording import read as recorded
from airflow_lineage_provider.records.versions import FilesVersion, RowsVersion, WrittenRows
from airflow_lineage_provider.store.run_store import FAILURES
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.progress import Progress
    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.records.run import RecordedOutput, RunRecord
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


def completed(lineage: Lineage, request: Request, tries: Iterable[Mapping[str, Any]], progress: Progress | bool | None) -> list[Run] | None:
    """The runs of the newest of some ``tries`` that made any, the DataFrame's last, when all that they lacked was captured lineage, which
    they have now; None where the pipeline is to be run.

    It is, too, where another thing was asked for (other parameters, another output or strategy), where a source has changed since, so that
    lineage of what was read cannot be captured any more, and where the store is away and results are to be kept without it.

    :raises CaptureRequired: it cannot be captured now either, or not any more, and the pipeline has overwritten what it has read.
    :raises StoreError: the store does not answer.
    """
    if request.capture is None:
        return None
    try:
        runs = next((found for context in tries if (found := runs_of_try(lineage, context))), [])
    except FAILURES as problem:
        if lineage.on_store_failure == "fail":
            raise
        log.warning("whether an earlier try stands is not known, and the pipeline is run: %s", problem)
        return None
    missing = [run for run in runs if run.record.captured is not None and run.record.captured.problem]
    if not missing or not _is_result(runs[-1].record, request) or not _are_secrets_known(missing, request):
        return None
    try:
        for run in missing:
            log.info("run %s of an earlier try stands: its lineage is captured, and nothing is run again", run.id)
            run._capture_with_run(request.capture, request.secrets.values, progress)
    except CaptureRequired as problem:
        if not isinstance(problem.__cause__, SourceUnavailable):
            raise
        if _reads_what_it_wrote([run.record for run in runs]):
            log.warning("the pipeline is not run again, as it would read what it wrote: clear the task to have it run all the same")
            raise
        log.warning("the pipeline is run again: %s", problem.__cause__)
        return None
    return runs


def _is_result(last: RunRecord, request: Request) -> bool:
    """Whether a run is the DataFrame's that is asked for, after which there was nothing left to do: not one of what the function wrote by
    itself, which is told by its place."""
    output = None if last.output is None else replace(last.output, version=None)
    asked = None if request.output is None else request.output.recorded()
    same = (last.status, last.pipeline, last.strategy, output) == ("complete", request.name, request.strategy, asked)
    return same and last.captured is not None and _are_params(last.params, request)


def _are_params(recorded: Mapping[str, Any], request: Request) -> bool:
    """Whether these are the request's parameters, as a record has them; what it has besides are secret session variables."""
    own = {name: value for name, value in recorded.items() if name not in request.secrets.variables}
    return json.dumps(own, sort_keys=True) == json.dumps(written(dict(request.recorded_params)), sort_keys=True)


def _are_secrets_known(missing: Iterable[Run], request: Request) -> bool:
    try:
        for run in missing:
            run._asking.secrets(request.secrets.values)
    except ParameterError as problem:
        log.warning("the pipeline is run again, as it was run with other secrets, or with some that only the session has: %s", problem)
        return False
    return True


def _reads_what_it_wrote(runs: Sequence[RunRecord]) -> bool:
    """Whether one of the runs of a try has read what it, or a later one, wrote: then the pipeline, run again, does not read what it did."""
    return any(_reads(one, later.output) for at, one in enumerate(runs) for later in runs[at:] if later.output is not None)


def _reads(record: RunRecord, output: RecordedOutput) -> bool:
    place = output.version.place if isinstance(output.version, WrittenRows) else None
    made = tuple((output.version.files or ()) if isinstance(output.version, FilesVersion) else ())
    folders = {_path(file).rpartition("/")[0] for file in made} | ({_path(output.target)} if output.kind == "path" else set())
    for source in recorded(record).sources.values():
        relation, version = source.source.relation, source.version
        if output.kind == "table" and dict(relation.options).get("table", relation.name).split(".")[-1] == output.target.split(".")[-1]:
            return True
        if place is not None and isinstance(version, RowsVersion) and version.place == place:
            return True
        if any(_lies_in(_path(path), folder) or _lies_in(folder, _path(path)) for path in relation.paths for folder in folders):
            return True
    return False


def _path(uri: str) -> str:
    """A file's or folder's place without the scheme of its address, of which there are several for one place."""
    place = re.sub(r"^[A-Za-z][\w+.-]*:(//(?=/))?", "", uri)
    return place.rstrip("/") if place.startswith("/") else os.path.abspath(place)


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
