"""The plugin in Airflow: where its views stand, what importing it costs, and that the provider loads without it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from airflow_lineage_provider.provider_info import get_provider_info


def test_airflow_offers_every_destination(application: Any) -> None:
    """One that it does not know drops the whole plugin from the UI."""
    from airflow.api_fastapi.core_api.datamodels.plugins import BaseDestinationLiteral

    from airflow_lineage_provider.web.plugin import views

    assert {one["destination"] for one in views()} <= set(get_args(BaseDestinationLiteral))
    assert len({one["url_route"] for one in views()}) == len(views())
    assert all(not one["href"].startswith("/") for one in views())


def test_the_ui_is_told_of_the_views(client: Callable[..., Any]) -> None:
    plugins = client().get("/api/v2/plugins").json()["plugins"]
    (ours,) = [one for one in plugins if one["name"] == "pipeline_lineage"]
    assert {one["destination"] for one in ours["external_views"]} == {"nav", "dag", "dag_run", "task", "task_instance"}
    assert ours["fastapi_apps"][0]["url_prefix"] == "/lineage"
    errors = client().get("/api/v2/plugins/importErrors").json()
    assert errors["import_errors"] == []


def test_the_provider_names_the_plugin() -> None:
    (named,) = get_provider_info()["plugins"]
    assert named["plugin-class"] == "airflow_lineage_provider.web.plugin.LineagePlugin"


def test_importing_the_plugin_is_cheap() -> None:
    """Every process of Airflow's does."""
    code = """
import sys
import airflow.plugins_manager
before = set(sys.modules)
import airflow_lineage_provider.web.plugin
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(new & {"fastapi", "starlette", "sqlalchemy", "pyarrow", "psycopg2", "pyspark", "pandas", "pydantic", "anyio"}))
print(sorted(name for name in set(sys.modules) - before if name.startswith("airflow_lineage_provider.")))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    heavy, own = done.stdout.strip().splitlines()[-2:]
    assert heavy == "[]"
    assert own == str(["airflow_lineage_provider." + name for name in ("web", "web.lazy", "web.plugin")])


def test_a_tab_that_was_not_built_says_so(client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("airflow_lineage_provider.web.shell.BUILT", tmp_path)
    answer = client().get("/lineage/tab")
    assert answer.status_code == 503
    assert "make web" in answer.text
    assert client().get("/lineage/assets/index.js").status_code == 404
    assert client().get("/lineage/assets/..%2Findex.html").status_code == 404


def test_the_icon_is_there(client: Callable[..., Any]) -> None:
    assert client().get("/lineage/icon.svg").headers["content-type"] == "image/svg+xml"
