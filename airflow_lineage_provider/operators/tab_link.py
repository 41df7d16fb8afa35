"""A task's link to what was recorded of it: the lineage tab of its task instance."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

_ROUTE = "plugin/lineage_task_instance"


class LineageTabLink(BaseOperatorLink):
    """To the tab, below the address at which Airflow's UI is reached (``[api] base_url``). Airflow asks for it when the task has ended."""

    name = "Lineage"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The address; ids may have any letters."""
        from airflow.providers.common.compat.sdk import conf

        base = conf.get("api", "base_url", fallback="/").rstrip("/")
        dag, run, task = (quote(each, safe="") for each in (ti_key.dag_id, ti_key.run_id, ti_key.task_id))
        mapped = "" if ti_key.map_index in (None, -1) else f"/mapped/{ti_key.map_index}"
        return f"{base}/dags/{dag}/runs/{run}/tasks/{task}{mapped}/{_ROUTE}"
