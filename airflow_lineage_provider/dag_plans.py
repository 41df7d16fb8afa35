"""The plans of whole DAG runs, looked at."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from airflow_lineage_provider.asks_store import AsksStore
from airflow_lineage_provider.errors import RunNotFound
from airflow_lineage_provider.progress import Progress, unwatched
from airflow_lineage_provider.shown import shown

if TYPE_CHECKING:
    from airflow_lineage_provider.answers.dag_plan import DagPlan
    from airflow_lineage_provider.records.run import RunHead


class PlansOfDags(AsksStore):
    """What `Lineage` knows of the runs of a DAG run together."""

    query_seconds: float | None

    @abstractmethod
    def may_read(self, run: RunHead) -> bool: ...

    def dag_plan(self, dag_id: str, dag_run_id: str | None = None, *, progress: Progress = unwatched) -> DagPlan:
        """The plans of a DAG run's tasks joined at the tables that pass between them, with the runs of other DAGs that wrote what they
        read, and those that read what they wrote; without ``dag_run_id`` of the newest one that has a run here.

        Of a task instance the last try counts, and mapped task instances have runs of their own.

        :raises RunNotFound: no task of it has recorded a run.
        """
        from airflow_lineage_provider.deriving.across.dag_plan import dag_plan, newest_dag_run
        from airflow_lineage_provider.deriving.known_runs import KnownRuns

        def asked() -> DagPlan:
            with self.store.session(self.query_seconds) as session:
                known = KnownRuns(self.store, session)
                wanted = newest_dag_run(known, dag_id, self.may_read) if dag_run_id is None else dag_run_id
                return dag_plan(known, dag_id, wanted or "", self.may_read, lambda: progress("joining plans"))

        found = self.lasting(asked)
        if not found.nodes:
            run = "" if dag_run_id is None else f" run {shown(dag_run_id)}"
            raise RunNotFound(f"no task of DAG {shown(dag_id)}{run} has recorded a run in this store")
        return found
