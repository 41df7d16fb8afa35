"""Notes of what runs append: of one that is going to, until it is published, and of one that has, for whoever appends the same again.

They stand among the places that runs wrote, under names that no place has. An append may have a key: who asked for it, and for what. Of all
appends of one key to one place the last alone is to stay, so that a task that is done again replaces what it appended before.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import sqlalchemy as sa

from airflow_lineage_provider.errors import RecordDamaged, RunNotComplete
from airflow_lineage_provider.records.appends import AppendNote, KnownBy
from airflow_lineage_provider.records.run import RunStatus
from airflow_lineage_provider.store import schema
from airflow_lineage_provider.store.schema import SafeText
from airflow_lineage_provider.typed_json import read, written

_APPENDING = "appending to "
_APPENDED = "appended as "
_DIGITS = 32
_PLACE_FROM = len(_APPENDED) + _DIGITS + len(" to ") + 1

_outputs = schema.outputs
_place = _outputs.c.place


def is_note() -> sa.ColumnElement[bool]:
    """Whether what stands among the places that runs wrote is a note, and no place."""
    return _place.startswith(_APPENDING, autoescape=True) | _place.startswith(_APPENDED, autoescape=True)


def intend(connection: sa.Connection, run_id: str, place: str, how: KnownBy, *, keeps_result: bool, key: str = "") -> None:
    """Note that a run is going to append to a place, until it is published; a note whose answer was lost is made again.

    :raises RunNotComplete: the run is not running any more.
    """
    runs = schema.runs.c
    running = sa.select(runs.id).where(runs.id == run_id, runs.status == "running").with_for_update().cte("running")
    earlier = _outputs.delete().where(_is_of(run_id, place), _outputs.c.run_id.in_(sa.select(running.c.id))).cte("earlier")
    note = AppendNote(how=how, keeps_result=keeps_result, key=key)
    values = [sa.literal(f"{_APPENDING}{place}", SafeText()), sa.literal(_text(note), sa.Text())]
    made = _outputs.insert().from_select(["run_id", "place", "version"], sa.select(running.c.id, *values)).add_cte(earlier)
    if not connection.execute(made).rowcount:
        raise RunNotComplete(f"run {run_id} cannot append: it is not running any more")


def stay(connection: sa.Connection, run_id: str) -> None:
    """What a run has appended stays: until the same is appended again, where it has a key."""
    its = (_outputs.c.run_id == run_id) & _place.startswith(_APPENDING, autoescape=True)
    for place, version in connection.execute(sa.select(_place, _outputs.c.version).where(its)).all():
        note = _note(version, run_id)
        if note.key:
            enter(connection, run_id, place.removeprefix(_APPENDING), note.how, note.key)
    connection.execute(_outputs.delete().where(its))


def enter(connection: sa.Connection, run_id: str, place: str, how: KnownBy, key: str) -> None:
    """Note what a run has appended as a key's."""
    noted = _lasting(place, key)
    connection.execute(_outputs.delete().where(_outputs.c.run_id == run_id, _place == noted))
    connection.execute(_outputs.insert().values(run_id=run_id, place=noted, version=_text(AppendNote(how=how))))


def let_stand(connection: sa.Connection, run_id: str) -> bool:
    """What a run that keeps its result may have appended stays. Whether there was a note of it."""
    its = (_outputs.c.run_id == run_id) & _place.startswith(_APPENDING, autoescape=True)
    notes = connection.execute(sa.select(_outputs.c.version).where(its)).scalars()
    if not any(_note(text, run_id).keeps_result for text in notes):
        return False
    stay(connection, run_id)
    return True


def is_noted() -> sa.Exists:
    """Of a run: whether rows that it may have appended are still to be taken out."""
    return sa.exists().where(_outputs.c.run_id == schema.runs.c.id, _place.startswith(_APPENDING, autoescape=True))


def intended(connection: sa.Connection, place: str) -> list[tuple[str, RunStatus, AppendNote]]:
    """The runs that were going to append to a place and are not published, the oldest first: id, status, and the note."""
    runs = schema.runs.c
    query = sa.select(_outputs.c.run_id, runs.status, _outputs.c.version).join(schema.runs, runs.id == _outputs.c.run_id)
    found = connection.execute(query.where(_place == f"{_APPENDING}{place}").order_by(_outputs.c.run_id))
    return [(row.run_id, row.status, _note(row.version, row.run_id)) for row in found]


def appended_as(connection: sa.Connection, place: str, key: str) -> list[tuple[str, KnownBy]]:
    """What runs have appended to a place as a key's: run, and how the rows are known."""
    query = sa.select(_outputs.c.run_id, _outputs.c.version).where(_place == _lasting(place, key)).order_by(_outputs.c.run_id)
    return [(row.run_id, _note(row.version, row.run_id).how) for row in connection.execute(query)]


def known_by(connection: sa.Connection, run_id: str, place: str) -> KnownBy | None:
    """How the rows of such a note are known; None where it is struck out."""
    found = connection.execute(sa.select(_outputs.c.version).where(_is_of(run_id, place))).scalar()
    return None if found is None else _note(found, run_id).how


def amend(connection: sa.Connection, run_id: str, place: str, how: KnownBy) -> None:
    """Say in such a note how its rows are known by now."""
    its = _is_of(run_id, place)
    for (version,) in connection.execute(sa.select(_outputs.c.version).where(its).with_for_update()).all():
        connection.execute(_outputs.update().where(its).values(version=_text(replace(_note(version, run_id), how=how))))


def settle(connection: sa.Connection, run_id: str, place: str) -> None:
    """Strike such a note out."""
    connection.execute(_outputs.delete().where(_is_of(run_id, place)))


def forget(connection: sa.Connection, run_id: str) -> None:
    """Strike all such notes of a run out: what it appended is seen to."""
    its = _place.startswith(_APPENDING, autoescape=True) | _place.startswith(_APPENDED, autoescape=True)
    connection.execute(_outputs.delete().where(_outputs.c.run_id == run_id, its))


def hold(connection: sa.Connection, place: str, key: str) -> None:
    """Until the transaction ends nobody else appends this key to the place."""
    number = int.from_bytes(hashlib.sha256(_lasting(place, key).encode("utf-8", "backslashreplace")).digest()[:8], "big", signed=True)
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})


def _text(note: AppendNote) -> str:
    return json.dumps(written(note))


def _note(text: str, run_id: str) -> AppendNote:
    """:raises RecordDamaged: it is no such note."""
    what = f"the note of what run {run_id} appends"
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise RecordDamaged(f"{what} is not JSON ({problem})") from problem
    return read(AppendNote, document, what)


def _lasting(place: str, key: str) -> str:
    digest = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
    return f"{_APPENDED}{digest} to {place}"


def _is_of(run_id: str, place: str) -> sa.ColumnElement[bool]:
    named = sa.func.substr(_place, _PLACE_FROM, type_=SafeText) == place
    lasting = _place.startswith(_APPENDED, autoescape=True) & named
    return (_outputs.c.run_id == run_id) & ((_place == f"{_APPENDING}{place}") | lasting)
