"""The lineage of a run's rows captured: once found, kept, and looked up by the questions that come later."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.answers.captured import CapturedIndex, captured_index
from airflow_lineage_provider.asking import OfRecordedRun
from airflow_lineage_provider.capture.recorded import RecordedIndex
from airflow_lineage_provider.capture.wanted import Capture, CaptureTable
from airflow_lineage_provider.errors import CaptureRequired
from airflow_lineage_provider.options import check_options
from airflow_lineage_provider.progress import Progress
from airflow_lineage_provider.standing_run import attempted, told
from airflow_lineage_provider.words import CaptureDirection, Difference, Subqueries

if TYPE_CHECKING:
    from airflow_lineage_provider.capture.writing import BuiltIndex
    from airflow_lineage_provider.deriving.asked_run import AskedRun
    from airflow_lineage_provider.running.capture_modes import CapturedWithRun

log = logging.getLogger(__name__)


class CapturedLineageOfRun(OfRecordedRun):
    """The part of `Run` that captures."""

    @property
    def index(self) -> CapturedIndex | None:
        """What was captured of the lineage of this run's rows (`capture`); None where nothing was.

        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        return captured_index(self.record, self._asking.plan)

    def capture(
        self,
        direction: CaptureDirection = "both",
        *,
        tables: Sequence[str] | Mapping[str, CaptureTable] | None = None,
        subqueries: Subqueries = "partners",
        difference: Difference = "control",
        witnesses: bool = False,
        params: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> CapturedIndex:
        """Find now what stands behind every row of what this run stored, and keep it as indexes, in place of what was captured before.

        Questions that come later look it up: `explain`, `backward`, and with ``direction`` ``both`` or ``forward`` also `forward`, which
        needs no Spark then. The answers are the same; who gave them is said in their ``engine``. With ``tables`` only lineage of these
        source tables is kept, of each what its `CaptureTable` says; what is not kept is traced when it is asked for. What the rows of
        ``subqueries`` are is what `explain` says: questions that say something else are traced, where the plan has any. Of the right sides
        of differences it is kept in which rows they have a say (``control``), with ``rows`` also which rows they have, once for all rows
        that passed them, and with ``data`` nothing; questions that need more are traced. With ``witnesses`` it is kept as well which source
        rows together made each row (`witnesses`). ``params`` gives secret parameters of the run again. Of a run that stored no result the
        rows are those of the Parquet files that it wrote: the result is made again, and its rows are found there by their values.

        :raises InvalidCapture: the direction is not known, the run has not read one of the tables, what is to be captured of one cannot
            be computed for each of its rows, or with the rows of right sides, or rows have no witnesses.
        :raises ResultNotStored: the run's strategy did not store its result, and it was not written to Parquet files.
        :raises SourceUnavailable: a source has vanished, or is no longer what the run read; or these files, and what it wrote.
        :raises TracingError: these have other rows than the pipeline gives when it is run again.
        :raises IndexTooLarge: it would be more pairs of rows than `settings.capture_limit`; nothing is written.
        :raises SparkRequired: finding them needs Spark, and there is no session.
        :raises LoadFailed: it is much (`settings.index_bytes`), and the place for that cannot be written.
        :raises StoreNotPermitted: the store's user may only read.
        :raises RunNotComplete: the run failed, was dropped, or is still going.
        """
        check_options({"params": params})
        wanted = Capture(direction=direction, tables=tables, subqueries=subqueries, difference=difference, witnesses=witnesses)
        self._capture(wanted, params, progress)
        return self.index  # type: ignore[return-value]

    def _capture(
        self,
        wanted: Capture,
        params: Mapping[str, Any] | None,
        progress: Progress | bool | None,
        *,
        sets_alone: bool = False,
        with_run: CapturedWithRun | None = None,
    ) -> None:
        from airflow_lineage_provider.deriving.capturing import captured
        from airflow_lineage_provider.kept_index import keep

        with ExitStack() as stack:

            def found(run: AskedRun) -> BuiltIndex:
                made = captured(run, wanted, settings.capture_limit(), sets_alone=sets_alone, with_run=with_run)
                stack.enter_context(made.parts)
                return made

            made = self._asking.answered("capturing the lineage of", params, progress, found)
            kept = keep(self._lineage, self.record.id, made)
        self._know(kept)

    def forget_captured(self) -> None:
        """Drop what `capture` has kept: the lineage is traced again when it is asked for.

        :raises StoreNotPermitted: the store's user may only read.
        """
        self._lineage.lasting(lambda: self._lineage.store.drop_captured(self.record.id))
        self._know(None)

    def _know(self, index: RecordedIndex | None) -> None:
        self._asking.record = replace(self.record, captured=index)

    def _capture_with_run(
        self,
        wanted: Capture,
        secret_params: Mapping[str, Any],
        progress: Progress | bool | None,
        with_run: CapturedWithRun | None = None,
    ) -> None:
        """What a run was asked to capture, once it is complete; ``with_run``: what was collected while it was made.

        The result stands without it, and so does every answer: whatever keeps it from being captured is kept with the run (`index`), and
        where it is required (`settings.capture_required`) it is said that the run stands, too. Until then it is recorded that it was begun.
        Of a run whose lineage was lost (`lineage_lost`) there is nothing to capture: that is logged, where it is required, and not raised.

        :raises CaptureRequired: it was not captured, and has to be.
        """
        if self.record.status != "complete":
            if settings.capture_required():
                log.warning("the lineage of run %s is not captured, as it is required: %s", self.record.id, self.record.error)
            return

        def make() -> None:
            if self.record.captured is None:
                self._note(RecordedIndex.begun())
            self._capture(wanted, secret_params, progress, with_run=with_run)

        # Where not even that can be kept, the store has that it was begun.
        failed = RecordedIndex.failed
        problem = attempted(
            f"the lineage of run {self.record.id} was not captured", self.record.id, make,
            lambda text: self._note(failed(text)), lambda text: self._know(failed(text)),
        )  # fmt: skip
        if problem is not None and settings.capture_required():
            raise CaptureRequired.of(self.record.id, self.record.pipeline, told(problem)) from problem

    def _note(self, index: RecordedIndex) -> None:
        """Record that there is no captured lineage, and why."""
        self._lineage.lasting(lambda: self._lineage.store.save_captured(self.record.id, index, []))
        self._know(index)

    def _capture_sets(self, secret_params: Mapping[str, Any]) -> None:
        """What full materialization stores besides rows: for rows that go back to groups, frames or partners, which rows these are.

        The result stands without it, and so does every answer, though it may take Spark: what keeps it from being captured is logged, and
        kept with the run (`index`).
        """
        failed = RecordedIndex.failed
        attempted(
            f"the groups of run {self.record.id} are looked for when they are asked for", self.record.id,
            lambda: self._capture(Capture(direction="backward"), secret_params, False, sets_alone=True),
            lambda text: self._note(failed(text)), lambda text: self._know(failed(text)),
        )  # fmt: skip
