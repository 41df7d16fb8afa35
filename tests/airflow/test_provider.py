"""What Airflow is told about the provider."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import TaskInstanceKey

from airflow_lineage_provider import __version__, settings
from airflow_lineage_provider.hooks.configured import configure
from airflow_lineage_provider.operators.capture import CaptureLineageOperator
from airflow_lineage_provider.provider_info import configuration, get_provider_info
from airflow_lineage_provider.web.plugin import views


def test_airflow_finds_the_provider(airflow_home: Path) -> None:
    from airflow.providers_manager import ProvidersManager

    provider = ProvidersManager().providers["airflow-provider-lineage"]
    assert provider.version == __version__
    assert provider.data["name"] == "Pipeline lineage with reasons"


def test_the_info_fits_airflows_schema() -> None:
    import airflow
    import jsonschema

    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    jsonschema.validate(get_provider_info(), schema)


def test_the_guides_of_the_integration_are_there() -> None:
    (integration,) = get_provider_info()["integrations"]
    assert all((Path(__file__).parents[2] / guide.lstrip("/")).is_file() for guide in integration["how-to-guide"])


def test_airflows_configuration_has_every_setting() -> None:
    """What the reference lists, which has every setting (another test sees to that)."""
    reference = (Path(__file__).parents[2] / "docs" / "reference.md").read_text().partition("## Settings")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `AIRFLOW_LINEAGE_(\w+)`", reference, re.MULTILINE)) | {"READER_STORE"}
    options = configuration()["lineage"]["options"]
    assert {name.upper() for name in options} == named
    secret = {name for name, option in options.items() if option.get("sensitive")}
    assert secret == {"store", "loader_store", "reader_store", "digest_key"}


@pytest.mark.parametrize(("airflow", "is_described"), [("3.1.8", False), ("3.2.0rc1", True), ("3.10.1", True), (None, True)])
def test_airflow_3_1_is_told_of_no_options(airflow: str | None, is_described: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses to start where a provider describes options of a section that it has itself."""

    def version(name: str) -> str:
        if airflow is None or name != "apache-airflow-core":
            raise PackageNotFoundError(name)
        return airflow

    monkeypatch.setattr("airflow_lineage_provider.provider_info.version", version)
    assert ("config" in get_provider_info()) is is_described


def test_a_variable_wins_over_airflows_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__LINEAGE__TARGET_LIMIT", "7")
    monkeypatch.setenv("AIRFLOW__LINEAGE__STORE_LIMIT", "2.5")
    monkeypatch.setenv("AIRFLOW_LINEAGE_STORE_LIMIT", "3")
    monkeypatch.setenv("AIRFLOW_LINEAGE_TARGET_LIMIT", "")
    configure()
    assert (settings.target_limit(), settings.store_limit()) == (7, 3)
    assert settings.source_limit() == 1_000_000
    assert "AIRFLOW_LINEAGE_SOURCE_LIMIT" not in os.environ


@pytest.mark.parametrize(
    ("base", "map_index", "link"),
    [
        ("https://air.example/flow/", -1, "https://air.example/flow/dags/a/runs/x%2By%3A00%2F1/tasks/g.t/plugin/lineage_task_instance"),
        ("http://h:8080", 3, "http://h:8080/dags/a/runs/x%2By%3A00%2F1/tasks/g.t/mapped/3/plugin/lineage_task_instance"),
    ],
)
def test_tasks_link_to_their_lineage(base: str, map_index: int, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base)
    operator = CaptureLineageOperator(task_id="t", pipeline="p")
    key = TaskInstanceKey(dag_id="a", task_id="g.t", run_id="x+y:00/1", map_index=map_index)
    (made,) = operator.operator_extra_links
    assert (made.name, made.get_link(operator, ti_key=key)) == ("Lineage", link)
    assert link.endswith("/plugin/" + next(view["url_route"] for view in views() if view["destination"] == "task_instance"))


@pytest.mark.parametrize("kind", ["operators", "hooks"])
def test_every_named_module_is_there(kind: str) -> None:
    modules = [module for entry in get_provider_info()[kind] for module in entry["python-modules"]]
    assert modules
    for module in modules:
        importlib.import_module(module)


def test_the_decorator_is_one_of_task(airflow_home: Path) -> None:
    from airflow.sdk import task

    from airflow_lineage_provider.decorators.lineage_pyspark import lineage_pyspark_task

    assert task.lineage_pyspark is lineage_pyspark_task


def test_a_dag_file_that_uses_the_provider_loads_neither_spark_nor_the_store(airflow_home: Path) -> None:
    code = """
import sys
import airflow.sdk
before = set(sys.modules)  # Airflow 3.1 itself loads PostgreSQL's driver
import airflow_lineage_provider.decorators.lineage_pyspark
import airflow_lineage_provider.operators.derive
import airflow_lineage_provider.hooks.lineage
print([name for name in ("pyspark", "psycopg2", "adbc_driver_postgresql", "shap", "sklearn", "pandas",
                         "airflow_lineage_provider.pipeline", "airflow_lineage_provider.store") if name in set(sys.modules) - before])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_only_the_import_changes() -> None:
    """Airflow's own operators are what ours are, but for the one that calls a function with a session: ours takes each of its arguments."""
    import inspect

    from airflow.providers.apache.spark.operators.spark_pyspark import PySparkOperator
    from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.providers.standard.operators.python import PythonOperator

    from airflow_lineage_provider.operators.lineage_pyspark import LineagePySparkOperator
    from airflow_lineage_provider.operators.lineage_spark_sql import LineageSparkSqlOperator
    from airflow_lineage_provider.operators.lineage_spark_submit import LineageSparkSubmitOperator

    assert issubclass(LineageSparkSqlOperator, SparkSqlOperator)
    assert issubclass(LineageSparkSubmitOperator, SparkSubmitOperator)
    assert issubclass(LineagePySparkOperator, PythonOperator)

    def arguments(kind: type) -> set[str]:
        own = [vars(one)["__init__"] for one in kind.__mro__ if "__init__" in vars(one) and one is not object]
        return {name for made in own for name in inspect.signature(inspect.unwrap(made)).parameters}

    assert arguments(PySparkOperator) <= arguments(LineagePySparkOperator)
