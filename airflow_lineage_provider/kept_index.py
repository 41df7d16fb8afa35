"""Captured lineage kept with its run: in the store, or, where it is much and there is a place for that, in a file.

A file is written before the run's record tells of it, under a name of its own: until then its folder is listed to be removed, so that
nothing of a process that ends between is left, and questions find what was captured before.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving import index_files
from airflow_lineage_provider.sources.file_uris import local_path

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.recorded import RecordedIndex
    from airflow_lineage_provider.capture.writing import BuiltIndex
    from airflow_lineage_provider.pipeline import Lineage

log = logging.getLogger(__name__)


def keep(lineage: Lineage, run_id: str, made: BuiltIndex) -> RecordedIndex:
    """Keep what was captured of a complete run, in place of what was captured before; what is recorded of it.

    :raises RunNotComplete: the run was dropped meanwhile. :raises LoadFailed: there is a place for files, and it cannot be written.
    """
    place = _place(lineage, run_id, made)
    if place is None:
        lineage.lasting(lambda: lineage.store.save_captured(run_id, made.index, made.parts))
        return made.index
    index, folder = replace(made.index, in_files=True), index_files.folder_of(place, run_id, made.index.id)
    lineage.lasting(lambda: lineage.store.lease_folder(run_id, folder))
    try:
        index_files.write(folder, made.parts, lineage.spark)
        lineage.lasting(lambda: lineage.store.save_captured_in(folder, run_id, index, made.parts.places, made.parts.total))
    except BaseException:
        with contextlib.suppress(Exception):  # (then it is removed a day later)
            lineage.store.give_up_folder(folder)
        raise
    finally:
        lineage._sweep()
    return index


def _place(lineage: Lineage, run_id: str, made: BuiltIndex) -> str | None:
    """The folder below which it goes, as a URI that every process understands; None: into the store."""
    place = lineage._index_place()
    if place is None or made.parts.total < place.index_bytes:
        return None
    found = _uri(lineage, run_id, place.folder)
    if found is None:
        log.warning(
            "the captured lineage of run %s (%s bytes) is kept in the store: which file system %s is on only Spark knows",
            run_id, f"{made.parts.total:,}", place.folder,
        )  # fmt: skip
    return found


def _uri(lineage: Lineage, run_id: str, folder: str) -> str | None:
    """Without a session a URI of this machine's is one, and a path if the embedded server's home has it, or the run's rows stand there."""
    from airflow_lineage_provider.spark.ready import is_stopped

    if lineage.spark is not None and not is_stopped(lineage.spark):
        from airflow_lineage_provider.spark.executing.stored_files import qualified

        return qualified(lineage.spark, folder)
    if local_path(folder) is not None:
        return f"file:{local_path(folder)}"
    here = f"file:{folder}"
    if not folder.startswith("/"):
        return None
    if lineage.store.is_started_again:
        return here
    stored = lineage.lasting(lambda: lineage.store.materializations(run_id))
    return here if any(str(one.folder).startswith(f"{here}/{run_id}/") for one in stored.values()) else None
