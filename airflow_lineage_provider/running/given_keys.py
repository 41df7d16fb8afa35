"""The primary keys that a person names for tables of a pipeline."""

from __future__ import annotations

from collections.abc import Collection

from airflow_lineage_provider.errors import PlanError


def check_named(keys: Collection[str], read: Collection[str]) -> None:
    """See that the tables whose keys are given are among those that are read.

    :raises PlanError: one is not.
    """
    unknown = sorted(set(keys) - set(read))
    if unknown:
        raise PlanError(f"keys name {', '.join(unknown)}, which the pipeline does not read; it reads {', '.join(sorted(read))}")
