"""Where runs wrote their results, and which version of each place they made: how a reader finds the run behind what it read, and who may be
one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from airflow_lineage_provider.records.run import RunStatus
from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.given_tables import array_text
from airflow_lineage_provider.store.selecting import Select

_AT_ONCE = 5_000
_WRITTEN = (
    sa.select(schema.outputs.c.run_id, schema.runs.c.pipeline, schema.runs.c.status, schema.outputs.c.place, schema.outputs.c.version)
    .join(schema.runs, schema.runs.c.id == schema.outputs.c.run_id)
    .where(schema.outputs.c.place == sa.any_(sa.cast(sa.bindparam("places", type_=sa.Text), sa.ARRAY(sa.Text))))
)


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


def written(select: Select, places: Iterable[str]) -> list[WrittenPlace]:
    """What runs are known to have written to these places, the newest run first."""
    asked = [schema.safe_text(place) for place in places]
    found: list[WrittenPlace] = []
    for start in range(0, len(asked), _AT_ONCE):
        found += [WrittenPlace(**row) for row in select(_WRITTEN, {"places": array_text(asked[start : start + _AT_ONCE])})]
    return sorted(found, key=lambda one: one.run_id, reverse=True)


@dataclass(frozen=True)
class Readers:
    """Runs that may have read what a run wrote, the oldest first, and those of which nobody knows any more what they read."""

    runs: tuple[str, ...]
    dropped: tuple[str, ...]


def readers(connection: sa.Connection, run_id: str) -> Readers:
    """The runs that began after a run, have a result, and whose inputs name a place of its output; and the dropped ones. Whether one read
    this version of the place, its record tells (`deriving.across.writers`)."""
    runs, outputs = schema.runs.c, schema.outputs.c
    places = [row[0] for row in connection.execute(sa.select(outputs.place).where(outputs.run_id == run_id))]
    if not places:
        return Readers((), ())
    # The inputs are JSON in a text: what stands there is looked for as JSON writes it.
    inputs, text = sa.type_coerce(runs.inputs, sa.Text), json.dumps(_in_common(places))[1:-1]
    named = runs.status.in_(("complete", "incomplete")) & (sa.func.strpos(inputs, text) > 0)
    query = sa.select(runs.id, runs.status).where(run_id < schema.RUN_IDS, named | (runs.status == "dropped")).order_by(schema.RUN_IDS)
    found = connection.execute(query).all()
    return Readers(tuple(one for one, status in found if status != "dropped"), tuple(one for one, status in found if status == "dropped"))


_JOB = re.compile(r"/part-\d+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def _in_common(places: list[str]) -> str:
    """What the names of all places have in common and few others: the id of the job that Spark wrote the files in, else how they begin."""
    jobs = {found[1] if (found := _JOB.search(place)) else None for place in places}
    job = jobs.pop()
    if job is not None and not jobs:
        return job
    first, last = min(places), max(places)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), min(len(first), len(last)))
    return first[:same]
