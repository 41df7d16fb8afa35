"""Relations that long reasons have apart (`reasons.apart`): kept once for a run and all answers about it, and dropped with it."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.reasons.apart import Relations
from airflow_lineage_provider.store import schema

_kept = schema.reason_relations


def enter(connection: sa.Connection, run_id: str, relations: Relations) -> None:
    """Keep relations; one that the run has is nothing new. In one order, so that two who keep the same do not wait for each other."""
    there = sa.select(_kept.c.name).where(_kept.c.run_id == run_id, _kept.c.name.in_(list(relations)))
    known = set(connection.execute(there).scalars()) if relations else set()
    for name in sorted(relations.keys() - known):
        values = {"run_id": run_id, "name": name, "content": relations[name]}
        connection.execute(insert(_kept).values(values).on_conflict_do_nothing())


def found(connection: sa.Connection, run_id: str, names: Sequence[str]) -> dict[str, bytes]:
    """Those of a run that have these names, by name."""
    if not names:
        return {}
    query = sa.select(_kept.c.name, _kept.c.content).where(_kept.c.run_id == run_id, _kept.c.name.in_(names))
    return {name: bytes(content) for name, content in connection.execute(query)}
