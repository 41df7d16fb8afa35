"""Where runs wrote their results, and which version of each place they made: how a reader finds the run behind what it read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from airflow_lineage_provider.records.run import RunStatus
from airflow_lineage_provider.store import schema

_AT_ONCE = 5_000


@dataclass(frozen=True)
class WrittenPlace:
    """One place (a file's URI, a database table) as a run left it. A dropped run is still known to have written it."""

    run_id: str
    pipeline: str
    status: RunStatus
    place: str
    version: str


def enter(connection: sa.Connection, run_id: str, places: Mapping[str, str]) -> None:
    """Keep what a run wrote: places and their versions."""
    rows = [{"run_id": run_id, "place": place, "version": version} for place, version in places.items()]
    for start in range(0, len(rows), _AT_ONCE):
        connection.execute(schema.outputs.insert(), rows[start : start + _AT_ONCE])


def written(connection: sa.Connection, places: Iterable[str]) -> list[WrittenPlace]:
    """What runs are known to have written to these places, the newest run first."""
    runs, outputs, asked = schema.runs.c, schema.outputs.c, list(places)
    found: list[WrittenPlace] = []
    for start in range(0, len(asked), _AT_ONCE):
        some = sa.any_(sa.cast(asked[start : start + _AT_ONCE], sa.ARRAY(schema.SafeText)))
        query = sa.select(outputs.run_id, runs.pipeline, runs.status, outputs.place, outputs.version)
        query = query.join(schema.runs, runs.id == outputs.run_id).where(outputs.place == some)
        found += [WrittenPlace(*row) for row in connection.execute(query)]
    return sorted(found, key=lambda one: one.run_id, reverse=True)
