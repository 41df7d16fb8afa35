"""Run Spark SQL as an Airflow task, recorded so that the rows that it writes, or gives, can be explained later."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator

from airflow_lineage_provider.operators.bound_pipeline import BoundPipeline
from airflow_lineage_provider.operators.lineage_task import LineageTask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.hooks.lineage import LineageHook
    from airflow_lineage_provider.reasons.udf import ReasonedUdf

_NAMED_UDF = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*)?")

_SETTINGS: Mapping[str, str] = {
    "_total_executor_cores": "spark.cores.max",
    "_executor_cores": "spark.executor.cores",
    "_executor_memory": "spark.executor.memory",
    "_num_executors": "spark.executor.instances",
    "_keytab": "spark.kerberos.keytab",
    "_principal": "spark.kerberos.principal",
    "_yarn_queue": "spark.yarn.queue",
    "_master": "spark.master",
}
"""What spark-submit makes of the arguments of ``SparkSqlOperator``, which stand over ``conf``."""

_UNNAMED = "default-name"
"""What Airflow's operator calls an application that has no name."""


class LineageSparkSqlOperator(LineageTask, SparkSqlOperator):
    """Run SQL statements of Spark's and record their lineage: the rows that they write, and those of a query that is the last.

    Takes what Airflow's ``SparkSqlOperator`` takes, and the lineage options (`LineageTask`). The statements run in a Spark session of the
    task's own, with Hive's catalog as ``spark-sql`` has it; the worker needs no such command. A query is the task's result where it is the
    last statement (``output`` says where it goes); before that its rows go nowhere, and it is not computed.

    With lineage off the task is Airflow's own, by the command ``spark-sql``, unless it has ``udfs`` or an ``output``.

    :param sql: the statements, separated by semicolons, or a file of them (``.sql``, ``.hql``). (templated)
    :param udfs: the reasoned UDFs that they call: ``module:name``, ``module`` (all that it has), or the UDFs themselves. Each is called in
        SQL by its own name.
    :param conf: Spark's configuration, as a mapping or as a text ``key=value,key=value``.
    :param conn_id: Airflow connection; where there is none of this name, the master is ``yarn``.
    :param total_executor_cores, executor_cores, executor_memory, num_executors, keytab, principal, master, name, yarn_queue: as in
        ``SparkSqlOperator``; ``verbose`` has each statement logged before it runs.
    :param output, strategy, reasons, keys, on_store_failure, on_unsupported, append_key, index, lineage, capture, sketches,
        sketch_on, verify_sketches, witness, store_conn_id, store, lineage_name: as of `LineageTask`.
    :raises ValueError: (when made, and for templates when the task starts) an option is not one of these, or not of its kind.
    :raises LineageError: a statement cannot be traced, a UDF or the store failed (see `airflow_lineage_provider.errors`).
    """

    template_fields: Sequence[str] = (*SparkSqlOperator.template_fields, *LineageTask.lineage_template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {**SparkSqlOperator.template_fields_renderers, "keys": "json"}

    def __init__(self, *, sql: str, udfs: str | Sequence[str | ReasonedUdf] = (), **kwargs: Any) -> None:
        super().__init__(sql=sql, **kwargs)
        self.udfs = [udfs] if isinstance(udfs, str) else list(udfs)
        for each in self.udfs:
            if isinstance(each, str) and not _NAMED_UDF.fullmatch(each):
                raise ValueError(f"task {self.task_id!r}: udfs has {each!r}; it can have 'module:name', 'module', or a reasoned UDF")
        self._configured()

    def _configured(self) -> dict[str, str]:
        """Spark's configuration, over that of the connection.

        :raises ValueError: ``conf`` is a text, and not of the form ``key=value,key=value``.
        """
        given = self._conf or {}
        if isinstance(given, str):
            pairs = [pair.partition("=") for pair in given.split(",")]
            wrong = next((f"{key}{equals}" for key, equals, _ in pairs if not key.strip() or not equals), None)
            if wrong is not None:
                raise ValueError(f"task {self.task_id!r}: conf has {wrong!r}; as a text it is key=value,key=value")
            given = {key.strip(): value for key, _, value in pairs}
        named = {setting: getattr(self, name) for name, setting in _SETTINGS.items() if getattr(self, name)}
        # The command spark-sql has Hive's catalog: the tables that it made would not be found without.
        return {"spark.sql.catalogImplementation": "hive", **given, **named}

    def _lineage_hook(self) -> LineageHook:
        from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

        from airflow_lineage_provider.hooks.lineage import LineageHook

        conn_id: str | None = self._conn_id
        configured = self._configured()
        try:
            BaseHook.get_connection(self._conn_id)
        except AirflowNotFoundException:
            # As Airflow's own operator has it: its default connection is none that Airflow comes with.
            conn_id, configured = None, {"spark.master": "yarn", **configured}
        return LineageHook(self.store_conn_id, store=self.store, conn_id=conn_id, config_kwargs=configured)

    def _app_name(self) -> str:
        return super()._app_name() if self._name == _UNNAMED else self._name

    def _pipeline(self, context: Mapping[str, Any]) -> BoundPipeline:
        from airflow_lineage_provider.reasons.named_udfs import named_udfs
        from airflow_lineage_provider.spark.sql_script import run_script, script

        text = script(self.sql)
        udfs = named_udfs(self.udfs)

        def run(spark: SparkSession) -> Any:
            for udf in udfs:
                udf.register(spark)
            return run_script(spark, text, self.log.info, with_text=self._verbose)

        return BoundPipeline(run, {})

    def _plain(self, context: Mapping[str, Any]) -> Any:
        if self.udfs or self.result_output is not None:
            return super()._plain(context)
        self.log.info("lineage is off: nothing is recorded")
        self._hook = self._get_hook()
        return self._hook.run_query()

    def on_kill(self) -> None:
        """End the command, where the task runs as Airflow's own does, or what the session does."""
        if self._hook is not None:
            SparkSqlOperator.on_kill(self)
        else:
            super().on_kill()
