"""A task that runs a pipeline in its own process and records its lineage: what all such operators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_lineage_provider.hooks.rendered import is_blank
from airflow_lineage_provider.operators.killing import KillableOperator
from airflow_lineage_provider.operators.masking import mask_urls
from airflow_lineage_provider.operators.options import check_when_read, check_when_run
from airflow_lineage_provider.operators.outlet_events import tell_outlets
from airflow_lineage_provider.operators.run_context import airflow_context, earlier_tries, task_instance_key
from airflow_lineage_provider.operators.run_result import RUNS, log_stored, not_recorded, run_result
from airflow_lineage_provider.operators.tab_link import LineageTabLink
from airflow_lineage_provider.words import CaptureWhen, OnStoreFailure, OnUnsupported, Reasons, SketchesWhen, Strategy

if TYPE_CHECKING:
    from airflow.sdk import Context
    from jinja2 import Environment

    from airflow_lineage_provider.called import Called
    from airflow_lineage_provider.capture.wanted import Capture
    from airflow_lineage_provider.hooks.lineage import LineageHook
    from airflow_lineage_provider.operators.bound_pipeline import BoundPipeline
    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.running.output import Output
    from airflow_lineage_provider.sketches.wanted import SketchOn


TEMPLATED = frozenset(
    {
        "strategy", "reasons", "output", "keys", "on_store_failure", "on_unsupported", "append_key", "index", "capture", "sketches",
        "sketch_on",
    }
)  # fmt: skip
"""Options that may be templates: those are checked when the task starts."""


class LineageTask(KillableOperator):
    """Run a pipeline and record its lineage: what it writes by Spark's writers, and the DataFrame that it gives.

    Each write is recorded as a run (`Lineage.recording`). A DataFrame that the pipeline gives is run and recorded, too, and written to
    ``output``; then the XCom result is ``{"lineage_run_id", "pipeline", "rows", "output", "seconds", "lineage", "lineage_lost",
    "lineage_cost", "sketches"}``, ``lineage`` being ``complete`` or ``incomplete``, ``lineage_lost`` the cause or None, ``lineage_cost``
    ``{"seconds", "share", "at_least"}`` or None, and ``sketches`` ``{"used", "rows_skipped"}``. The XCom key ``lineage_runs`` has all runs
    of the task, in order, each as such a dictionary.

    A try that fails is recorded as failed and leaves the runs of other tries as they are. What one try has appended (``+append``) is
    replaced by the next, also where the task had succeeded and was cleared; after ``error`` use overwrite. (What the pipeline appends by
    itself is Spark's: the next try appends it again.)

    :param output: where the result is written besides the store: an `Output`, or text such as ``/data/judged``, ``parquet:/data/judged``,
        ``table:bank.judged``, each with ``+overwrite`` or ``+append`` behind it if wanted, and ``+cluster_by:COLUMN,…`` for files of
        ranges of columns. A pipeline that gives no DataFrame can have none. (templated)
    :param strategy: what the run stores: ``function_materialization`` (segments with UDFs, and the result), ``rerun`` (nothing),
        ``full_materialization`` (every segment) or ``auto`` (what takes longer to make than to store). (templated)
    :param reasons: ``lazy`` computes reasons when they are asked for, ``eager`` during the run. (templated)
    :param keys: primary keys of source tables, ``{table: [column, …]}``. (templated)
    :param on_store_failure: what becomes of the task when the results store is missing, slow, or dies in the middle: ``fail``, or
        ``keep_result``: the result is written, and the run is marked incomplete. (templated)
    :param on_unsupported: what becomes of a write that cannot be recorded: ``fail`` refuses it before it is made, ``incomplete`` has it
        made, and recorded as an incomplete run. (templated)
    :param append_key: what is appended, for an output with ``+append``: another task that appends as the same key to the same place
        replaces these rows. By default the task instance: dag, DAG run, task, map index. (templated)
    :param index: columns of the result, or lists of columns, by which its rows are going to be asked for. (templated)
    :param lineage: ``False`` is the plain operator: nothing is recorded, and no store is opened. So is every task where the switch is off
        (``AIRFLOW_LINEAGE_ENABLED=0``, ``[lineage] enabled``). Reasoned UDFs decide as ever.
    :param capture: ``lazy`` traces the lineage of the result's rows when it is asked for; ``eager``, or a `Capture`, captures it at the end
        of the task (`CaptureLineageOperator` does it in a task of its own). Where that is required and fails (`CaptureRequired`), a retry
        captures the lineage of what stands, and runs nothing, if the same is asked for and the sources are as they were. (templated)
    :param sketches: what is done with provenance sketches when the DataFrame is computed: ``off``, ``use``, ``auto``, ``eager`` or
        ``capture`` (`Lineage.run`). (templated)
    :param sketch_on: the columns that sketches are to be of, ``{table: column}``, or ``{table: [columns]}``. (templated)
    :param verify_sketches: whether a result through sketches is compared with the plain one.
    :param witness: whether sketches have one row in place of a group with a minimum or a maximum alone; a run through them has no lineage
        of its own.
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :param lineage_name: the pipeline's name in the store; ``dag_id.task_id`` by default. Runs of writes are called after their places,
        unless this is given. (templated)
    :raises ValueError: (when made, and for templates when the task starts) an option is not one of these, or not of its kind.
    :raises LineageError: the pipeline cannot be traced, a UDF or the store failed (see `airflow_lineage_provider.errors`).
    """

    lineage_template_fields: ClassVar[tuple[str, ...]] = (
        "result_output",
        "strategy",
        "reasons",
        "keys",
        "on_store_failure",
        "on_unsupported",
        "append_key",
        "index",
        "capture",
        "sketches",
        "sketch_on",
        "store_conn_id",
        "store",
        "lineage_name",
    )
    operator_extra_links = (LineageTabLink(),)
    _recorded: tuple[Run, ...] = ()
    _store_of_runs: tuple[str | None] | None = None
    """The results store's URL (None: what the settings say), once the task has something to do with it."""
    ui_color = "#e7f0e4"

    def __init__(
        self,
        *,
        output: Output | str | None = None,
        strategy: Strategy = "function_materialization",
        reasons: Reasons = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        on_store_failure: OnStoreFailure = "fail",
        on_unsupported: OnUnsupported = "fail",
        append_key: str | None = None,
        index: Sequence[str | Sequence[str]] = (),
        capture: CaptureWhen | Capture = "lazy",
        sketches: SketchesWhen = "off",
        sketch_on: Mapping[str, str | Sequence[str] | SketchOn] | None = None,
        verify_sketches: bool = False,
        witness: bool = False,
        store_conn_id: str | None = None,
        store: str | None = None,
        lineage_name: str | None = None,
        lineage: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # A task's ``output`` is its XCom already.
        self.result_output = output
        named = {"result_output": output, "lineage_name": lineage_name, "append_key": append_key}
        self._named = [name for name, value in named.items() if value is not None]
        self.strategy = strategy
        self.reasons = reasons
        self.keys = keys
        self.on_store_failure = on_store_failure
        self.on_unsupported = on_unsupported
        self.append_key = append_key
        self.index = index
        self.capture = capture
        self.sketches = sketches
        self.sketch_on = sketch_on
        self.verify_sketches = verify_sketches
        self.witness = witness
        check_when_read(self.task_id, {**LineageTask._options(self), "lineage": lineage}, TEMPLATED)
        self.store_conn_id = store_conn_id
        self.store = store
        self.lineage_name = lineage_name
        self.lineage = lineage

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """As of any operator; what is no option is refused here, where the DAG is read."""
        check_when_read(str(kwargs.get("task_id")), kwargs, TEMPLATED)
        return super().partial(**kwargs)

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """As of any operator; what is secret in the rendered fields is masked from then on."""
        super().render_template_fields(context, jinja_env)
        mask_urls(self.store, self.result_output if isinstance(self.result_output, str) else getattr(self.result_output, "url", None))

    def _options(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy, "reasons": self.reasons, "output": self.result_output, "keys": self.keys,
            "on_store_failure": self.on_store_failure, "on_unsupported": self.on_unsupported, "append_key": self.append_key,
            "index": self.index,
            "capture": self.capture, "sketches": self.sketches, "sketch_on": self.sketch_on, "verify_sketches": self.verify_sketches,
            "witness": self.witness,
        }  # fmt: skip

    def _pipeline(self, context: Mapping[str, Any]) -> BoundPipeline:
        """What is called with the session: it writes, gives a DataFrame, or both."""
        raise NotImplementedError

    def _app_name(self) -> str:
        """What Spark calls the application."""
        return f"{self.dag_id}-{self.task_id}"

    def _lineage_hook(self) -> LineageHook:
        """Spark and the results store."""
        raise NotImplementedError

    def execute(self, context: Context) -> Any:
        """Run the pipeline, and record its writes and its DataFrame; the XCom result."""
        from airflow_lineage_provider.errors import InvalidOutput
        from airflow_lineage_provider.hooks.enabled import lineage_enabled

        for name in self._named:
            if is_blank(getattr(self, name)):
                option = name.removeprefix("result_")
                raise InvalidOutput(f"task {self.task_id!r}: {option} is blank when the task runs; did its template render to nothing?")
        check_when_run(self.task_id, self._options())
        with self._working():
            if not lineage_enabled(self.lineage):
                return self._plain(context)
            found = self._run(context)
        self._recorded = found.runs
        return self._handed_on(found, context)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """What the task's runs read and wrote, and what the DAG's author declared; None where there are no runs: then that alone stands."""
        if not self._recorded:
            return None
        from airflow_lineage_provider.operators.openlineage import operator_lineage, with_declared

        return with_declared(operator_lineage(self._recorded), self, task_instance)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        """The same of the writes that the task had made when it failed."""
        if self._store_of_runs is None:
            return None
        from airflow_lineage_provider.operators.openlineage import operator_lineage, with_declared
        from airflow_lineage_provider.operators.task_runs import runs_of

        (store,) = self._store_of_runs
        found = runs_of(store, self._context_of_runs({"ti": task_instance}), "keep_result").runs
        return with_declared(operator_lineage(found), self, task_instance) if found else None

    def _context_of_runs(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """The try that the task's runs are of."""
        return airflow_context(context)

    def _plain(self, context: Mapping[str, Any]) -> Any:
        """Call the pipeline as Airflow's own operator does; only what it gives is written where that was asked.

        :raises InvalidOption: an ``append_key``: rows are known as a task's by its record.
        :raises InvalidOutput: an ``output``, and the function returned no DataFrame, or it cannot be written there.
        :raises SparkConnectUnsupported: an ``output``, and Spark Connect.
        """
        from airflow_lineage_provider.running.plain import called

        self._refuse_append_key()
        pipeline, name = self._pipeline(context), self._run_name()
        with self._lineage_hook().plain_spark(self._app_name()) as spark:
            self._refuse_output_of(spark)
            found = called(spark, pipeline.run, pipeline.params, self.result_output, name)
        self.log.info("lineage is off: nothing is recorded")
        if not found.is_frame:
            return found.value
        if found.written is None:
            self.log.warning("the pipeline gave a DataFrame, which is not computed: without output= it goes nowhere")
        return not_recorded(name, found.written)

    def _run_name(self) -> str:
        """What the run of a DataFrame is called."""
        return self.lineage_name or f"{self.dag_id}.{self.task_id}"

    def _refuse_output_of(self, spark: Any) -> None:
        """What is given to be written to a place is checked there by the driver's own means."""
        from airflow_lineage_provider.errors import SparkConnectUnsupported

        if self.result_output is not None and type(spark).__module__.startswith("pyspark.sql.connect"):
            told = f"task {self.task_id!r}: output={self.result_output!r} is written by the driver, which Spark Connect has not"
            raise SparkConnectUnsupported(f"{told}: write the DataFrame in the function")

    def _refuse_append_key(self) -> None:
        """With lineage off."""
        from airflow_lineage_provider.errors import InvalidOption

        if self.append_key is not None:
            told = f"task {self.task_id!r}: append_key={self.append_key!r} replaces what a recorded run appended"
            raise InvalidOption(f"{told}, and lineage is off")

    def _run(self, context: Mapping[str, Any]) -> Called:
        from airflow_lineage_provider.called import call
        from airflow_lineage_provider.operators.replaced_runs import drop_replaced

        pipeline = self._pipeline(context)
        options = {name: value for name, value in self._options().items() if name != "on_store_failure"}
        hook = self._lineage_hook()
        self._store_of_runs = (hook.store_url(),)
        with hook.spark(self._app_name()) as spark, hook.lineage(spark, on_store_failure=self.on_store_failure) as lineage:
            found = call(
                lineage,
                spark,
                pipeline.run,
                name=self._run_name(),
                name_of_writes=self.lineage_name,
                params=pipeline.params,
                **{**options, "append_key": self._append_key(context)},
                context=airflow_context(context),
                earlier_tries=earlier_tries(context, self.retries),
                progress=self.log.info,
            )
            for run in found.runs:
                log_stored(run, self.log.info)
            drop_replaced(lineage, [run.record for run in found.runs], airflow_context(context), self.log.info)
            return found

    def _append_key(self, context: Mapping[str, Any]) -> str | None:
        """The key that was given, or, where rows are appended, the task instance's."""
        from airflow_lineage_provider.running.output import Output

        if self.append_key is not None or self.result_output is None or Output.parse(self.result_output).mode != "append":
            return self.append_key
        return task_instance_key(context)

    def _handed_on(self, called: Called, context: Context) -> Any:
        """The XCom result; the runs have a key of their own."""
        told = [run_result(run) for run in called.runs]
        for each in told:
            self.log.info("recorded as %s", each)
            if each["lineage_lost"]:
                self.log.warning("the result stands, and nobody will be able to explain it: %s", each["lineage_lost"])
        if not told:
            self.log.warning("nothing is recorded: the pipeline gave no DataFrame, and wrote nothing by Spark's writers")
        tell_outlets(self.outlets, called.runs, context)
        if self.do_xcom_push:
            context["ti"].xcom_push(key=RUNS, value=told)
        if called.result is not None:
            return told[-1]
        return called.value
