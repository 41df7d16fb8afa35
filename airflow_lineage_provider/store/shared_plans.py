"""Plans that several runs share: each is kept once, by its text's SHA-256, for as long as a run refers to it."""

from __future__ import annotations

import hashlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.store import schema

_plans = schema.plans
_runs = schema.runs


def enter(connection: sa.Connection, plan: str) -> str:
    """Keep a plan that is not kept yet; its digest, to refer to. Until the transaction ends nobody forgets it."""
    digest = hashlib.sha256(plan.encode("utf-8", "backslashreplace")).hexdigest()
    entered = insert(_plans).values(digest=digest, plan=plan)
    # (An update of nothing holds the row, which DO NOTHING would not.)
    connection.execute(entered.on_conflict_do_update(index_elements=[_plans.c.digest], set_={"digest": digest}))
    return digest


def text_of_run() -> sa.Label[Any]:
    """The plan of a run, its own or the shared one, as a column of a query of runs."""
    shared = sa.select(_plans.c.plan).where(_plans.c.digest == _runs.c.shared_plan).scalar_subquery()
    return sa.func.coalesce(_runs.c.plan, shared, type_=schema.SafeText()).label("plan")


def forget(connection: sa.Connection, run_id: str) -> None:
    """A run refers to no shared plan any more; one that no run refers to goes."""
    digest = connection.execute(sa.select(_runs.c.shared_plan).where(_runs.c.id == run_id)).scalar()
    if digest is None:
        return
    connection.execute(_runs.update().where(_runs.c.id == run_id).values(shared_plan=None))
    used = sa.exists().where(_runs.c.shared_plan == digest)
    connection.execute(_plans.delete().where(_plans.c.digest == digest, ~used))
