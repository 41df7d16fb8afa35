"""The provenance sketches of a run: those that it has read sources through, and those that were captured of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.asking import Asking
from airflow_lineage_provider.errors import LineageError
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.records.sketches import SketchUse

if TYPE_CHECKING:
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.records.run import RunRecord
    from airflow_lineage_provider.running.asked_sketches import Sketching

log = logging.getLogger(__name__)


class SketchesOfRun:
    """The part of `Run` that knows of sketches."""

    record: RunRecord
    _lineage: Lineage
    _asking: Asking

    @property
    def sketches(self) -> tuple[SketchUse, ...]:
        """For each source of the run its sketch, or why there is none; nothing where the run was not asked for sketches."""
        return self.record.sketches

    def _capture_sketches(self, wanted: Sketching, secret_params: Mapping[str, Any], progress: Progress | bool | None) -> None:
        """Capture what the run was asked to, once it is complete.

        The result stands without sketches: what keeps one from being captured is kept with the run (`sketches`).
        """
        from airflow_lineage_provider.deriving.sketching import Sketched, sketched
        from airflow_lineage_provider.running.captured_sketches import not_captured

        def asked(run: AskedRun) -> Sketched:
            return sketched(run, wanted, settings.capture_limit())

        started = time.perf_counter()
        try:
            found = self._asking.answered("sketching", secret_params, progress, asked)
        except LineageError as problem:
            log.warning("no sketch was captured of run %s: %s", self.record.id, problem)
            found = Sketched((), not_captured(wanted, problem))
        took, run_id = time.perf_counter() - started, self.record.id
        self._lineage.lasting(lambda: self._lineage.store.save_sketches(run_id, found.made, found.told, seconds=took, share=found.share))
        self.record = replace(self.record, sketches=found.told)
        self._asking = Asking(self._lineage, self.record)
