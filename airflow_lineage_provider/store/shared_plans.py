"""Plans that several runs share: each is kept once, by its text's SHA-256, for as long as a run refers to it."""

from __future__ import annotations

import hashlib
from typing import Any

import sqlalchemy as sa

from airflow_lineage_provider.store import schema

_plans = schema.plans
_runs = schema.runs


def digest(plan: str) -> str:
    """What runs refer to a plan by, which is kept when the first of them is entered (`catalog.insert_run`)."""
    return hashlib.sha256(plan.encode("utf-8", "backslashreplace")).hexdigest()


def text_of_run() -> sa.Label[Any]:
    """The plan of a run, its own or the shared one, as a column of a query of runs."""
    shared = sa.select(_plans.c.plan).where(_plans.c.digest == _runs.c.shared_plan).scalar_subquery()
    return sa.func.coalesce(_runs.c.plan, shared, type_=schema.SafeText()).label("plan")


def forget(connection: sa.Connection, run_id: str) -> None:
    """A run refers to no shared plan any more; one that no run refers to goes."""
    referred = connection.execute(sa.select(_runs.c.shared_plan).where(_runs.c.id == run_id)).scalar()
    if referred is None:
        return
    connection.execute(_runs.update().where(_runs.c.id == run_id).values(shared_plan=None))
    used = sa.exists().where(_runs.c.shared_plan == referred)
    connection.execute(_plans.delete().where(_plans.c.digest == referred, ~used))
