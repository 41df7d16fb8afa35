"""The sketches of a store, and whether the sources that they are of are still the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_lineage_provider.answers.kept_sketches import KeptSketch, KeptSketches
from airflow_lineage_provider.errors import PlanVersionError, RecordDamaged, SketchError, SparkRequired
from airflow_lineage_provider.recording import read
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.spark.rereading.sources import changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.records.sketches import StoredSketch
    from airflow_lineage_provider.store import Store


def kept_sketches(store: Store, pipeline: str | None, limit: int, *, check: bool, spark: SparkSession | None) -> KeptSketches:
    """The newest sketches; with ``check`` each with what has changed. Those that cannot be read are left out, with a warning."""
    found = [_kept(one, uses) for one, uses in store.list_sketches(pipeline, limit)]
    outdated = {run_id: _outdated(store, run_id, spark) for run_id in {one.run_id for one in found}} if check else {}
    return KeptSketches([_checked(one, outdated) for one in found])


def _kept(one: StoredSketch, uses: int) -> KeptSketch:
    try:
        sketch = Sketch.from_bytes(one.content)
        fragments, count = len(sketch.fragments), sketch.count
    except SketchError:  # damaged: runs do not use it, and say so
        fragments = count = 0
    return KeptSketch(
        id=one.id, pipeline=one.pipeline, run_id=one.run_id, table=one.table, column=one.column, template=one.template,
        constants=one.binding, fragments=fragments, count=count, rows=one.rows, total=one.total, bytes=len(one.content), uses=uses,
        proof=one.proof, created=one.created,
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
