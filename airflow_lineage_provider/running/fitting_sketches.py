"""The sketches that a run reads its sources through.

A sketch is used where all sources are of the very versions that it was captured of, and for the very instance of the pipeline
(`sketches.template`): then what the proof said when it was captured holds. For an instance with other constants it is proved anew that the
column is safe, and that the sketch has all that stands behind the result. Whatever stands against it is said of each source.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import EnvironmentProblem, SketchError
from airflow_lineage_provider.records.sketches import SketchUse, StoredSketch
from airflow_lineage_provider.running.asked_sketches import Asked, Sketching, unused
from airflow_lineage_provider.sketches import kept_cuts
from airflow_lineage_provider.sketches.choice import why_not
from airflow_lineage_provider.sketches.columns import safe_columns
from airflow_lineage_provider.sketches.reuse import why_not_reused
from airflow_lineage_provider.sketches.sketch import Sketch
from airflow_lineage_provider.sketches.template import Binding
from airflow_lineage_provider.sketches.use import selection

if TYPE_CHECKING:
    from airflow_lineage_provider.plan.expressions import Expression
    from airflow_lineage_provider.recording import RecordedSource
    from airflow_lineage_provider.store.run_store import RunStore

log = logging.getLogger(__name__)

_SAME = "of the same pipeline, constants and versions"
_OTHER = "of the same pipeline and versions with other constants, which has all that this one needs"
MOST_TRIED = 20
"""So many sketches of other constants are looked at, the smallest first: each may take a second."""


def fitting(asked: Asked, store: RunStore) -> Sketching:
    """The sketches that fit, one for each source."""
    return _Fitting(asked).used(store)


@dataclass(frozen=True)
class _Fitting:
    asked: Asked
    contained: dict[Binding, str] = field(default_factory=dict)
    """Why an instance's sketches do not serve, by its constants."""
    safe: dict[tuple[int, str], str] = field(default_factory=dict)
    """Why a column is not safe for this instance, by leaf and name."""

    def used(self, store: RunStore) -> Sketching:
        """The sketches that fit, one for each source."""
        nothing: list[StoredSketch] = []
        stored = store.ask("finding sketches", lambda opened: opened.sketches_of(self.asked.instance.template), nothing)
        uses, selections = [], {}
        for source in self.asked.sources:
            use, condition = self._used(source, [one for one in stored if one.leaf == source.source.leaf])
            uses.append(use)
            if condition is not None:
                selections[source.source.leaf] = condition
        return self.asked.sketching(tuple(uses), selections=selections)

    def _used(self, source: RecordedSource, stored: Sequence[StoredSketch]) -> tuple[SketchUse, Expression | None]:
        on = self.asked.named.get(source.source.leaf)
        on_it = [one for one in stored if on is None or one.column == on.column]
        column = "" if on is None else on.column
        if not on_it:
            return unused(source, "no sketch was captured of a run of this pipeline", column), None
        fresh = [one for one in on_it if one.versions == dict(self.asked.versions)]
        if not fresh:
            return unused(source, f"a source has changed since the sketch was captured: {self._changed(on_it[0])}", on_it[0].column), None
        small = sorted(fresh, key=lambda one: one.rows)
        same = next((one for one in small if one.binding == self.asked.instance.binding), None)
        return self._reused(source, small[:MOST_TRIED]) if same is None else self._selected(source, same, _SAME)

    def _reused(self, source: RecordedSource, stored: Sequence[StoredSketch]) -> tuple[SketchUse, Expression | None]:
        """The smallest sketch of another instance that surely serves this one."""
        problem = ""
        for one in stored:
            try:
                problem = self._why_not_reused(one)
            except EnvironmentProblem as missing:
                return unused(source, f"the sketches that there are ({len(stored)}) are of other constants: {missing}", one.column), None
            if not problem:
                return self._selected(source, one, _OTHER)
        return unused(source, f"the sketches that there are ({len(stored)}) are of other constants: {problem}", stored[-1].column), None

    def _why_not_reused(self, one: StoredSketch) -> str:
        if one.binding not in self.contained:
            self.contained[one.binding] = why_not_reused(self.asked.captured.pipeline, one.binding)
        if self.contained[one.binding]:
            return self.contained[one.binding]
        column = (one.leaf, one.column)
        if column not in self.safe:
            (judged,) = safe_columns(self.asked.captured.pipeline, keys=self.asked.keys, only=[column])
            self.safe[column] = why_not(judged) or ("it is safe only for a result that has rows" if judged.needs_rows else "")
        return self.safe[column]

    def _changed(self, one: StoredSketch) -> str:
        names = [
            s.source.relation.name for s in self.asked.sources if one.versions.get(s.source.leaf) != self.asked.versions[s.source.leaf]
        ]
        return ", ".join(dict.fromkeys(names)) or "another table was read"

    def _selected(self, source: RecordedSource, stored: StoredSketch, of: str) -> tuple[SketchUse, Expression | None]:
        attributes = dict(zip(source.source.columns, source.source.output, strict=True))
        try:
            sketch, partition = Sketch.from_bytes(stored.content), kept_cuts.from_bytes(stored.cuts)
            if (sketch.leaf, sketch.column, sketch.count) != (
                stored.leaf,
                stored.column,
                partition.count,
            ) or stored.column not in attributes:
                raise SketchError("its parts do not belong together")
            condition = selection(partition, sketch.fragments, attributes[stored.column])
        except SketchError as problem:
            log.warning("sketch %s is not used: %s", stored.id, problem)
            return unused(source, f"sketch {stored.id} cannot be read: {problem}", stored.column), None
        told = f"sketch of run {stored.run_id}, {of}: {stored.rows:,} of {stored.total:,} rows"
        return SketchUse(
            leaf=stored.leaf, table=source.source.relation.name, column=stored.column, state="used", because=told, sketch=stored.id,
            run_id=stored.run_id, fragments=len(sketch.fragments), count=sketch.count, rows=stored.rows, total=stored.total,
        ), condition  # fmt: skip
