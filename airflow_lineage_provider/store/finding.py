"""Runs by what people write for an id: the whole id, or an unambiguous beginning of it."""

from __future__ import annotations

import sqlalchemy as sa

from airflow_lineage_provider.errors import AmbiguousRun, RunNotFound
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import catalog
from airflow_lineage_provider.store.ids import is_possible

_LISTED = 5


def find(connection: sa.Connection, run_id: str, pipeline: str | None, *, whole: bool) -> str:
    """The id of the run with this id, of this pipeline where one is given. ``whole``: the beginning of an id is not enough.

    :raises RunNotFound: there is none.
    :raises AmbiguousRun: the ids of several runs begin like that.
    """
    try:
        found = catalog.state(connection, run_id)
    except RunNotFound:
        if not is_possible(run_id):
            raise
        similar = catalog.runs_beginning(connection, run_id, pipeline, _LISTED + 1)
        if not similar:
            raise
        found = catalog.state(connection, _only(run_id, similar, whole=whole))
    if pipeline is not None and found.pipeline != pipeline:
        raise RunNotFound(f"run {found.id} is one of pipeline {found.pipeline!r}, not of {pipeline!r}")
    return found.id


def _only(beginning: str, found: list[str], *, whole: bool) -> str:
    given = shown(beginning)
    if len(found) > 1:
        more = " and others" if len(found) > _LISTED else ""
        raise AmbiguousRun(f"{given} is the beginning of several runs' ids: {', '.join(found[:_LISTED])}{more}; write more of it")
    if whole:
        raise RunNotFound(f"{given} is only the beginning of run {found[0]}: here the whole id is needed")
    return found[0]
