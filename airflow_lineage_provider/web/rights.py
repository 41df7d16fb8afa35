"""Who may see what: rows of a run are for those who may read task instances of the DAG that made it."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel

from airflow_lineage_provider.records.run import RunOrigin


class Rights:
    """What one person may see, asked of Airflow's auth manager once for a DAG. It lasts no longer than a request."""

    def __init__(self, user: Any) -> None:
        self._user = user
        self._known: dict[str | None, bool] = {}

    def may_see(self, run: RunOrigin) -> bool:
        """Whether a run's rows, and that there is the run, are for this person.

        A run that no DAG made is for those who may read Airflow's connections: they may read the results store's own as well.
        """
        return self._may_see(run.dag_id)

    def may_see_tasks(self, dag_id: str) -> bool:
        """Whether the task instances of a DAG are for this person."""
        return self._may_see(dag_id)

    def may_see_store(self) -> bool:
        """Whether what concerns the store as a whole is for this person: those who may read the connection to it."""
        return self._connections()

    def _may_see(self, dag_id: str | None) -> bool:
        if dag_id not in self._known:
            self._known[dag_id] = self._connections() if dag_id is None else self._dag(dag_id)
        return self._known[dag_id]

    def _dag(self, dag_id: str) -> bool:
        details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
        manager = get_auth_manager()
        return bool(manager.is_authorized_dag(method="GET", access_entity=DagAccessEntity.TASK_INSTANCE, details=details, user=self._user))

    def _connections(self) -> bool:
        return bool(get_auth_manager().is_authorized_connection(method="GET", user=self._user))
