"""``@task.lineage_pyspark``: a pipeline function as a task, recorded so that its result's rows can be explained later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import DecoratedOperator, task_decorator_factory

from airflow_lineage_provider.operators.bound_pipeline import without_session
from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
from airflow_lineage_provider.operators.lineage_task import TEMPLATED
from airflow_lineage_provider.operators.options import check_when_read

if TYPE_CHECKING:
    from airflow.sdk.bases.decorator import TaskDecorator


class _LineagePySparkDecoratedOperator(DecoratedOperator, LineagePySparkOperator):
    custom_operator_name = "@task.lineage_pyspark"
    # DecoratedOperator comes first and knows of op_args and op_kwargs alone.
    template_fields = LineagePySparkOperator.template_fields
    template_fields_renderers = LineagePySparkOperator.template_fields_renderers
    shallow_copy_attrs = LineagePySparkOperator.shallow_copy_attrs

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Sequence[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            # Airflow checks the call's arguments against this one; the task runs the function as it was written.
            python_callable=without_session(python_callable),
            kwargs_to_upstream={"python_callable": python_callable, "op_args": op_args, "op_kwargs": op_kwargs},
            op_args=op_args,
            op_kwargs=op_kwargs,
            **kwargs,
        )


def lineage_pyspark_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """Decorate a pipeline ``(spark, **params) -> DataFrame``. Options are those of `LineagePySparkOperator`.

    Example::

        @task.lineage_pyspark(conn_id="spark", store_conn_id="lineage_store", output="table:bank.judged+overwrite")
        def examine(spark, month): ...

        examine(month=12)
    """
    # A mapped task is made when it runs: this is where the DAG is read.
    check_when_read(kwargs.get("task_id", "@task.lineage_pyspark"), kwargs, TEMPLATED)
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=_LineagePySparkDecoratedOperator,
        **kwargs,
    )
