"""Capture the lineage of a recorded run's rows, as an Airflow task: at night, in a pool, when there is time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.operators.options import check_when_read, check_when_run
from airflow_lineage_provider.operators.recorded_run import RecordedRunOperator
from airflow_lineage_provider.words import CaptureDirection, Difference, Subqueries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Context

    from airflow_lineage_provider.answers.captured import CapturedIndex
    from airflow_lineage_provider.capture.wanted import CaptureTable
    from airflow_lineage_provider.pipeline import Lineage

    Tables = Sequence[str] | Mapping[str, CaptureTable]


class CaptureLineageOperator(RecordedRunOperator):
    """Find what stands behind every row of a recorded run, and keep it as indexes, in place of what was captured before.

    What `Run.capture` does, as a task of its own: the run's task does not wait for it, and a pool says when there is room for it. Questions
    that come later look the rows up, without Spark. The XCom result is ``{"lineage_run_id", "pipeline", "indexes", "pairs", "bytes",
    "not_captured", "seconds"}``. A try that is killed leaves what was captured before.

    :param lineage_run_id: the recorded run, as in ``"{{ ti.xcom_pull('examine')['lineage_run_id'] }}"``. (templated)
    :param pipeline: in place of a run id, the name of a pipeline, whose latest complete run is taken; beside one, the pipeline that the run
        must be of. (templated)
    :param direction: which way it may be asked at once: ``both``, ``backward`` or ``forward``. (templated)
    :param tables: only lineage of these source tables, of each what a `CaptureTable` says where they are its names' values; what is not
        captured is traced when it is asked for. (templated)
    :param subqueries: what the rows of subqueries (IN, EXISTS) are, as of `DeriveAugmentedLineageOperator`: questions that say something
        else are traced. (templated)
    :param difference: what is kept of the right sides of differences, as of `Run.capture`: ``control``, in which rows they have a say;
        ``rows``, all their rows, too; ``data``, nothing. (templated)
    :param witnesses: whether to keep as well which source rows together made each row (`Run.witnesses`).
    :param secret_params: secret parameters of the run, given again; Airflow masks them. (templated)
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :param conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
    :param config_kwargs: Spark configuration over that of the connection. (templated)
    :raises ValueError: (when made, and for templates when the task starts) neither ``lineage_run_id`` nor ``pipeline`` is given, one of
        them is empty, or the direction, what the rows of subqueries are, or what is kept of differences, is not known.
    :raises RunNotFound: there is no such run, or the template that names it rendered to nothing.
    :raises InvalidCapture: the run has not read one of the tables.
    :raises SourceUnavailable: a source has vanished, or is no longer what the run read.
    :raises LineageError: any other failure (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = ("direction", "tables", "subqueries", "difference", *RecordedRunOperator.template_fields)
    templated_options = frozenset({"direction", "subqueries", "difference"})
    ui_color = "#e4ecf3"

    def __init__(
        self,
        *,
        direction: CaptureDirection = "both",
        tables: Tables | None = None,
        subqueries: Subqueries = "partners",
        difference: Difference = "control",
        witnesses: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.direction = direction
        self.tables = tables
        self.subqueries = subqueries
        self.difference = difference
        self.witnesses = witnesses
        given = {"direction": direction, "subqueries": subqueries, "difference": difference, "witnesses": witnesses}
        check_when_read(self.task_id, given, self.templated_options)

    def execute(self, context: Context) -> dict[str, Any]:
        """Capture, and give the XCom result."""
        check_when_run(self.task_id, {"direction": self.direction, "subqueries": self.subqueries, "difference": self.difference})
        return self._answered(self.asked(self._captured))

    def _captured(self, lineage: Lineage) -> dict[str, Any]:
        run = self._run(lineage)
        self.log.info("capturing the lineage of %r", run)
        found: CapturedIndex = run.capture(
            self.direction,
            tables=self.tables,
            subqueries=self.subqueries,
            difference=self.difference,
            witnesses=self.witnesses,
            params=self.secret_params,
            progress=self.log.info,
        )
        self.log.info("captured: %r", found)
        return {
            "lineage_run_id": run.id, "pipeline": run.summary.pipeline, "indexes": len(found), "pairs": found.edges, "bytes": found.bytes,
            "not_captured": list(found.not_captured), "seconds": found.seconds,
        }  # fmt: skip
