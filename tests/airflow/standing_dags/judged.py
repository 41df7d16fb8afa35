"""A task that is in the middle of its work until it is let go on: it is killed, cleared, or has another beside it meanwhile."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import Param, dag, task

from airflow_lineage_provider.reasons import reasoned_udf


@reasoned_udf("bigint")
def judge(number: int, folder: str) -> int:
    """Twice the number. At the last one it says that it is going on, and waits for the file ``go``."""
    if number == 7 and folder:
        Path(folder, f"going-{os.getpid()}").touch()
        while not Path(folder, "go").exists():
            time.sleep(0.1)
    return 2 * number


@judge.with_reason
def _(number: int, folder: str) -> tuple[int, dict[str, int]]:
    return 2 * number, {"number": number}


def judged(spark: Any, folder: str, wait: str) -> Any:
    """The numbers and what is thought of them."""
    judge.register(spark)
    return spark.sql(f"SELECT id, judge(id, '{folder if wait == 'True' else ''}') AS judged FROM parquet.`{folder}/numbers`")


@dag(dag_id="judged", schedule=None, max_active_runs=4, params={"folder": Param("", type="string"), "wait": Param(True, type="boolean")})
def made() -> None:
    task.lineage_pyspark(
        task_id="judge", output="{{ params.folder }}/out+overwrite", lineage_name="judged", clear_params=["folder", "wait"], retries=1,
        retry_delay=timedelta(0), config_kwargs={"spark.ui.enabled": "false", "spark.master": "local[2]"},
    )(judged)(folder="{{ params.folder }}", wait="{{ params.wait }}")  # fmt: skip


made()
