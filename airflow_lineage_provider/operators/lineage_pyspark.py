"""Run a PySpark pipeline as an Airflow task, recorded so that its result's rows can be explained later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow.providers.standard.operators.python import PythonOperator

from airflow_lineage_provider.operators.bound_pipeline import bind
from airflow_lineage_provider.operators.options import check_word
from airflow_lineage_provider.operators.run_context import airflow_context
from airflow_lineage_provider.tracing.strategies import STRATEGIES

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.hooks.lineage import LineageHook
    from airflow_lineage_provider.output import Output
    from airflow_lineage_provider.pipeline import Run


class LineagePySparkOperator(PythonOperator):
    """Run a pipeline ``(spark, **params) -> DataFrame`` and record its lineage.

    Takes what Airflow's ``PySparkOperator`` takes, and the lineage options. The function gets the Spark session as ``spark`` and, where it
    names it, the SparkContext as ``sc``; ``op_args`` and ``op_kwargs`` are its parameters, which the run records; Airflow's context
    variables are passed where it names them. It returns the DataFrame, and does not write it: ``output`` says where the result goes.

    The XCom result is ``{"run_id", "pipeline", "rows", "output", "seconds"}``. A try that fails is recorded as failed and leaves the runs
    of other tries as they are; give ``output`` the mode overwrite if a retry may find what an earlier try wrote.

    Args:
        python_callable: the pipeline.
        conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
        config_kwargs: Spark configuration over that of the connection. (templated)
        output: where the result is written besides the store: an `Output`, or text such as ``/data/judged``, ``parquet:/data/judged``,
            ``table:bank.judged``, each with ``+overwrite`` or ``+append`` behind it if wanted. (templated)
        strategy: what the run stores: ``function_materialization`` (segments with UDFs, and the result), ``rerun`` (nothing),
            ``full_materialization`` (every segment) or ``auto`` (what takes longer to make than to store). (templated)
        reasons: ``lazy`` computes reasons when they are asked for, ``eager`` during the run.
        keys: primary keys of source tables, ``{table: [column, …]}``. (templated)
        store_conn_id: Airflow connection to the results store's PostgreSQL. (templated)
        store: its URL instead; with neither the settings decide. (templated)
        lineage_name: the pipeline's name in the store; ``dag_id.task_id`` by default. (templated)
        op_args, op_kwargs, templates_dict, templates_exts, show_return_value_in_logs: as in ``PythonOperator``.

    Raises:
        ValueError: (when made) ``strategy`` is not one of these.
        LineageError: the pipeline cannot be traced, a UDF or the store failed (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = (
        "conn_id",
        "config_kwargs",
        "result_output",
        "strategy",
        "keys",
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
        strategy: str = "function_materialization",
        reasons: Literal["lazy", "eager"] = "lazy",
        keys: Mapping[str, Sequence[str]] | None = None,
        store_conn_id: str | None = None,
        store: str | None = None,
        lineage_name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(python_callable=python_callable, **kwargs)
        self.conn_id = conn_id
        self.config_kwargs = config_kwargs or {}
        # A task's ``output`` is its XCom already.
        self.result_output = output
        check_word(self.task_id, "strategy", strategy, STRATEGIES)
        self.strategy = strategy
        self.reasons = reasons
        self.keys = keys
        self.store_conn_id = store_conn_id
        self.store = store
        self.lineage_name = lineage_name

    def execute(self, context: Context) -> dict[str, Any]:
        """Run and record the pipeline; the XCom result."""
        from airflow_lineage_provider.hooks.lineage import LineageHook

        hook = LineageHook(self.store_conn_id, store=self.store, conn_id=self.conn_id, config_kwargs=self.config_kwargs)
        answer = self._xcom(self._run(hook, {**context, "templates_dict": self.templates_dict}))
        if self.show_return_value_in_logs:
            self.log.info("recorded as %s", answer)
        return answer

    def _run(self, hook: LineageHook, context: Mapping[str, Any]) -> Run:
        pipeline = bind(self.python_callable, self.op_args, self.op_kwargs, context)
        with hook.spark(f"{self.dag_id}-{self.task_id}") as spark, hook.lineage(spark) as lineage:
            return lineage.run(
                pipeline.run,
                name=self.lineage_name or f"{self.dag_id}.{self.task_id}",
                params=pipeline.params,
                output=self.result_output,
                strategy=self.strategy,
                reasons=self.reasons,
                keys=self.keys,
                airflow=airflow_context(context),
                progress=self.log.info,
            )

    def _xcom(self, run: Run) -> dict[str, Any]:
        from airflow_lineage_provider.output import Output

        summary = run.summary
        written = None if self.result_output is None else Output.parse(self.result_output).describe()
        return {"run_id": summary.id, "pipeline": summary.pipeline, "rows": summary.rows, "output": written, "seconds": summary.seconds}
