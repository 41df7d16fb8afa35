"""Airflow's plugin: where the lineage tab stands in the UI, and the application behind it.

Every process of Airflow's imports this, task runners too: nothing heavy is imported, and the application is made at its first request.
"""

from __future__ import annotations

import logging
from typing import Any, get_args

from airflow.plugins_manager import AirflowPlugin

from airflow_lineage_provider.web.lazy import LazyApp

log = logging.getLogger(__name__)

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
    """The tab, at each place of the UI that this Airflow knows: hrefs are relative, so that they hold under a sub-path, too.

    One view at a place that it does not know would take all of them from the UI.
    """
    known = _places()
    missing = [place for place in _PLACES if known is not None and place not in known]
    if missing:
        log.warning("this release of Airflow has no place %s for views: the lineage tab is not there", ", ".join(missing))
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
        if place not in missing
    ]


def _places() -> tuple[str, ...] | None:
    """Where this Airflow shows views of plugins; None where it does not say so."""
    try:
        from airflow.api_fastapi.core_api.datamodels.plugins import BaseDestinationLiteral
    except ImportError:
        return None
    return get_args(BaseDestinationLiteral)


class _Views:
    """The views, of the class and of its instances, found when they are first asked for: only the API server asks, and what it knows of
    places takes it long to import."""

    def __init__(self) -> None:
        self._found: list[dict[str, Any]] | None = None

    def __get__(self, _instance: object, _owner: type) -> list[dict[str, Any]]:
        if self._found is None:
            self._found = views()
        return self._found


class LineagePlugin(AirflowPlugin):
    """Pipeline lineage with reasons."""

    name = "pipeline_lineage"
    fastapi_apps = [  # noqa: RUF012  (as Airflow's base class declares it)
        {"app": LazyApp(), "url_prefix": PREFIX, "name": "Pipeline lineage"}
    ]
    external_views = _Views()
