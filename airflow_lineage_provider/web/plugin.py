"""Airflow's plugin: where the lineage tab stands in the UI, and the application behind it.

Every process of Airflow's imports this, task runners too: nothing heavy is imported, and the application is made at its first request.
"""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from airflow_lineage_provider.web.lazy import LazyApp

PREFIX = "/lineage"
_ICON = "lineage/icon.svg"

# What Airflow fills in of where a person is. A map index stays as it is where there is none.
_DAG = "dag_id={DAG_ID}"
_RUN = f"{_DAG}&dag_run_id={{RUN_ID}}"
_PLACES = {
    "nav": "",
    "dag": f"?{_DAG}",
    "dag_run": f"?{_RUN}",
    "task": f"?{_DAG}&task_id={{TASK_ID}}",
    "task_instance": f"?{_RUN}&task_id={{TASK_ID}}&map_index={{MAP_INDEX}}",
}


def views() -> list[dict[str, Any]]:
    """The tab, at each place of the UI: hrefs are relative, so that they hold under a sub-path, too."""
    return [
        {
            "name": "Lineage",
            "href": f"lineage/tab{query}",
            "destination": place,
            "url_route": f"lineage_{place}",
            "icon": _ICON,
            **({"category": "browse"} if place == "nav" else {}),
        }
        for place, query in _PLACES.items()
    ]


class LineagePlugin(AirflowPlugin):
    """Pipeline lineage with reasons."""

    name = "pipeline_lineage"
    fastapi_apps = [  # noqa: RUF012  (as Airflow's base class declares it)
        {"app": LazyApp(), "url_prefix": PREFIX, "name": "Pipeline lineage"}
    ]
    external_views = views()
