"""The plugin in Airflow: where its views stand, what importing it costs, and what becomes of it where something is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from airflow_lineage_provider.provider_info import get_provider_info
from tests.in_turn import sampled


def test_airflow_offers_every_destination(application: Any) -> None:
    """One that it does not know drops the whole plugin from the UI."""
    from airflow.api_fastapi.core_api.datamodels.plugins import BaseDestinationLiteral

    from airflow_lineage_provider.web.plugin import views

    assert {one["destination"] for one in views()} <= set(get_args(BaseDestinationLiteral))
    assert len({one["url_route"] for one in views()}) == len(views())
    assert all(not one["href"].startswith("/") for one in views())


def test_a_place_that_airflow_does_not_know_costs_that_view_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from airflow.api_fastapi.core_api.datamodels import plugins

    from airflow_lineage_provider.web.plugin import views

    monkeypatch.setattr(plugins, "BaseDestinationLiteral", Literal["nav", "dag", "task"])
    assert [one["destination"] for one in views()] == ["nav", "dag", "task"]
    assert "no place dag_run, task_instance for views" in caplog.text
    monkeypatch.delattr(plugins, "BaseDestinationLiteral")  # one that does not say what it knows
    assert len(views()) == 5


def test_the_views_are_the_same_list_to_whoever_asks() -> None:
    """Airflow takes out of it what it refuses."""
    from airflow_lineage_provider.web.plugin import LineagePlugin

    assert LineagePlugin.external_views is LineagePlugin().external_views
    assert len(LineagePlugin.external_views) == 5


WITHOUT = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from airflow_lineage_provider.provider_info import get_provider_info
print("loaded", get_provider_info()["package-name"])
{then}
"""
ASKED = """
import anyio
from airflow_lineage_provider.web.plugin import LineagePlugin
app, sent = LineagePlugin.fastapi_apps[0]["app"], []
async def send(message): sent.append(message)
async def asked():
    for _ in range(2):
        await app({"type": "http", "path": "/tab", "method": "GET", "headers": []}, None, send)
anyio.run(asked)
print([one.get("status") for one in sent], sent[1]["body"].decode())
"""


@pytest.mark.parametrize("library", sampled(["pyarrow", "numpy"], one_in=2))
def test_without_a_library_the_tab_says_what_is_missing(library: str) -> None:
    code = WITHOUT.format(missing=[library], then=ASKED)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (name,) = [line for line in done.stdout.splitlines() if line.startswith("loaded ")]
    assert name == "loaded airflow-provider-lineage"
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("[503, None, 503, None] ")]
    error = json.loads(told.partition("] ")[2])["error"]
    assert (error["name"], error["ask"]) == ("NotInstalled", None)
    assert library in error["message"]
    assert "pip install" in error["message"]


def test_the_provider_loads_without_the_plugin() -> None:
    code = WITHOUT.format(missing=["airflow_lineage_provider.web", "airflow_lineage_provider.web.plugin"], then="")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1:] == ["loaded airflow-provider-lineage"], done.stderr


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
import airflow_lineage_provider  # (whose info Airflow 3.1 reads later)
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
