"""Settings from Airflow's configuration."""

from __future__ import annotations

import os

from airflow_lineage_provider.provider_options import OPTIONS, SECTION


def configure() -> None:
    """Make settings of what ``[lineage]`` of Airflow's configuration says, where no variable of the environment does.

    They are variables of this process then: those that it starts (drivers, Spark's workers) have them, too.
    """
    from airflow.providers.common.compat.sdk import conf

    for name in OPTIONS:
        variable = f"AIRFLOW_LINEAGE_{name.upper()}"
        said = None if os.environ.get(variable) else conf.get(SECTION, name, fallback=None)
        if said:
            os.environ[variable] = said
