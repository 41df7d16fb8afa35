"""Runs among the views of a crossfilter: asked for their bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.recording import carried_by_plan, tables_of

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.crossfilter import GivenBars
    from airflow_lineage_provider.answers.explanation import Explanation


def with_bars(data: Any, views: Mapping[str, str | Run]) -> tuple[Any, Mapping[str, str | GivenBars]]:
    """The table and its views, with the bars of each run in its place.

    :raises InvalidOption: a run has not read the files (names the view), or the table is none of files.
    """
    from airflow_lineage_provider.deriving.run_bars import bars_of_run
    from airflow_lineage_provider.sources.view_values import ParquetRows

    runs = {name: one for name, one in views.items() if isinstance(one, Run)}
    plain = {name: one for name, one in views.items() if not isinstance(one, Run)}
    if not runs:
        return data, plain
    if not isinstance(data, str | Path | list | tuple):
        raise InvalidOption(f"view {next(iter(runs))} is a run: its bars are of the files that it read, and data is to name these")
    places: list[str | Path] = [data] if isinstance(data, str | Path) else list(data)
    if isinstance(data, str) and not Path(data).exists():
        places = _files_of(data, runs.values()) or places
    zones = {run.plan.zone for run in runs.values()}
    rows = replace(ParquetRows.at(places), zone=zones.pop() if len(zones) == 1 else "")
    made: dict[str, GivenBars] = {}
    for name, run in runs.items():
        try:
            bars = run._asking.answered("finding the bars of", None, False, partial(bars_of_run, rows=rows))
        except InvalidOption as problem:
            raise InvalidOption(f"view {name}: {problem}") from problem
        assert bars.of_result is not None
        plan = run.plan
        carried = plan.behind if plan.behind is not None else carried_by_plan(plan)
        made[name] = replace(bars, of_result=replace(bars.of_result, carried=carried, explain=partial(_explained, run)))
    return rows, {name: made.get(name) or plain[name] for name in views}


def _files_of(table: str, runs: Iterable[Run]) -> list[str | Path]:
    """The files of the source table of a name that one of the runs has read, the first that has; none where none has."""
    from airflow_lineage_provider.running.files_as_read import files_read

    found = (files_read(group[0].version) for run in runs for name, group in tables_of(run.plan).items() if name == table)
    return [*next((files for files in found if files), ())]


def _explained(run: Run, position: int) -> Explanation:
    return run.explain(at=[position], save=False)
