"""What Airflow is told about the provider."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_lineage_provider import __version__
from airflow_lineage_provider.provider_info import get_provider_info


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
import airflow_lineage_provider.decorators.lineage_pyspark
import airflow_lineage_provider.operators.derive
import airflow_lineage_provider.hooks.lineage
print([name for name in ("pyspark", "psycopg2", "adbc_driver_postgresql", "shap", "sklearn", "pandas",
                         "airflow_lineage_provider.pipeline", "airflow_lineage_provider.store") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
