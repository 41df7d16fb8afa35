"""The one switch that turns lineage off for every task: nothing is recorded then, and nothing can be asked."""

from __future__ import annotations

from airflow_lineage_provider import settings


def lineage_enabled(given: bool | None = None) -> bool:
    """Whether a task records lineage: what it says itself (``lineage=False``), then ``AIRFLOW_LINEAGE_ENABLED``, then ``[lineage] enabled``
    of Airflow's configuration; yes, where nobody says anything. A task cannot turn on what the switch has turned off.
    """
    from airflow.providers.common.compat.sdk import conf

    from airflow_lineage_provider.hooks.configured import configure

    configure()
    switched = settings.enabled()
    if switched is None:
        switched = bool(conf.getboolean("lineage", "enabled", fallback=True))
    return switched and given is not False


WHERE = "AIRFLOW_LINEAGE_ENABLED, or [lineage] enabled in airflow.cfg"
