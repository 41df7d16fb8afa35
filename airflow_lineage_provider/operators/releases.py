"""What releases of Airflow have in different places."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def deferral_timeout() -> type[Exception]:
    """What a deferred task raises that is out of time; Airflow 3.1 has it with its core, later ones with what tasks import."""
    try:
        from airflow.sdk.exceptions import TaskDeferralTimeout
    except ImportError:
        from airflow.exceptions import TaskDeferralTimeout  # type: ignore[no-redef]
    return TaskDeferralTimeout


def sections_are_merged() -> bool:
    """Whether a provider may describe options of a section that Airflow has itself, as ``[lineage]`` is: Airflow 3.1 refuses to start then.
    They are read there all the same."""
    for name in ("apache-airflow-core", "apache-airflow"):
        try:
            return [int(part) for part in version(name).split(".")[:2]] >= [3, 2]
        except (PackageNotFoundError, ValueError):
            continue
    return True
