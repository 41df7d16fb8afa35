"""Where runs wrote their results, and which version of each place they made: how a reader finds the run behind what it read, and who may be
one."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from airflow_lineage_provider.records.run import RunStatus
from airflow_lineage_provider.store import append_notes, schema
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
    runs, text = schema.runs.c, _texts(connection, [run_id]).get(run_id)
    if text is None:
        return Readers((), ())
    named = _names(sa.literal(text)) | (runs.status == "dropped")
    query = sa.select(runs.id, runs.status).where(run_id < schema.RUN_IDS, named).order_by(schema.RUN_IDS)
    found = connection.execute(query).all()
    return Readers(tuple(one for one, status in found if status != "dropped"), tuple(one for one, status in found if status == "dropped"))


def readers_of(connection: sa.Connection, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For several runs at once, of each that wrote something, the runs that began after it, have a result, and whose inputs name a place of
    its output: the oldest first."""
    texts = _texts(connection, run_ids)
    if not texts:
        return {}
    written = sa.func.unnest(sa.literal(list(texts), sa.ARRAY(sa.Text)), sa.literal(list(texts.values()), sa.ARRAY(sa.Text)))
    asked = written.table_valued(sa.column("id", sa.Text), sa.column("text", sa.Text)).render_derived()
    query = (
        sa.select(asked.c.id, schema.runs.c.id)
        .select_from(schema.runs.join(asked, (asked.c.id.collate("C") < schema.RUN_IDS) & _names(asked.c.text)))
        .where(min(texts) < schema.RUN_IDS)
        .order_by(schema.RUN_IDS)
    )
    found: dict[str, list[str]] = {run_id: [] for run_id in texts}
    for run_id, reader in connection.execute(query):
        found[run_id].append(reader)
    return {run_id: tuple(some) for run_id, some in found.items()}


def _texts(connection: sa.Connection, run_ids: Sequence[str]) -> dict[str, str]:
    """Of each run that wrote something, by its id, what the inputs of all that read it have in them: as JSON writes it, which is how they
    are kept."""
    places = defaultdict[str, list[str]](list)
    for run_id, place in connection.execute(_places_of(run_ids)):
        places[run_id].append(place)
    return {run_id: json.dumps(_in_common(some))[1:-1] for run_id, some in places.items()}


def _places_of(run_ids: Sequence[str]) -> sa.Select[Any]:
    outputs = schema.outputs.c
    return sa.select(outputs.run_id, outputs.place).where(outputs.run_id.in_(run_ids), ~append_notes.is_note())


def _names(text: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Whether a run has a result, and a text in its inputs."""
    runs = schema.runs.c
    return runs.status.in_(("complete", "incomplete")) & (sa.func.strpos(sa.type_coerce(runs.inputs, sa.Text), text) > 0)


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
