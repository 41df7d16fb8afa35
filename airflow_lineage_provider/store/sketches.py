"""A store's provenance sketches, each looked at in one transaction (`kept_sketches`)."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_lineage_provider.records.sketches import SketchUse, SketchUses, StoredSketch
from airflow_lineage_provider.sketches.policy import MeasuredRun
from airflow_lineage_provider.sketches.template import Instance
from airflow_lineage_provider.store import kept_sketches, sketch_runs
from airflow_lineage_provider.store.open_store import OpenStore


class Sketches(OpenStore):
    """What a store knows of sketches."""

    def save_sketches(
        self, run_id: str, made: Sequence[StoredSketch], told: Sequence[SketchUse], *, seconds: float = 0.0, share: float | None = None
    ) -> None:
        """Keep the sketches of a complete run, in place of what there was of it, and what its record says of them; capturing them took so
        many ``seconds``, and they have a ``share`` of the sources' bytes.

        :raises RunNotFound: there is no such run. :raises RunNotComplete: it was dropped meanwhile.
        """
        with self._transaction(f"keeping the sketches of run {run_id}") as connection:
            kept_sketches.save(connection, run_id, made, told)
            sketch_runs.note_capture(connection, run_id, seconds, share)

    def sketches_of(self, template: str) -> list[StoredSketch]:
        """The sketches of a template (`sketches.template`), the newest first; damaged ones are left out, with a warning."""
        with self._transaction("finding sketches") as connection:
            return kept_sketches.of_template(connection, template)

    def sketches_of_run(self, run_id: str) -> list[StoredSketch]:
        """The sketches that were captured of a run; damaged ones are left out, with a warning."""
        with self._transaction(f"finding the sketches of run {run_id}") as connection:
            return kept_sketches.of_run(connection, run_id)

    def sketch(self, sketch_id: str) -> tuple[StoredSketch, SketchUses, list[str]] | None:
        """One sketch, and what runs had of it: those that have read through it, the newest first; None where there is none that can be
        read."""
        with self._transaction(f"reading sketch {sketch_id}") as connection:
            return kept_sketches.of_id(connection, sketch_id)

    def cuts_of(self, table: str, column: str, version: str) -> list[bytes]:
        """The cuts of a table's column that the newest sketches of this version of the table have."""
        with self._transaction(f"finding cuts of column {column}") as connection:
            return kept_sketches.cuts_of(connection, table, column, version)

    def instance_of_run(self, run_id: str) -> tuple[Instance, dict[int, str]] | None:
        """The instance of its pipeline that a run was, and the versions of its sources by leaf; None where it did not note them."""
        with self._transaction(f"finding what run {run_id} is an instance of") as connection:
            return sketch_runs.instance_of(connection, run_id)

    def list_sketches(self, pipeline: str | None, limit: int) -> list[tuple[StoredSketch, SketchUses]]:
        """The newest sketches, of one pipeline where one is named, each with what runs had of it."""
        with self._transaction("listing sketches") as connection:
            return kept_sketches.listed(connection, pipeline, limit)

    def note_sketch_run(self, template: str, run: MeasuredRun, uses: Sequence[SketchUse]) -> None:
        """What a run of a template took, and what it has read of its sources through these sketches."""
        with self._transaction(f"noting the sketches of run {run.run_id}") as connection:
            kept_sketches.note_uses(connection, run.run_id, [one.sketch for one in uses])
            kept_sketches.note_read(connection, run.run_id, uses, run.seconds)
            sketch_runs.note(connection, template, run)

    def note_sketch_uses(self, run_id: str, sketches: Sequence[str]) -> list[str]:
        """That a run reads sources through these sketches, which are kept for it from now on; those that are kept no more."""
        with self._transaction(f"noting the sketches that run {run_id} reads through") as connection:
            return kept_sketches.note_uses(connection, run_id, sketches)

    def measured_runs(self, template: str) -> list[MeasuredRun]:
        """What the newest runs of a template took, the newest first."""
        with self._transaction("reading what runs took") as connection:
            return sketch_runs.of_template(connection, template)

    def quarantine_sketches(self, sketches: Sequence[str], because: str) -> int:
        """Set sketches aside, by their ids: they are not used any more, and say ``because``; how many there were."""
        with self._transaction(f"setting {len(sketches):,} sketches aside") as connection:
            return kept_sketches.set_aside(connection, sketches, because)

    def forget_useless_sketches(self, template: str) -> int:
        """Forget a template's sketches that no run has read through; how many there were."""
        with self._transaction("forgetting sketches that are of no use") as connection:
            return kept_sketches.forget_useless(connection, template)

    def drop_sketches(self, sketches: Sequence[str]) -> int:
        """Forget sketches, by their ids; how many there were."""
        with self._transaction(f"forgetting {len(sketches):,} sketches") as connection:
            return kept_sketches.drop(connection, sketches)
