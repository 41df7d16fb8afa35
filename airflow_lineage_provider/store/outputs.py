"""Where runs wrote their results, and which version of each place they made: how a reader finds the run behind what it read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.records import RunStatus

_AT_ONCE = 5_000


@dataclass(frozen=True)
class WrittenPlace:
    """One place (a file's URI, a database table) as a run left it. A dropped run is still known to have written it."""

    run_id: str
    pipeline: str
    status: RunStatus
    place: str
    version: str


_APPENDING = "appending to "


def enter(connection: sa.Connection, run_id: str, places: Mapping[str, str]) -> None:
    """Keep what a run wrote: places and their versions. What it was going to append is done with that."""
    outputs = schema.outputs
    connection.execute(outputs.delete().where(outputs.c.run_id == run_id, outputs.c.place.startswith(_APPENDING, autoescape=True)))
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


def intend(connection: sa.Connection, run_id: str, place: str, how: Any, *, keeps_result: bool) -> None:
    """Note that a run is going to append to a place, until it is published."""
    settle(connection, run_id, place)  # a note whose answer was lost is made again
    note = json.dumps({"how": how, "keeps_result": keeps_result})
    connection.execute(schema.outputs.insert().values(run_id=run_id, place=f"{_APPENDING}{place}", version=note))


def let_stand(connection: sa.Connection, run_id: str) -> bool:
    """Strike out the notes of a run that keeps its result: what it may have appended stays. Whether there were such notes."""
    outputs = schema.outputs
    its = (outputs.c.run_id == run_id) & outputs.c.place.startswith(_APPENDING, autoescape=True)
    notes = connection.execute(sa.select(outputs.c.version).where(its)).scalars()
    if not any(json.loads(note)["keeps_result"] for note in notes):
        return False
    connection.execute(outputs.delete().where(its))
    return True


def is_noted() -> sa.Exists:
    """Of a run: whether rows that it may have appended are still to be taken out."""
    outputs = schema.outputs
    return sa.exists().where(outputs.c.run_id == schema.runs.c.id, outputs.c.place.startswith(_APPENDING, autoescape=True))


def intended(connection: sa.Connection, place: str) -> list[tuple[str, RunStatus, Any]]:
    """The runs that were going to append to a place and are not published, the oldest first: id, status, and how their rows are known."""
    runs, outputs = schema.runs.c, schema.outputs.c
    query = sa.select(outputs.run_id, runs.status, outputs.version).join(schema.runs, runs.id == outputs.run_id)
    found = connection.execute(query.where(outputs.place == f"{_APPENDING}{place}").order_by(outputs.run_id))
    return [(row.run_id, row.status, json.loads(row.version)["how"]) for row in found]


def intended_by(connection: sa.Connection, run_id: str, place: str) -> Any:
    """How the rows of such a note are known; None where it is struck out."""
    outputs = schema.outputs.c
    query = sa.select(outputs.version).where(outputs.run_id == run_id, outputs.place == f"{_APPENDING}{place}")
    found = connection.execute(query).scalar()
    return None if found is None else json.loads(found)["how"]


def amend(connection: sa.Connection, run_id: str, place: str, how: Any) -> None:
    """Say in such a note how its rows are known by now."""
    outputs = schema.outputs
    its = (outputs.c.run_id == run_id) & (outputs.c.place == f"{_APPENDING}{place}")
    for (version,) in connection.execute(sa.select(outputs.c.version).where(its).with_for_update()).all():
        connection.execute(outputs.update().where(its).values(version=json.dumps({**json.loads(version), "how": how})))


def settle(connection: sa.Connection, run_id: str, place: str) -> None:
    """Strike such a note out."""
    outputs = schema.outputs
    connection.execute(outputs.delete().where(outputs.c.run_id == run_id, outputs.c.place == f"{_APPENDING}{place}"))
