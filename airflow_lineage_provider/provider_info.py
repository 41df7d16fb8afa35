"""What Airflow's provider manager reads about this package (entry point ``apache_airflow_provider``)."""

from __future__ import annotations

from typing import Any

from airflow_lineage_provider import __version__

_INTEGRATION = "Pipeline lineage with reasons"


def get_provider_info() -> dict[str, Any]:
    """The provider's metadata; every Airflow process calls this, so it imports nothing."""
    return {
        "package-name": "airflow-provider-lineage",
        "name": _INTEGRATION,
        "description": "Which source rows made an output row of a PySpark pipeline, and why each model decided as it did.",
        "versions": [__version__],
        "integrations": [{"integration-name": _INTEGRATION, "tags": ["software"]}],
        "operators": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    "airflow_lineage_provider.operators.lineage_pyspark",
                    "airflow_lineage_provider.operators.derive",
                    "airflow_lineage_provider.operators.capture",
                ],
            }
        ],
        "hooks": [{"integration-name": _INTEGRATION, "python-modules": ["airflow_lineage_provider.hooks.lineage"]}],
        "plugins": [{"name": "pipeline_lineage", "plugin-class": "airflow_lineage_provider.web.plugin.LineagePlugin"}],
        "task-decorators": [
            {
                "name": "lineage_pyspark",
                "class-name": "airflow_lineage_provider.decorators.lineage_pyspark.lineage_pyspark_task",
            }
        ],
    }
