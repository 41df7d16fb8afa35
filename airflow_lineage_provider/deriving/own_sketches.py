"""A run's own sketches, through which a derivation reads sources where it makes segments again; or those of a later run that is the same
instance over the same versions, which took their place (`store.kept_sketches`).

All rows behind the result are in an accurate sketch of the run, and over it the pipeline gives the rows that it gave. So what a derivation
makes again for rows of the result is the same over the sketch, and so is what it traces of them. That is so of these rows alone: of others
the sketch may have a part of a group. Questions about other rows (why-not, other versions of the sources) read everything.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider import __version__
from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan import operators as o
from airflow_lineage_provider.plan.digest import digest_of
from airflow_lineage_provider.plan.walk import operators
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.files import sketched_attributes
from airflow_lineage_provider.sketches.sketch import Sketch, read_together
from airflow_lineage_provider.sketches.use import Selection, selection
from airflow_lineage_provider.typed_json import written

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.recording import RecordedPlan
    from airflow_lineage_provider.records.sketches import StoredSketch

log = logging.getLogger(__name__)


def own_selections(run: AskedRun, spark_version: str) -> dict[int, tuple[str, Selection]]:
    """By leaf the column and the selection of the run's own sketch, of sources that only segments read which are made again.

    (A stored segment has rows of the whole source, and beside it a part of the source would be neither. That a source is what the run read
    is looked at where segments are made again.) Sketches of another release, which may have proved otherwise, are left alone.
    """
    if (run.record.versions.get("airflow_lineage_provider"), run.record.versions.get("spark")) != (__version__, spark_version):
        return {}
    found, together = {}, {}
    stored = _leaves_of_stored(run.recorded)
    for one in _of_one_run(run):
        if one.leaf in run.recorded.sources and one.leaf not in stored and _is_of_these_versions(one, run.recorded):
            chosen = _selection(one, run.recorded)
            if chosen is not None:
                found[one.leaf], together[one.leaf] = (one.column, chosen[0]), chosen[1]
    return {leaf: found[leaf] for leaf in read_together(together)}


def _of_one_run(run: AskedRun) -> list[StoredSketch]:
    """The run's own sketches; where it has none, those of the newest run of the same instance and versions. Not of several: sources that
    stand under one limit are read through sketches of one run (`sketches.ties`). (What a limit took, of rows that tie, is the run's own:
    its rows are stored, and what is below is read whole.)"""
    own = run.store.sketches_of_run(run.record.id)
    noted = None if own else run.store.instance_of_run(run.record.id)
    if noted is None:
        return own
    instance = noted[0]
    same = [
        one for one in run.store.sketches_of(instance.template)
        if one.binding == instance.binding and one.kind != "witness" and _is_of_these_versions(one, run.recorded)
    ]  # fmt: skip
    return [one for one in same if one.run_id == same[0].run_id]


def _selection(stored: StoredSketch, recorded: RecordedPlan) -> tuple[Selection, tuple[int, ...]] | None:
    """The rows of an accurate sketch, and the leaves that are read through theirs with it; None where it is another, has all rows, or
    cannot be read."""
    source = recorded.sources[stored.leaf].source
    try:
        sketch, partition = Sketch.from_bytes(stored.content), kept_cuts.from_bytes(stored.cuts)
        if sketch.kind != "accurate" or (sketch.leaf, sketch.column, sketch.count) != (stored.leaf, stored.column, partition.count):
            return None
        found = selection(partition, sketch.fragments, *sketched_attributes(source, stored.column))
        return None if found is None else (found, sketch.together)
    except SketchError as problem:
        log.warning("sketch %s is not used: %s", stored.id, problem)
        return None


def _is_of_these_versions(stored: StoredSketch, recorded: RecordedPlan) -> bool:
    versions: Mapping[int, str] = {leaf: digest_of(written(one.version)) for leaf, one in recorded.sources.items()}
    return dict(stored.versions) == versions


def _leaves_of_stored(recorded: RecordedPlan) -> frozenset[int]:
    """The sources that stored segments have read, themselves or through others."""
    by_number = {segment.number: segment for segment in recorded.plan.segments}
    waiting, seen, found = [number for number in recorded.materialized if number in by_number], set[int](), set[int]()
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        for node in operators(by_number[number].plan):
            if isinstance(node, o.SegmentOutput):
                waiting.append(node.segment)
            elif isinstance(node, o.Source):
                found.add(node.leaf)
    return frozenset(found)
