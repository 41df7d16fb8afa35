"""What Airflow's provider manager reads about this package (entry point ``apache_airflow_provider``)."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from airflow_lineage_provider import __version__
from airflow_lineage_provider.provider_options import OPTIONS, SECTION

_INTEGRATION = "Pipeline lineage with reasons"
_PAPER = "https://doi.org/10.1007/s00778-022-00769-7"

STORE_FORM: dict[str, Any] = {
    "hidden-fields": [],
    "relabeling": {"schema": "Database", "login": "User"},
    "placeholders": {"host": "db.example.org", "port": "5432", "schema": "lineage"},
}
"""What the form of a connection to the results store shows."""


def get_provider_info() -> dict[str, Any]:
    """The provider's metadata; every Airflow process calls this, so it imports nothing."""
    return {
        "package-name": "airflow-provider-lineage",
        "name": _INTEGRATION,
        "description": "Which source rows made an output row of a PySpark pipeline, and why each model decided as it did.",
        "versions": [__version__],
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": _PAPER,
                "how-to-guide": ["/docs/how-to/airflow.md", "/docs/how-to/lineage-tab.md"],
                "tags": ["software"],
            }
        ],
        "operators": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    "airflow_lineage_provider.operators.lineage_pyspark",
                    "airflow_lineage_provider.operators.lineage_spark_sql",
                    "airflow_lineage_provider.operators.lineage_spark_submit",
                    "airflow_lineage_provider.operators.derive",
                    "airflow_lineage_provider.operators.capture",
                    "airflow_lineage_provider.operators.derive_sketch",
                    "airflow_lineage_provider.operators.retention",
                ],
            }
        ],
        "hooks": [{"integration-name": _INTEGRATION, "python-modules": ["airflow_lineage_provider.hooks.lineage"]}],
        **({"config": configuration()} if _sections_are_merged() else {}),
        "connection-types": [
            {
                "connection-type": "lineage_store",
                "hook-class-name": "airflow_lineage_provider.hooks.lineage.LineageHook",
                "hook-name": "Lineage results store",
                "ui-field-behaviour": STORE_FORM,
                "conn-fields": {
                    "sslmode": {
                        "label": "SSL mode",
                        "description": "As libpq takes it: disable, allow, prefer, require, verify-ca, verify-full",
                        "schema": {"type": ["string", "null"]},
                    },
                    "sslrootcert": {
                        "label": "SSL root certificate",
                        "description": "A file on the workers",
                        "schema": {"type": ["string", "null"]},
                    },
                },
            }
        ],
        "extra-links": ["airflow_lineage_provider.operators.tab_link.LineageTabLink"],
        "plugins": [{"name": "pipeline_lineage", "plugin-class": "airflow_lineage_provider.web.plugin.LineagePlugin"}],
        "task-decorators": [
            {
                "name": "lineage_pyspark",
                "class-name": "airflow_lineage_provider.decorators.lineage_pyspark.lineage_pyspark_task",
            }
        ],
    }


def configuration() -> dict[str, Any]:
    """The section of airflow.cfg, with each setting's description."""
    return {
        SECTION: {
            "description": "Pipeline lineage with reasons. An environment variable AIRFLOW_LINEAGE_… wins over each.",
            "options": {
                "enabled": {
                    "description": "Whether tasks record lineage. Where it is off, operators that record are the plain "
                    "operators, and tasks that ask about recorded runs are skipped. AIRFLOW_LINEAGE_ENABLED wins over it.",
                    "version_added": "0.1.0",
                    "type": "boolean",
                    "example": "false",
                    "default": "true",
                },
                **{name: option.described(name) for name, option in OPTIONS.items()},
            },
        }
    }


def _sections_are_merged() -> bool:
    """Whether a provider may describe options of a section that Airflow has itself, as ``[lineage]`` is: Airflow 3.1 refuses to start then.
    They are read there all the same."""
    for name in ("apache-airflow-core", "apache-airflow"):
        try:
            return [int(part) for part in version(name).split(".")[:2]] >= [3, 2]
        except (PackageNotFoundError, ValueError):
            continue
    return True
