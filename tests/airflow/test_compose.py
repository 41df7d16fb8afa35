"""The compose file is read here as far as that goes without Docker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from airflow.sdk import Connection

from airflow_lineage_provider import __version__
from airflow_lineage_provider.hooks.spark_session import spark_conf
from airflow_lineage_provider.hooks.store_url import store_url

DOCKER = Path(__file__).resolve().parents[2] / "docker"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    return found


def test_every_image_is_pinned(services: dict[str, Any]) -> None:
    for name, service in services.items():
        tag = service["image"].rpartition(":")[2]
        assert tag[0].isdigit(), f"{name} has no pinned image: {service['image']}"
    lines = (DOCKER / "Dockerfile").read_text().splitlines()
    assert all(":" in line for line in lines if line.startswith("FROM "))


def test_the_image_has_the_tab_which_it_builds_from_what_the_build_reads() -> None:
    """Nothing of this machine's, and in the folders where the build looks for it and leaves it."""
    lines = (DOCKER / "Dockerfile").read_text().splitlines()
    (folder,) = [line.split()[1] for line in lines if line.startswith("WORKDIR /source")]
    frontend, source = DOCKER.parent / folder.removeprefix("/source/"), folder.removesuffix("/web/frontend")
    read = re.findall(r"[\w/.]+linked_bars", (frontend / "vite.config.ts").read_text())
    for place in read:
        for kind in ("js", "css"):
            copied = (frontend / f"{place}.{kind}").resolve().relative_to(DOCKER.parent)
            assert copied.is_file()
            assert any(str(copied) in line and line.endswith(place.rpartition("/")[0] + "/") for line in lines), copied
    assert read
    assert f"COPY --chown=airflow --from=tab {source}/web/built ./source/airflow_lineage_provider/web/built" in lines
    assert {"**/node_modules", "airflow_lineage_provider/web/built"} <= set((DOCKER / "Dockerfile.dockerignore").read_text().splitlines())


def test_the_image_is_installed_as_the_readme_says() -> None:
    readme = (DOCKER.parent / "README.md").read_text().partition("## Install")[2]
    (said,) = re.findall(r"^pip install (\".\[.*)$", readme, re.MULTILINE)
    (done,) = re.findall(r"^RUN cd source && pip install --no-cache-dir (\".\[.*)$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    assert done == said


def test_the_image_is_of_this_version(services: dict[str, Any]) -> None:
    assert services["scheduler"]["image"] == f"airflow-provider-lineage:{__version__}"


def test_ports_are_published_on_the_loopback_only(services: dict[str, Any]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_a_service_waits_only_for_services_that_are_there(services: dict[str, Any]) -> None:
    assert {name for service in services.values() for name in service.get("depends_on", {})} <= set(services)


def test_the_connections_are_understood(services: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    environment = services["scheduler"]["environment"]
    for name in ("AIRFLOW_CONN_SPARK", "AIRFLOW_CONN_LINEAGE_STORE"):
        monkeypatch.setenv(name, environment[name])
    assert spark_conf(Connection.get("spark"), None, "app")["spark.master"] == "spark://spark-master:7077"
    assert store_url(Connection.get("lineage_store")) == environment["AIRFLOW_LINEAGE_STORE"]
