"""The DAG that answers questions which need Spark: the lineage tab triggers it, with the rights of the person who asks.

It is there where a file in the DAG folder makes it (``dags/lineage_derivation.py`` is one to be copied), and paused until somebody unpauses
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param

from airflow_lineage_provider.operators.derive import DeriveAugmentedLineageOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_lineage_provider.pipeline import Lineage
    from airflow_lineage_provider.recorded_run import Run

DAG_ID = "lineage_derivation"


class AskedDerivationOperator(DeriveAugmentedLineageOperator):
    """A derivation whose question are the parameters of the DAG run: ``lineage_run_id``, and ``target`` or ``at``.

    With ``chunk_rows`` the answer comes in chunks, but about a run that did not store its result: rows that are made again have no lasting
    order, and are one answer.

    The question is no template. What `AIRFLOW_LINEAGE_HIDE` and the settings beside it withhold may be in none.

    :raises InvalidTarget: the target reads a column that is withheld, or not exactly one of ``target`` and ``at`` is given.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(target="true", lineage_run_id="{{ params.lineage_run_id }}", **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        """Derive what the parameters ask, store it, and give the XCom result."""
        params = context["params"]
        self.target, self.at = params["target"] or None, params["at"] or None
        return super().execute(context)

    def _is_in_chunks(self, run: Run) -> bool:
        return super()._is_in_chunks(run) and 0 in run.plan.materialized

    def _named_run(self, lineage: Lineage) -> Run:
        from airflow_lineage_provider.deriving.target import target_columns
        from airflow_lineage_provider.errors import InvalidTarget
        from airflow_lineage_provider.render.askable import check_askable

        if (self.target is None) == (self.at is None):
            raise InvalidTarget("the DAG run must name the rows to explain in exactly one way: by its parameter target, or at")
        run = lineage.get_run(str(self.lineage_run_id), whole=True)
        if isinstance(self.target, str):
            check_askable(target_columns(self.target, run.plan), run.plan)
        return run


def derivation_dag(
    dag_id: str = DAG_ID,
    *,
    store_conn_id: str | None = None,
    conn_id: str | None = None,
    config_kwargs: dict[str, Any] | None = None,
    max_rows: int | None = 100_000,
    chunk_rows: int | None = 1_000,
    **options: Any,
) -> DAG:
    """The DAG. ``options`` are those of any DAG.

    :param dag_id: its id; the tab looks for that of ``AIRFLOW_LINEAGE_DERIVATION_DAG``.
    :param store_conn_id, conn_id, config_kwargs, max_rows: as of `DeriveAugmentedLineageOperator`.
    :param chunk_rows: so many rows have an answer of their own, which can be opened while the others are derived; with None all have one.
    """
    given = {
        "schedule": None,
        "catchup": False,
        "is_paused_upon_creation": True,
        "tags": ["lineage"],
        "doc_md": "Answers questions of the lineage tab that need Spark, and keeps the answers in the results store.",
        "params": {
            "lineage_run_id": Param(type="string", minLength=1, description="the recorded run that is asked about: its whole id"),
            "target": Param(None, type=["null", "string"], maxLength=20_000, description="a predicate over the result's columns"),
            "at": Param(None, type=["null", "string"], maxLength=2_000, description="or positions of rows in the result: 0,3"),
        },
    }
    with DAG(dag_id, **{**given, **options}) as dag:
        AskedDerivationOperator(
            task_id="derive", store_conn_id=store_conn_id, conn_id=conn_id, config_kwargs=config_kwargs, max_rows=max_rows,
            chunk_rows=chunk_rows,
        )  # fmt: skip
    return dag
