"""Provenance sketches in the store, with the runs that they are of and those that have used them."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.errors import LineageError, RunNotComplete, SketchError
from airflow_lineage_provider.records.sketches import SketchUse, SketchUses, StoredSketch
from airflow_lineage_provider.sketches.sketch import Sketch, SketchKind
from airflow_lineage_provider.store import catalog, schema
from airflow_lineage_provider.typed_json import read, written

log = logging.getLogger(__name__)

_sketches = schema.sketches
_cuts = schema.sketch_cuts
_uses = schema.sketch_uses
_runs = schema.runs
_CUTS_TRIED = 20
"""So many sketches of a column are looked at for cuts."""
_BY_USE: tuple[SketchKind, ...] = ("witness", "superset", "accurate")
"""Each serves whatever those before it serve."""
_IN_USE = _sketches.c.quarantined.is_(None)


def save(connection: sa.Connection, run_id: str, made: Sequence[StoredSketch], told: Sequence[SketchUse]) -> None:
    """Keep sketches of a complete run, in place of its earlier ones and of those of other runs that say the same, and what its record, and
    theirs, say of them. Of runs that do so at the same time the last one's stay.

    :raises RunNotComplete: the run was dropped meanwhile.
    """
    found = catalog.state(connection, run_id, lock=True)
    if found.status != "complete":
        raise RunNotComplete(f"run {run_id} is {found.status}: there is nothing to sketch")
    for template in {one.template for one in made}:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": _number(template)})
    connection.execute(_sketches.delete().where(_sketches.c.run_id == run_id))
    digests = _enter_cuts(connection, [one.cuts for one in made])
    for one in made:
        values = {name: getattr(one, name) for name in _PLAIN}
        versions = {str(leaf): version for leaf, version in one.versions.items()}
        document = {"run_id": run_id, "binding": list(one.binding), "versions": versions, "created": datetime.now(UTC)}
        connection.execute(_sketches.insert().values(values | document | {"cuts": digests[one.cuts]}))
    gone = _forget_unused(connection, _superseded(connection, run_id, made))
    _forget_cuts(connection)
    catalog.update_run(connection, run_id, sketches=written(tuple(told)))
    _say_replaced(connection, gone, told)


_DOCUMENTS = ("binding", "versions")
_PLAIN = (
    "id", "pipeline", "template", "leaf", "table", "column", "content", "rows", "total", "proof",
    "kind", "proof_ms", "bytes", "quarantined",
)  # fmt: skip


def _number(template: str) -> int:
    return int.from_bytes(hashlib.sha256(f"airflow-lineage sketches {template}".encode()).digest()[:8], "big", signed=True)


def _superseded(connection: sa.Connection, run_id: str, made: Sequence[StoredSketch]) -> list[str]:
    """The sketches of other runs of the same instance and versions, where for each sketch of such a run there is one of the same column now
    that is as good: it has no more rows, and is accurate if the other is."""
    of_run: dict[str, dict[str, bool]] = {}
    for template, binding in {(one.template, one.binding) for one in made}:
        new = {(one.leaf, one.column): one for one in made if (one.template, one.binding) == (template, binding)}
        versions = _sketches.c.versions.label("versions")
        query = sa.select(*(_sketches.c[name] for name in ("id", "run_id", "leaf", "column", "rows")), sa.type_coerce(versions, sa.Text))
        for row in connection.execute(
            query.where(_sketches.c.template == template, _sketches.c.binding == list(binding), _sketches.c.run_id != run_id, _IN_USE)
        ):
            one = new.get((row.leaf, row.column))
            is_as_good = one is not None and _text(one) == _sorted(row.versions) and one.rows <= row.rows
            of_run.setdefault(row.run_id, {})[row.id] = is_as_good and one is not None and _is_as_accurate(connection, one, row.id)
    return [each for some in of_run.values() if all(some.values()) for each in some]


def _is_as_accurate(connection: sa.Connection, one: StoredSketch, other: str) -> bool:
    try:
        kind = Sketch.from_bytes(one.content).kind
        if kind == _BY_USE[-1]:
            return True
        content = connection.execute(sa.select(_sketches.c.content).where(_sketches.c.id == other)).scalar()
        return content is None or _BY_USE.index(kind) >= _BY_USE.index(Sketch.from_bytes(bytes(content)).kind)
    except SketchError:  # of one that is damaged nothing is known
        return False


def _forget_unused(connection: sa.Connection, sketches: Sequence[str]) -> set[str]:
    """Forget sketches but for those through which a run has read, or is about to, and the others of their runs: by them it is told what
    that run has not read. Whether there is such a run is asked when they are held: then no further one can be noted. The runs that had
    those that are forgotten."""
    if not sketches:
        return set()
    connection.execute(sa.select(_sketches.c.id).where(_sketches.c.id.in_(sketches)).order_by(_sketches.c.id).with_for_update())
    other = _sketches.alias("other")
    read = sa.select(other.c.run_id).join(_uses, _uses.c.sketch_id == other.c.id).join(_runs, _runs.c.id == _uses.c.run_id)
    kept = read.where(other.c.id.in_(sketches), _runs.c.status != "failed")
    gone = _sketches.delete().where(_sketches.c.id.in_(sketches), _sketches.c.run_id.not_in(kept))
    return set(connection.execute(gone.returning(_sketches.c.run_id)).scalars())


def _say_replaced(connection: sa.Connection, runs: Iterable[str], told: Sequence[SketchUse]) -> None:
    """Have the records of runs whose sketches are gone name those that took their place. One that somebody else changes just now stays."""
    new = {(one.leaf, one.column): one for one in told if one.state == "captured"}
    for run_id in sorted(runs):
        held = sa.select(sa.type_coerce(_runs.c.sketches, sa.Text)).where(_runs.c.id == run_id)
        text = connection.execute(held.with_for_update(skip_locked=True, key_share=True)).scalar()
        try:
            uses = [read(SketchUse, one) for one in json.loads(text or "[]")]
        except (ValueError, TypeError, LineageError):  # of a record that is damaged nothing is known
            continue
        catalog.update_run(connection, run_id, sketches=written(tuple(_replaced(one, new.get((one.leaf, one.column))) for one in uses)))


def _replaced(one: SketchUse, new: SketchUse | None) -> SketchUse:
    if one.state != "captured" or new is None:
        return one
    return replace(new, because=f"{one.because}; that of run {new.run_id}, which says the same, has taken its place")


def _text(one: StoredSketch) -> str:
    return json.dumps({str(leaf): version for leaf, version in one.versions.items()}, sort_keys=True)


def _sorted(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return ""  # damaged: of no versions


def _enter_cuts(connection: sa.Connection, contents: Iterable[bytes]) -> dict[bytes, str]:
    """Keep cuts that are not kept yet; their digests. Until the transaction ends nobody forgets them."""
    digests = {content: hashlib.sha256(content).hexdigest() for content in contents}
    for content, digest in sorted(digests.items(), key=lambda one: one[1]):  # in one order, so that no two wait for each other
        entered = insert(_cuts).values(digest=digest, content=content)
        connection.execute(entered.on_conflict_do_update(index_elements=[_cuts.c.digest], set_={"digest": digest}))
    return digests


def of_template(connection: sa.Connection, template: str) -> list[StoredSketch]:
    """The sketches of a template that are not set aside, the newest first; one whose row is damaged is left out, with a warning."""
    return _found(connection, sa.and_(_sketches.c.template == template, _IN_USE))


def of_run(connection: sa.Connection, run_id: str) -> list[StoredSketch]:
    """The sketches that were captured of a run, and are not set aside; one whose row is damaged is left out, with a warning."""
    return _found(connection, sa.and_(_sketches.c.run_id == run_id, _IN_USE))


def of_id(connection: sa.Connection, sketch_id: str) -> tuple[StoredSketch, SketchUses, list[str]] | None:
    """One sketch, and what runs had of it: those that have read through it, the newest first; None where there is none, or its row is
    damaged."""
    found = _found(connection, _sketches.c.id == sketch_id)
    runs = connection.execute(sa.select(_uses.c.run_id).where(_uses.c.sketch_id == sketch_id).order_by(_uses.c.run_id.desc()))
    return (found[0], _uses_of(connection, [sketch_id])[sketch_id], list(runs.scalars())) if found else None


def cuts_of(connection: sa.Connection, table: str, column: str, version: str) -> list[bytes]:
    """The cuts of a table's column that the newest sketches of this version of the table have, each once."""
    same = sa.and_(_sketches.c.table == table, _sketches.c.column == column)
    found = [one for one in _found(connection, same, _CUTS_TRIED) if one.versions.get(one.leaf) == version]
    return list(dict.fromkeys(one.cuts for one in found))


def _found(connection: sa.Connection, condition: sa.ColumnElement[bool], limit: int | None = None) -> list[StoredSketch]:
    texts = [sa.type_coerce(_sketches.c[name], sa.Text).label(name) for name in _DOCUMENTS]
    columns = [_sketches.c[name] for name in (*_PLAIN, "run_id", "created")]
    query = sa.select(*columns, *texts, _cuts.c.content.label("cuts")).join(_cuts, _cuts.c.digest == _sketches.c.cuts)
    rows = connection.execute(query.where(condition).order_by(_sketches.c.id.desc()).limit(limit)).mappings()
    return [one for row in rows if (one := _read(row)) is not None]


def _read(row: Any) -> StoredSketch | None:
    try:
        binding, versions = (json.loads(row[name]) for name in _DOCUMENTS)
        values = {name: row[name] for name in (*_PLAIN, "run_id", "created")}
        values |= {"content": bytes(row["content"]), "cuts": bytes(row["cuts"]), "binding": tuple(binding)}
        return StoredSketch(**values, versions={int(leaf): str(version) for leaf, version in versions.items()})
    except (ValueError, TypeError, AttributeError) as problem:
        log.warning("sketch %s is damaged, and is not used: %s", row["id"], problem)
        return None


def listed(connection: sa.Connection, pipeline: str | None, limit: int) -> list[tuple[StoredSketch, SketchUses]]:
    """The newest sketches, of one pipeline where one is named, each with what runs had of it."""
    condition = sa.true() if pipeline is None else _sketches.c.pipeline == pipeline
    found = _found(connection, condition, limit)
    uses = _uses_of(connection, [one.id for one in found])
    return [(one, uses[one.id]) for one in found]


def _uses_of(connection: sa.Connection, ids: Sequence[str]) -> dict[str, SketchUses]:
    skipped = sa.cast(sa.func.sum(_uses.c.total_bytes - _uses.c.bytes), sa.BigInteger)
    query = sa.select(_uses.c.sketch_id, sa.func.count(), skipped).where(_uses.c.sketch_id.in_(ids)).group_by(_uses.c.sketch_id)
    return dict.fromkeys(ids, SketchUses(0, None)) | {row[0]: SketchUses(row[1], row[2]) for row in connection.execute(query)}


def note_uses(connection: sa.Connection, run_id: str, sketches: Iterable[str]) -> list[str]:
    """That a run reads sources through these sketches; those that were dropped meanwhile, which are not noted."""
    gone = []
    for sketch in sorted(sketches):
        there = sa.select(_sketches.c.id).where(_sketches.c.id == sketch).with_for_update(read=True, key_share=True)
        if connection.execute(there).scalar() is None:
            gone.append(sketch)
            continue
        connection.execute(insert(_uses).values(sketch_id=sketch, run_id=run_id).on_conflict_do_nothing())
    return gone


def note_read(connection: sa.Connection, run_id: str, uses: Sequence[SketchUse], seconds: float | None) -> None:
    """What a complete run has read through its sketches."""
    for one in uses:
        here = (_uses.c.run_id == run_id, _uses.c.sketch_id == one.sketch)
        counted = {name: getattr(one, name) for name in ("rows", "total", "bytes", "total_bytes")}
        connection.execute(_uses.update().where(*here).values(**counted, seconds=seconds))


def set_aside(connection: sa.Connection, sketches: Sequence[str], because: str) -> int:
    """Have sketches not used any more, and say why; how many there were."""
    return int(connection.execute(_sketches.update().where(_sketches.c.id.in_(sketches)).values(quarantined=because)).rowcount)


def forget_useless(connection: sa.Connection, template: str) -> int:
    """Forget a template's sketches that no run has read through; how many there were. Those that are set aside stay to be looked at."""
    unused = ~sa.exists().where(_uses.c.sketch_id == _sketches.c.id)
    ids = sa.select(_sketches.c.id).where(_sketches.c.template == template, _IN_USE, unused)
    found = list(connection.execute(ids).scalars())
    _forget_unused(connection, found)
    left = connection.execute(sa.select(sa.func.count()).where(_sketches.c.id.in_(found))).scalar_one()
    _forget_cuts(connection)
    return len(found) - int(left)


def drop(connection: sa.Connection, sketches: Sequence[str]) -> int:
    """Forget sketches; how many there were."""
    gone = connection.execute(_sketches.delete().where(_sketches.c.id.in_(sketches))).rowcount
    _forget_cuts(connection)
    return int(gone)


def forget(connection: sa.Connection, run_id: str) -> None:
    """Forget the sketches of a run, and the cuts that no other has."""
    if connection.execute(_sketches.delete().where(_sketches.c.run_id == run_id)).rowcount:
        _forget_cuts(connection)


def _forget_cuts(connection: sa.Connection) -> None:
    """Forget cuts that no sketch has. Those that another transaction enters, or forgets, are left to it; which are used is asked once more
    when they are held, as one that has just ended may have entered them."""
    used = sa.exists().where(_sketches.c.cuts == _cuts.c.digest)
    held = connection.execute(sa.select(_cuts.c.digest).where(~used).with_for_update(of=_cuts, skip_locked=True)).scalars().all()
    connection.execute(_cuts.delete().where(_cuts.c.digest.in_(held), ~used))
