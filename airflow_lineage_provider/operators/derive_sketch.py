"""Capture provenance sketches of a recorded run, as an Airflow task: later runs of its pipeline skip by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.operators.options import check_when_read, check_when_run
from airflow_lineage_provider.operators.recorded_run import RecordedRunOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.sketches.wanted import SketchOn


class DeriveSketchOperator(RecordedRunOperator):
    """Capture what later runs of a recorded run's pipeline can skip by, in place of what was captured of the run before.

    What `Run.capture_sketches` does, as a task of its own: the run's task does not wait for it, and a pool says when there is room for it.
    The run is made with ``sketches="use"``: it reads through a sketch that fits, and notes which pipeline it is where none does. A run that
    has read through a sketch needs no other, and the task is skipped. The XCom result is ``{"lineage_run_id", "pipeline", "captured",
    "not_captured", "seconds"}``: of each sketch its ``id``, ``table``, ``column``, ``rows`` and ``total``, and by table why there is none.
    A try that is killed leaves what was captured before.

    :param lineage_run_id: the recorded run, as in ``"{{ ti.xcom_pull('examine')['lineage_run_id'] }}"``. (templated)
    :param pipeline: in place of a run id, the name of a pipeline, whose latest complete run is taken; beside one, the pipeline that the run
        must be of. (templated)
    :param sketch_on: the columns of source tables that sketches are of, ``{table: column}``, or ``{table: [columns]}``; else those that
        skip best. (templated)
    :param secret_params: secret parameters of the run, given again; Airflow masks them. (templated)
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :param conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
    :param config_kwargs: Spark configuration over that of the connection. (templated)
    :raises ValueError: (when made, and for templates when the task starts) neither ``lineage_run_id`` nor ``pipeline`` is given, one of
        them is empty, or ``sketch_on`` is no such mapping.
    :raises RunNotFound: there is no such run, or the template that names it rendered to nothing.
    :raises SketchError: the run was made without sketches, or nothing can be captured of it.
    :raises SketchUnsafe: a column that ``sketch_on`` names is not proved safe.
    :raises SourceUnavailable: a source has vanished, or is no longer what the run read.
    :raises LineageError: any other failure (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = ("sketch_on", *RecordedRunOperator.template_fields)
    templated_options = frozenset({"sketch_on"})
    ui_color = "#e4ecf3"

    def __init__(self, *, sketch_on: Mapping[str, str | Sequence[str] | SketchOn] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sketch_on = sketch_on
        check_when_read(self.task_id, {"sketch_on": sketch_on}, self.templated_options)

    def execute(self, context: Context) -> dict[str, Any]:
        """Capture, and give the XCom result."""
        check_when_run(self.task_id, {"sketch_on": self.sketch_on})
        return self._answered(self.asked(self._captured))

    def _captured(self, lineage: Lineage) -> dict[str, Any]:
        import time

        from airflow.providers.common.compat.sdk import AirflowSkipException

        run = self._run(lineage)
        used = [one for one in run.sketches if one.state == "used"]
        if used:
            raise AirflowSkipException(
                f"{run!r} has read through a sketch of {used[0].column} of {used[0].table}: one that serves is there"
            )
        self.log.info("capturing sketches of %r", run)
        started = time.perf_counter()
        found = run.capture_sketches(sketch_on=self.sketch_on, params=self.secret_params, progress=self.log.info)
        for one in found:
            self.log.info("%s %s: %s", one.table, one.state, one.because)
        return {
            "lineage_run_id": run.id, "pipeline": run.summary.pipeline,
            "captured": [
                {"id": one.sketch, "table": one.table, "column": one.column, "rows": one.rows, "total": one.total}
                for one in found if one.state == "captured"
            ],
            "not_captured": {one.table: one.because for one in found if one.state != "captured"},
            "seconds": time.perf_counter() - started,
        }  # fmt: skip
