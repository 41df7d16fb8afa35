"""Run a PySpark pipeline as an Airflow task, recorded so that its result's rows can be explained later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.standard.operators.python import PythonOperator

from airflow_lineage_provider.operators.bound_pipeline import BoundPipeline, bind, without_session
from airflow_lineage_provider.operators.lineage_task import LineageTask
from airflow_lineage_provider.operators.masking import mask_params
from airflow_lineage_provider.operators.options import check_when_read

if TYPE_CHECKING:
    from airflow.sdk import Context
    from jinja2 import Environment

    from airflow_lineage_provider.called import Called
    from airflow_lineage_provider.hooks.lineage import LineageHook


class LineagePySparkOperator(LineageTask, PythonOperator):
    """Run a function of Spark's and record its lineage: what it writes, and the DataFrame that it returns.

    Takes what Airflow's ``PySparkOperator`` takes, and the lineage options (`LineageTask`). The function gets the Spark session as
    ``spark`` and, where it names it, the SparkContext as ``sc``; ``op_args`` and ``op_kwargs`` are its parameters, which the run records;
    Airflow's context variables are passed where it names them. What it returns, where that is no DataFrame, is the task's XCom.

    :param python_callable: the function.
    :param conn_id: Airflow connection to Spark; ``local[*]`` by default. (templated)
    :param config_kwargs: Spark configuration over that of the connection. (templated)
    :param clear_params: parameters that the run records as they are; of others than dates and truth values it has a digest.
    :param secret_params: parameters that are not stored at all, not in the plan either, and that Airflow masks: a derivation is given them
        again.
    :param output, strategy, reasons, keys, on_store_failure, on_unsupported, append_key, index, lineage, capture, sketches,
        sketch_on, verify_sketches, witness, store_conn_id, store, lineage_name: as of `LineageTask`.
    :param op_args, op_kwargs, templates_dict, templates_exts, show_return_value_in_logs: as in ``PythonOperator``.
    :raises ValueError: (when made, and for templates when the task starts) an option is not one of these, or not of its kind.
    :raises LineageError: the pipeline cannot be traced, a UDF or the store failed (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = ("conn_id", "config_kwargs", *LineageTask.lineage_template_fields, *PythonOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PythonOperator.template_fields_renderers,
        "config_kwargs": "json",
        "keys": "json",
    }

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        conn_id: str | None = None,
        config_kwargs: dict[str, Any] | None = None,
        clear_params: Sequence[str] = (),
        secret_params: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(python_callable=python_callable, **kwargs)
        self.conn_id = conn_id
        self.config_kwargs = config_kwargs or {}
        self.clear_params = clear_params
        self.secret_params = secret_params
        check_when_read(self.task_id, {"clear_params": clear_params, "secret_params": secret_params}, ())

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """As of any operator; what is secret in the rendered fields is masked from then on."""
        super().render_template_fields(context, jinja_env)
        named = signature(without_session(self.python_callable)).bind_partial(*self.op_args).arguments if self.op_args else {}
        mask_params({**named, **self.op_kwargs}, self.secret_params)

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "clear_params": self.clear_params, "secret_params": self.secret_params}

    def _lineage_hook(self) -> LineageHook:
        from airflow_lineage_provider.hooks.lineage import LineageHook

        return LineageHook(self.store_conn_id, store=self.store, conn_id=self.conn_id, config_kwargs=self.config_kwargs)

    def _pipeline(self, context: Mapping[str, Any]) -> BoundPipeline:
        return bind(self.python_callable, self.op_args, self.op_kwargs, {**context, "templates_dict": self.templates_dict})

    def _handed_on(self, called: Called, context: Context) -> Any:
        if called.result is None and self.show_return_value_in_logs:
            self.log.info("Done. Returned value was: %s", called.value)
        return super()._handed_on(called, context)
