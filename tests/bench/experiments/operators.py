"""A task whose lineage is switched off, as Airflow's own operator and as ours: what changing the import alone costs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

from tests.bench.arms import rows_of
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

SIZES = {"small": (10,), "full": (10, 1_000_000)}
"""Rows that a task writes."""
WARM_UP = 20


def run(ground: Ground) -> Iterator[Comparison]:
    """One comparison of each size: a function that writes a Parquet file and returns how many rows it has."""
    os.environ.update({"AIRFLOW_HOME": str(ground.folder / "airflow"), "AIRFLOW_CONN_SPARK_BENCH": "spark://local?master=local"})
    os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = f"sqlite:///{ground.folder / 'airflow.db'}"
    from airflow.providers.apache.spark.operators.spark_pyspark import PySparkOperator
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator

    # (They end the session that they have, which is the benchmark's.)
    with patch.object(SparkSession, "stop", lambda _: None):
        for rows in SIZES[ground.size]:
            plain = PySparkOperator(task_id="plain", python_callable=written, op_args=[str(ground.folder / "plain"), rows])
            off = LineagePySparkOperator(task_id="off", python_callable=written, op_args=[str(ground.folder / "off"), rows], lineage=False)
            arms = {"PySparkOperator": _arm(ground, plain, "plain", rows), "lineage off": _arm(ground, off, "off", rows)}
            yield compared(f"a task that writes {rows:,} rows", arms, ground.meter, ground.repeats, warm_up=WARM_UP)


def written(where: str, rows: int, spark: Any) -> int:
    """What most tasks are: it writes, and returns a count."""
    spark.range(rows).selectExpr("id", "id % 7 AS team").write.mode("overwrite").parquet(where)
    return rows


def _arm(ground: Ground, task: Any, name: str, rows: int) -> Arm:
    shutil.rmtree(ground.folder / name, ignore_errors=True)
    do = partial(type(task).execute.__wrapped__, task, {})

    def answer(returned: Any) -> Any:
        assert returned == rows
        return rows_of(ground.folder / name)

    return Arm(do, answer, is_quick=rows < 1_000)
