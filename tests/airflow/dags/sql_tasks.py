"""Tasks of SQL for the tests."""

from __future__ import annotations

from airflow.sdk import Param, dag

from airflow_lineage_provider.operators.lineage_spark_sql import LineageSparkSqlOperator


@dag(
    schedule=None, params={"folder": Param("", type="string")}, default_args={"udfs": ["tests.airflow.sql_udfs:halved"], "strategy": "auto"}
)
def sql_tasks() -> None:
    writes = LineageSparkSqlOperator(task_id="writes", sql="of_sql_tasks.sql", lineage_name="sql/{{ ti.task_id }}")
    asks = LineageSparkSqlOperator(
        task_id="asks",
        sql="SET spark.sql.shuffle.partitions = 2; SELECT half, count(*) AS n FROM parquet.`{{ params.folder }}/halves` GROUP BY half;",
        output="{{ params.folder }}/asked+overwrite",
        reasons="eager",
    )
    LineageSparkSqlOperator(
        task_id="plain",
        lineage=False,
        store="postgresql://nobody:secret@127.0.0.1:1/away",
        sql="SELECT halved(id) AS half FROM range(4)",
        output="{{ params.folder }}/plain+overwrite",
    )
    writes >> asks
    LineageSparkSqlOperator.partial(task_id="mapped", udfs=[]).expand(sql=["SELECT 1 AS a", "SELECT 2 AS a"])


sql_tasks()
