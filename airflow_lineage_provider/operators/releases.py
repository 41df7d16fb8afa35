"""What releases of Airflow have in different places."""

from __future__ import annotations


def deferral_timeout() -> type[Exception]:
    """What a deferred task raises that is out of time; Airflow 3.1 has it with its core, later ones with what tasks import."""
    try:
        from airflow.sdk.exceptions import TaskDeferralTimeout
    except ImportError:
        from airflow.exceptions import TaskDeferralTimeout  # type: ignore[no-redef]
    return TaskDeferralTimeout
