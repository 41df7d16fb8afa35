"""Run a PySpark pipeline as an Airflow task, recorded so that its result's rows can be explained later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.standard.operators.python import PythonOperator

from airflow_lineage_provider.hooks.rendered import is_blank
from airflow_lineage_provider.operators.bound_pipeline import bind, without_session
from airflow_lineage_provider.operators.masking import mask_params, mask_urls
from airflow_lineage_provider.operators.options import check_when_read, check_when_run
from airflow_lineage_provider.operators.run_context import airflow_context, task_instance_key
from airflow_lineage_provider.operators.run_result import RUNS, not_recorded, run_result
from airflow_lineage_provider.words import CaptureWhen, OnStoreFailure, OnUnsupported, Reasons, Strategy

if TYPE_CHECKING:
    from airflow.sdk import Context
    from jinja2 import Environment

    from airflow_lineage_provider.called import Called
    from airflow_lineage_provider.capture.wanted import Capture
    from airflow_lineage_provider.hooks.lineage import LineageHook
    from airflow_lineage_provider.running.output import Output


TEMPLATED = frozenset({"strategy", "reasons", "output", "keys", "on_store_failure", "on_unsupported", "append_key", "capture"})
"""Options that may be templates: those are checked when the task starts."""


class LineagePySparkOperator(PythonOperator):
    """Run a function of Spark's and record its lineage: what it writes, and the DataFrame that it returns.

    Takes what Airflow's ``PySparkOperator`` takes, and the lineage options. The function gets the Spark session as ``spark`` and, where it
    names it, the SparkContext as ``sc``; ``op_args`` and ``op_kwargs`` are its parameters, which the run records; Airflow's context
    variables are passed where it names them.

    Each write that it makes by Spark's own writers is recorded as a run (`Lineage.recording`), and what it returns is the task's XCom. A
    DataFrame that it returns is run and recorded, too, and written to ``output``; then the XCom result is ``{"lineage_run_id", "pipeline",
    "rows", "output", "seconds", "lineage", "lineage_lost"}``, ``lineage`` being ``complete`` or ``incomplete``, and ``lineage_lost`` the
    cause or None. The XCom key ``lineage_runs`` has all runs of the task, in order, each as such a dictionary.

    A try that fails is recorded as failed and leaves the runs of other tries as they are. What one try has appended (``+append``) is
    replaced by the next, also where the task had succeeded and was cleared; after ``error`` use overwrite. (What the function appends by
    itself is Spark's: the next try appends it again.)

    :param python_callable: the function.
    :param conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
    :param config_kwargs: Spark configuration over that of the connection. (templated)
    :param output: where the result is written besides the store: an `Output`, or text such as ``/data/judged``, ``parquet:/data/judged``,
        ``table:bank.judged``, each with ``+overwrite`` or ``+append`` behind it if wanted. A function that returns no DataFrame can have
        none. (templated)
    :param strategy: what the run stores: ``function_materialization`` (segments with UDFs, and the result), ``rerun`` (nothing),
        ``full_materialization`` (every segment) or ``auto`` (what takes longer to make than to store). (templated)
    :param reasons: ``lazy`` computes reasons when they are asked for, ``eager`` during the run. (templated)
    :param keys: primary keys of source tables, ``{table: [column, …]}``. (templated)
    :param clear_params: parameters that the run records as they are; of others than dates and truth values it has a digest.
    :param secret_params: parameters that are not stored at all, not in the plan either, and that Airflow masks: a derivation is given them
        again.
    :param on_store_failure: what becomes of the task when the results store is missing, slow, or dies in the middle: ``fail``, or
        ``keep_result``: the result is written, and the run is marked incomplete. (templated)
    :param on_unsupported: what becomes of a write that cannot be recorded: ``fail`` refuses it before it is made, ``incomplete`` has it
        made, and recorded as an incomplete run. (templated)
    :param append_key: what is appended, for an output with ``+append``: another task that appends as the same key to the same place
        replaces these rows. By default the task instance: dag, DAG run, task, map index. (templated)
    :param lineage: ``False`` is the plain operator: the function is called, a DataFrame that it returns is written to ``output``, nothing
        is recorded, and no store is opened. So is every task where the switch is off (``AIRFLOW_LINEAGE_ENABLED=0``, ``[lineage]
        enabled``). Reasoned UDFs decide as ever.
    :param capture: ``lazy`` traces the lineage of the result's rows when it is asked for; ``eager``, or a `Capture`, captures it at the end
        of the task (`CaptureLineageOperator` does it in a task of its own). (templated)
    :param store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
    :param store: its URL instead; with neither the settings decide. (templated)
    :param lineage_name: the pipeline's name in the store; ``dag_id.task_id`` by default. Runs of writes are called after their places,
        unless this is given. (templated)
    :param op_args, op_kwargs, templates_dict, templates_exts, show_return_value_in_logs: as in ``PythonOperator``.
    :raises ValueError: (when made, and for templates when the task starts) an option is not one of these, or not of its kind.
    :raises LineageError: the pipeline cannot be traced, a UDF or the store failed (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = (
        "conn_id",
        "config_kwargs",
        "result_output",
        "strategy",
        "reasons",
        "keys",
        "on_store_failure",
        "on_unsupported",
        "append_key",
        "capture",
        "store_conn_id",
        "store",
        "lineage_name",
        *PythonOperator.template_fields,
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PythonOperator.template_fields_renderers,
        "config_kwargs": "json",
        "keys": "json",
    }
    ui_color = "#e7f0e4"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        conn_id: str | None = None,
        config_kwargs: dict[str, Any] | None = None,
        output: Output | str | None = None,
        strategy: Strategy = "function_materialization",
        reasons: Reasons = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        clear_params: Sequence[str] = (),
        secret_params: Sequence[str] = (),
        on_store_failure: OnStoreFailure = "fail",
        on_unsupported: OnUnsupported = "fail",
        append_key: str | None = None,
        capture: CaptureWhen | Capture = "lazy",
        store_conn_id: str | None = None,
        store: str | None = None,
        lineage_name: str | None = None,
        lineage: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(python_callable=python_callable, **kwargs)
        self.conn_id = conn_id
        self.config_kwargs = config_kwargs or {}
        # A task's ``output`` is its XCom already.
        self.result_output = output
        named = {"result_output": output, "lineage_name": lineage_name, "append_key": append_key}
        self._named = [name for name, value in named.items() if value is not None]
        self.strategy = strategy
        self.reasons = reasons
        self.keys = keys
        self.clear_params = clear_params
        self.secret_params = secret_params
        self.on_store_failure = on_store_failure
        self.on_unsupported = on_unsupported
        self.append_key = append_key
        self.capture = capture
        check_when_read(self.task_id, {**self._options(), "lineage": lineage}, TEMPLATED)
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
        named = signature(without_session(self.python_callable)).bind_partial(*self.op_args).arguments if self.op_args else {}
        mask_params({**named, **self.op_kwargs}, self.secret_params)

    def _options(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy, "reasons": self.reasons, "output": self.result_output, "keys": self.keys,
            "on_store_failure": self.on_store_failure, "on_unsupported": self.on_unsupported, "append_key": self.append_key,
            "capture": self.capture,
            "clear_params": self.clear_params, "secret_params": self.secret_params,
        }  # fmt: skip

    def execute(self, context: Context) -> Any:
        """Call the function, and record its writes and its DataFrame; the XCom result."""
        from airflow_lineage_provider.errors import InvalidOutput
        from airflow_lineage_provider.hooks.enabled import lineage_enabled
        from airflow_lineage_provider.hooks.lineage import LineageHook

        for name in self._named:
            if is_blank(getattr(self, name)):
                option = name.removeprefix("result_")
                raise InvalidOutput(f"task {self.task_id!r}: {option} is blank when the task runs; did its template render to nothing?")
        check_when_run(self.task_id, self._options())
        hook = LineageHook(self.store_conn_id, store=self.store, conn_id=self.conn_id, config_kwargs=self.config_kwargs)
        around = {**context, "templates_dict": self.templates_dict}
        if not lineage_enabled(self.lineage):
            return self._plain(hook, around)
        return self._handed_on(self._run(hook, around), context)

    def _plain(self, hook: LineageHook, context: Mapping[str, Any]) -> Any:
        """Call the function as Airflow's own operator does; only what it returns is written where that was asked.

        :raises InvalidOption: an ``append_key``: rows are known as a task's by its record.
        :raises InvalidOutput: an ``output``, and the function returned no DataFrame, or it cannot be written there.
        """
        from airflow_lineage_provider.errors import InvalidOption
        from airflow_lineage_provider.running.plain import called

        if self.append_key is not None:
            told = f"task {self.task_id!r}: append_key={self.append_key!r} replaces what a recorded run appended"
            raise InvalidOption(f"{told}, and lineage is off")
        pipeline = bind(self.python_callable, self.op_args, self.op_kwargs, context)
        with hook.spark(f"{self.dag_id}-{self.task_id}") as spark:
            name = self.lineage_name or f"{self.dag_id}.{self.task_id}"
            found = called(spark, pipeline.run, pipeline.params, self.result_output, name)
        self.log.info("lineage is off: nothing is recorded")
        if not found.is_frame:
            return found.value
        if found.written is None:
            self.log.warning("the function returned a DataFrame, which is not computed: without output= it goes nowhere")
        return not_recorded(name, found.written)

    def _run(self, hook: LineageHook, context: Mapping[str, Any]) -> Called:
        from airflow_lineage_provider.called import call

        pipeline = bind(self.python_callable, self.op_args, self.op_kwargs, context)
        options = {name: value for name, value in self._options().items() if name != "on_store_failure"}
        with hook.spark(f"{self.dag_id}-{self.task_id}") as spark, hook.lineage(spark, on_store_failure=self.on_store_failure) as lineage:
            return call(
                lineage,
                spark,
                pipeline.run,
                name=self.lineage_name or f"{self.dag_id}.{self.task_id}",
                name_of_writes=self.lineage_name,
                params=pipeline.params,
                **{**options, "append_key": self._append_key(context)},
                context=airflow_context(context),
                progress=self.log.info,
            )

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
            self.log.warning("nothing is recorded: the function returned no DataFrame, and wrote nothing by Spark's writers")
        if self.do_xcom_push:
            context["ti"].xcom_push(key=RUNS, value=told)
        if called.result is not None:
            return told[-1]
        if self.show_return_value_in_logs:
            self.log.info("Done. Returned value was: %s", called.value)
        return called.value
