"""The sketches of a store, and whether the sources that they are of are still the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.kept_sketches import KeptSketch, KeptSketches, SketchInDetail
from airflow_lineage_provider.errors import PlanVersionError, RecordDamaged, SketchDamaged, SketchError, SparkRequired
from airflow_lineage_provider.recording import read
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.intervals import values_of
from airflow_lineage_provider.sketches.policy import saved_each
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.spark.rereading.sources import changed
from airflow_lineage_provider.store.ids import is_possible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.records.sketches import SketchUses, StoredSketch
    from airflow_lineage_provider.store import Store


def kept_sketches(store: Store, pipeline: str | None, limit: int, *, check: bool, spark: SparkSession | None) -> KeptSketches:
    """The newest sketches; with ``check`` each with what has changed. Those that cannot be read are left out, with a warning."""
    listed = store.list_sketches(pipeline, limit)
    saved = {template: saved_each(store.measured_runs(template)) for template in {one.template for one, _ in listed}}
    found = [_kept(one, uses, saved[one.template]) for one, uses in listed]
    outdated = {run_id: _outdated(store, run_id, spark) for run_id in {one.run_id for one in found}} if check else {}
    return KeptSketches([_checked(one, outdated) for one in found])


def sketch_in_detail(store: Store, sketch_id: str, *, check: bool, spark: SparkSession | None) -> SketchInDetail:
    """One sketch, with the values that are in it; with ``check`` with what has changed, too.

    :raises SketchError: there is none with this id. :raises SketchDamaged, SketchTooNew: it cannot be read.
    """
    found = store.sketch(sketch_id) if is_possible(sketch_id) else None
    if found is None:
        raise no_sketch(sketch_id)
    stored, uses, runs = found
    sketch, partition = Sketch.from_bytes(stored.content), kept_cuts.from_bytes(stored.cuts)
    if sketch.count != partition.count:
        raise SketchDamaged(f"sketch {sketch_id} and its cuts do not belong together")
    kept = _kept(stored, uses, saved_each(store.measured_runs(stored.template)))
    kept = _checked(kept, {kept.run_id: _outdated(store, kept.run_id, spark)}) if check else kept
    values = tuple((_text(least), _text(below)) for least, below in values_of(partition, sketch.fragments))
    null, nan = partition.null_fragment in sketch.fragments, partition.nan_fragment in sketch.fragments
    return SketchInDetail(sketch=kept, values=values, null=null, nan=nan, runs=tuple(runs))


def no_sketch(sketch_id: str) -> SketchError:
    """That there is no sketch with this id."""
    return SketchError(f"there is no sketch {shown(sketch_id)} in the results store; 'airflow-lineage sketches' lists those that are")


def _text(value: Any) -> str | None:
    """Of several columns as SQL writes a row."""
    if isinstance(value, tuple):
        return f"({', '.join('NULL' if one is None else str(one) for one in value)})"
    return None if value is None else str(value)


def _kept(one: StoredSketch, uses: SketchUses, saved: float | None) -> KeptSketch:
    """The sketch, of a template whose uses save so many seconds each."""
    try:
        sketch = Sketch.from_bytes(one.content)
        fragments, count = len(sketch.fragments), sketch.count
    except SketchError:  # damaged: runs do not use it, and say so
        fragments = count = 0
    return KeptSketch(
        id=one.id, pipeline=one.pipeline, run_id=one.run_id, table=one.table, column=one.column, template=one.template,
        constants=one.binding, fragments=fragments, count=count, rows=one.rows, total=one.total, bytes=len(one.content), uses=uses.runs,
        proof=one.proof, created=one.created, kind=one.kind or "", proof_ms=one.proof_ms, source_bytes=one.bytes,
        saved_seconds=None if saved is None else saved * uses.runs, skipped_bytes=uses.skipped, quarantined=one.quarantined or "",
    )  # fmt: skip


def _checked(one: KeptSketch, outdated: Mapping[str, tuple[str, ...] | None]) -> KeptSketch:
    return replace(one, outdated=outdated.get(one.run_id))


def _outdated(store: Store, run_id: str, spark: SparkSession | None) -> tuple[str, ...] | None:
    """How the sources of a run are others now; None where nobody here can tell."""
    try:
        sources = read(store.run(run_id)).sources.values()
        return tuple(text for one in sources for text in changed(one.source.relation, one.version, spark))
    except (SparkRequired, RecordDamaged, PlanVersionError):
        return None
