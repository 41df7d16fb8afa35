"""Arrays in the store, written and dropped. Who writes holds a lock until the transaction ends: what one says the next one sees."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.arrays.codec import encode
from airflow_lineage_provider.arrays.keeping import Said, check_no_circle, check_shape_is, said_already
from airflow_lineage_provider.arrays.labels import NO_LABELS, check_labels_are
from airflow_lineage_provider.arrays.link import Link, signed
from airflow_lineage_provider.arrays.operation_codec import encode_operation
from airflow_lineage_provider.arrays.owner import Owner
from airflow_lineage_provider.errors import DerivationNotFound, UnknownArray
from airflow_lineage_provider.settings import confirmations
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.store import derivations, found_arrays, schema
from airflow_lineage_provider.store.found_arrays import digest

_arrays = schema.arrays
_relations = schema.array_relations
_operations = schema.array_operations
_LOCK = sa.text("SELECT pg_advisory_xact_lock(:key)")
_KEY = 0x6C696E6172726179


def encoded(said: Said) -> dict[tuple[str, str], bytes]:
    """The relations as bytes: made before the lock is taken."""
    return {pair: encode(link.table) for pair, link in said.links.items()}


def save(
    connection: sa.Connection, said: Said, content: dict[tuple[str, str], bytes], owner: Owner | None = None, *, replace: bool = False
) -> None:
    """Keep what a log was told. What is there already, and is the same, is nothing new.

    :param replace: whether all arrays that the owner had until now go, with the lineage of others that is linked with them.
    :raises InvalidArray: an array is known with another shape, or with other labels.
    :raises UnknownArray: an array of a link was dropped meanwhile.
    :raises InvalidRelation: the lineage is there already, or would be a circle.
    :raises CaptureNeeded: what was reused is not reused any more.
    :raises RunNotFound, RunNotComplete, DerivationNotFound: the owner is gone.
    """
    connection.execute(_LOCK, {"key": _KEY})
    if owner is not None:
        _check_there(connection, owner)
        if replace and _has_some(connection, owner):
            connection.execute(_arrays.delete().where(_arrays.c.owner == owner.prefix))
    _enter_arrays(connection, said, owner)
    _check_known(connection, said)
    for pair, link in said.links.items():
        _enter_relation(connection, pair, link, content[pair])
    check_no_circle(said.links, found_arrays.edges(connection, {output for _, output in said.links}) if said.links else [])
    _note(connection, said)


def _has_some(connection: sa.Connection, owner: Owner) -> bool:
    """Whether there is something to replace: who may keep answers may not delete."""
    return connection.execute(sa.select(_arrays.c.digest).where(_arrays.c.owner == owner.prefix).limit(1)).first() is not None


def _check_there(connection: sa.Connection, owner: Owner) -> None:
    """That a run, or a derivation, is there to own something, until the transaction ends."""
    if owner.kind == "run":
        derivations.check_complete(connection, owner.parts[0])
    elif owner.kind == "derivation":
        query = sa.select(schema.derivations.c.run_id).where(schema.derivations.c.id == owner.parts[0])
        run_id = connection.execute(query).scalar()
        if run_id is None:
            raise DerivationNotFound(f"there is no derivation {shown(owner.parts[0])} in the results store (its run may have been dropped)")
        derivations.check_complete(connection, run_id)


def _enter_arrays(connection: sa.Connection, said: Said, owner: Owner | None) -> None:
    known = found_arrays.described(connection, said.shapes)
    for name, (sides, labels) in known.items():
        check_shape_is(name, said.shapes[name], sides)
        check_labels_are(name, said.labels.get(name, NO_LABELS), labels)
    columns: dict[str, Any] = {"owner": owner.prefix if owner else None, "created": datetime.now(UTC)}
    columns |= {f"{kind}_id": owner.parts[0] if owner and owner.kind == kind else None for kind in ("run", "derivation")}
    rows = [{"digest": digest(name), "name": name, "shape": list(sides)} | columns for name, sides in said.shapes.items()]
    labelled = [row | {"labels": said.labels[row["name"]]} for row in rows if row["name"] in said.labels]
    for some in (labelled, [row for row in rows if row["name"] not in said.labels]):
        if some:
            connection.execute(insert(_arrays).on_conflict_do_nothing(), some)


def _check_known(connection: sa.Connection, said: Said) -> None:
    wanted = dict.fromkeys(name for pair in said.links for name in pair)
    known = found_arrays.described(connection, wanted)
    missing = [name for name in wanted if name not in known]
    if missing:
        raise UnknownArray(f"there is no array {shown(missing[0])} any more: it was dropped meanwhile")


def _enter_relation(connection: sa.Connection, pair: tuple[str, str], link: Link, content: bytes) -> None:
    source, output = map(digest, pair)
    told = {"turned": link.turned, "guarantee": link.guarantee, "operation": signed(link.operation)}
    values = told | {"rows": len(link.table), "content": content}
    entered = insert(_relations).values(source=source, output=output, **values).on_conflict_do_nothing()
    if connection.execute(entered.returning(_relations.c.id)).scalar() is not None:
        return
    there = sa.select(*(_relations.c[name] for name in values)).where(_relations.c.source == source, _relations.c.output == output)
    found = connection.execute(there).mappings().one()
    if dict(found) | {"content": bytes(found["content"])} != values:
        raise said_already(pair)


def _note(connection: sa.Connection, said: Said) -> None:
    """What is to be noted of operations, in the newest state of each."""
    for name in dict.fromkeys(name for name, _ in said.lessons):
        state = found_arrays.operation(connection, name, confirmations(), lock=True)
        for other, note in said.lessons:
            if other == name:
                note(state)
        values = {"digest": digest(name), "name": name, "content": encode_operation(state)}
        entered = insert(_operations).values(values)
        connection.execute(entered.on_conflict_do_update(index_elements=[_operations.c.digest], set_={"content": values["content"]}))


def drop(connection: sa.Connection, names: Sequence[str]) -> int:
    """Drop arrays, with their relations; how many there were. A name that ends with ``/`` stands for all that begin so.

    :raises UnknownArray: there is none of one of these names.
    """
    connection.execute(_LOCK, {"key": _KEY})
    total = 0
    for name in dict.fromkeys(names):
        chosen = found_arrays.begins(name) if name.endswith("/") else _arrays.c.digest == digest(name)
        count = int(connection.execute(_arrays.delete().where(chosen)).rowcount)
        if not count:
            raise UnknownArray(f"there is no array {shown(name)} in the results store; nothing was dropped")
        total += count
    return total


def forget(connection: sa.Connection, run_id: str) -> None:
    """Drop the arrays of a run; those of its derivations go with these."""
    connection.execute(_arrays.delete().where(_arrays.c.run_id == run_id))


def retire(connection: sa.Connection, before: datetime) -> int:
    """Drop the arrays of tasks, and those of nobody, that are older; those of runs and of derivations go with them. How many there were."""
    loose = _arrays.c.run_id.is_(None) & _arrays.c.derivation_id.is_(None)
    return int(connection.execute(_arrays.delete().where(loose, _arrays.c.created < before)).rowcount)
