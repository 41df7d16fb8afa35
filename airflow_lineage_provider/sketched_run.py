"""The provenance sketches of a run: those that it has read sources through, and those that were captured of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.asking import Asking, OfRecordedRun
from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.records.sketches import SketchUse
from airflow_lineage_provider.sketches.wanted import SketchOn
from airflow_lineage_provider.standing_run import attempted

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.deriving.sketching import Sketched
    from airflow_lineage_provider.running.asked_sketches import Sketching
    from airflow_lineage_provider.running.carried_sketches import CarriedWithRun


class SketchesOfRun(OfRecordedRun):
    """The part of `Run` that knows of sketches."""

    @property
    def sketches(self) -> tuple[SketchUse, ...]:
        """For each source of the run its sketch, or why there is none; nothing where the run was not asked for sketches."""
        return self.record.sketches

    def capture_sketches(
        self,
        *,
        sketch_on: Mapping[str, str | Sequence[str] | SketchOn] | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> tuple[SketchUse, ...]:
        """Capture now what later runs of the pipeline can skip by, in place of what was captured of this run before: for each source the
        sketch, or why there is none (`sketches` has it from then on).

        The run must have been made with ``sketches`` (``"use"``, say): then it has noted which pipeline it is an instance of. ``sketch_on``
        is what `Lineage.run` says. ``params`` gives secret parameters of the run again.

        :raises SketchError: the run was made without sketches, has read through one, or nothing can be captured of it; more rows stand
            behind the result than `settings.capture_limit`.
        :raises SketchUnsafe: a column that ``sketch_on`` names is not proved safe.
        :raises PlanError: it names what the pipeline does not read.
        :raises SourceUnavailable: a source has vanished, or is no longer what the run read.
        :raises SparkRequired: there is no session. :raises EnvironmentProblem: z3 is not installed.
        :raises StoreNotPermitted: the store's user may only read.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        from airflow_lineage_provider.running.captured_sketches import capture_later

        check_options({"sketch_on": sketch_on, "params": params})
        plan, run_id = self._asking.plan, self.record.id
        if any(one.state == "used" for one in self.record.sketches):
            raise SketchError(f"run {run_id} has read through a sketch: there is one that serves")
        noted = self._lineage.lasting(lambda: self._lineage.store.instance_of_run(run_id))
        if noted is None:
            because = "; ".join(dict.fromkeys(one.because for one in self.record.sketches)) or "it was made with sketches='off'"
            raise SketchError(f"nothing tells which later runs are of the same pipeline as run {run_id}: {because}")
        self._sketch(capture_later(plan, SketchOn.of(sketch_on), *noted), params or {}, progress)
        return self.sketches

    def _capture_sketches(
        self, wanted: Sketching, secret_params: Mapping[str, Any], progress: Progress | bool | None, with_run: CarriedWithRun | None = None
    ) -> None:
        """Capture what the run was asked to, once it is complete; ``with_run`` has what its rows carried.

        The result stands without sketches: what keeps one from being captured is kept with the run (`sketches`), or logged where nothing
        can be kept.
        """
        from airflow_lineage_provider.deriving.sketching import Sketched
        from airflow_lineage_provider.running.captured_sketches import not_captured

        started = time.perf_counter()

        def keep(text: str) -> None:
            self._keep(Sketched((), not_captured(wanted, text)), time.perf_counter() - started)

        def know(text: str) -> None:
            self._knows_sketches(Sketched((), not_captured(wanted, text)))

        run_id = self.record.id

        def make() -> None:
            self._sketch(wanted, secret_params, progress, with_run)

        attempted(f"no sketch was captured of run {run_id}", run_id, make, keep, know)

    def _sketch(
        self, wanted: Sketching, secret_params: Mapping[str, Any], progress: Progress | bool | None, with_run: CarriedWithRun | None = None
    ) -> None:
        from airflow_lineage_provider.deriving.sketching import sketched

        def asked(run: AskedRun) -> Sketched:
            return sketched(run, wanted, settings.capture_limit(), with_run)

        started = time.perf_counter()
        found = self._asking.answered("sketching", secret_params, progress, asked)
        self._keep(found, time.perf_counter() - started)

    def _keep(self, found: Sketched, took: float) -> None:
        run_id = self.record.id
        self._lineage.lasting(lambda: self._lineage.store.save_sketches(run_id, found.made, found.told, seconds=took, share=found.share))
        self._knows_sketches(found)

    def _knows_sketches(self, found: Sketched) -> None:
        self._asking = Asking(self._lineage, replace(self.record, sketches=found.told))
