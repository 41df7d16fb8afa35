"""The loan examination of the paper's figure 1, on real applications: prepare → examine, summarise → derive.

- ``prepare`` writes the tables client, debt and loan as Parquet and trains the model (see `dags.loan_data`).
- ``examine`` judges every application of the month: one row an application.
- ``summarise`` is the paper's query (example 4): how many applications of the month are accepted, marginal and rejected.
- ``derive`` stores why each rejected application was rejected: its source rows, and the model's reasons.

Loanapp's applications are of 1990, so a month is one of the calendar, as in the paper ("application date is on December"):
the parameter ``month``, by default that of the run's logical date.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, Param, dag, task

from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXAMINED = """
    SELECT application_id, client_id, amount, judge
    FROM (
        SELECT loan.application_id, client.client_id, loan.amount,
               credit_exam(income, obligations, amount, housing_expense, loan_to_price, credit_history, bankruptcy, unverified) AS judge
        FROM client
        JOIN debt ON debt.client_id = client.client_id
        JOIN loan ON loan.client_id = client.client_id
        WHERE month(loan.application_date) = {month}
    )
"""

SMALL = {"spark.sql.shuffle.partitions": 2, "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False}
"""Spark's configuration for a few thousand rows; its defaults would make 200 tasks of a count of three."""


def examined(spark: SparkSession, places: Mapping[str, str], month: int) -> DataFrame:
    """client ⋈ debt ⋈ σ month(loan), each application judged by the model: ``application_id``, ``client_id``, ``amount``, ``judge``."""
    from udfs import credit_exam

    for name in ("client", "debt", "loan"):
        spark.read.parquet(places[name]).createOrReplaceTempView(name)
    credit_exam.load(places["model"]).register(spark)
    return spark.sql(EXAMINED.format(month=int(month)))


@dag(
    schedule=None,
    catchup=False,
    tags=["lineage", "example"],
    doc_md=__doc__,
    params={
        "folder": Param("", type="string", description="where the data are kept; empty: loan_examination in Airflow's home folder"),
        "month": Param(None, type=["null", "integer"], minimum=1, maximum=12, description="of the applications; empty: the logical date's"),
        "store_conn_id": Param(None, type=["null", "string"], description="connection to the results store; empty: the provider's setting"),
        "conn_id": Param(None, type=["null", "string"], description="connection to Spark; empty: a local one"),
    },
    # An empty parameter stays None: a connection whose name is an empty text is refused.
    render_template_as_native_obj=True,
)
def loan_examination() -> None:
    options: dict[str, Any] = {
        "store_conn_id": "{{ params.store_conn_id }}",
        "conn_id": "{{ params.conn_id }}",
        "config_kwargs": SMALL,
    }

    @task(multiple_outputs=True)
    def prepare(params: dict[str, Any], **context: Any) -> dict[str, Any]:
        """Where the tables and the model are, and the month of the run."""
        from dags.loan_data import prepare as prepare_data

        folder = params["folder"] or Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "loan_examination"
        date = context.get("logical_date") or context["dag_run"].run_after
        return {"places": prepare_data(folder), "month": params["month"] or date.month}

    @task.lineage_pyspark(**options, outlets=[Asset("judged_loans")])
    def examine(spark: SparkSession, places: Mapping[str, str], month: int) -> DataFrame:
        """One row for every application of the month."""
        return examined(spark, places, month)

    @task.lineage_pyspark(**options)
    def summarise(spark: SparkSession, places: Mapping[str, str], month: int) -> DataFrame:
        """The month's applications, counted by judgement."""
        return examined(spark, places, month).groupBy("judge").count()

    prepared = prepare()
    examination = examine(places=prepared["places"], month=prepared["month"])
    summarise(places=prepared["places"], month=prepared["month"])
    derive = DeriveAugmentedLineageOperator(
        task_id="derive",
        lineage_run_id="{{ ti.xcom_pull(task_ids='examine')['lineage_run_id'] }}",
        target="judge = 'Reject'",
        allow_empty=True,
        **options,
    )
    examination >> derive


loan_examination()
