"""What runs with sketches took, by the template that they are instances of: what the policy decides on."""

from __future__ import annotations

import json
import logging
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from airflow_lineage_provider.sketches.policy import MeasuredRun
from airflow_lineage_provider.sketches.template import Instance
from airflow_lineage_provider.store import schema

log = logging.getLogger(__name__)

MOST_READ = 100
"""So many of a template's runs, the newest, say what the next one will be like."""

_runs = schema.sketch_runs
_DOCUMENTS = ("binding", "versions")
_PLAIN = ("run_id", "seconds", "through", "capture", "share")


def note(connection: sa.Connection, template: str, run: MeasuredRun) -> None:
    """Keep what a complete run took; one that is noted already stays as it is."""
    documents = {"binding": list(run.binding), "versions": {str(leaf): version for leaf, version in run.versions.items()}}
    values = {"template": template, **documents, **{name: getattr(run, name) for name in _PLAIN}}
    connection.execute(insert(_runs).values(values).on_conflict_do_nothing())


def note_capture(connection: sa.Connection, run_id: str, seconds: float, share: float | None) -> None:
    """Keep what capturing sketches of a run took, and which part of its sources' bytes they have."""
    connection.execute(_runs.update().where(_runs.c.run_id == run_id).values(capture=seconds, share=share))


def instance_of(connection: sa.Connection, run_id: str) -> tuple[Instance, dict[int, str]] | None:
    """The instance of its pipeline that a run was, and the versions of its sources, as it noted them; None where it did not, or where they
    are damaged."""
    rows = connection.execute(sa.select(_runs.c.template, *_columns()).where(_runs.c.run_id == run_id)).mappings()
    for row in rows:
        run = _read(row)
        if run is not None:
            return Instance(row["template"], run.binding), dict(run.versions)
    return None


def of_template(connection: sa.Connection, template: str) -> list[MeasuredRun]:
    """What the newest runs of a template took, the newest first; one whose row is damaged is left out, with a warning."""
    query = sa.select(*_columns()).where(_runs.c.template == template)
    rows = connection.execute(query.order_by(_runs.c.run_id.desc()).limit(MOST_READ)).mappings()
    return [one for row in rows if (one := _read(row)) is not None]


def _columns() -> list[sa.ColumnElement[Any]]:
    return [*(_runs.c[name] for name in _PLAIN), *(sa.type_coerce(_runs.c[name], sa.Text).label(name) for name in _DOCUMENTS)]


def _read(row: Any) -> MeasuredRun | None:
    try:
        binding, versions = (json.loads(row[name]) for name in _DOCUMENTS)
        plain = {name: row[name] for name in _PLAIN}
        return MeasuredRun(binding=tuple(binding), versions={int(leaf): str(version) for leaf, version in versions.items()}, **plain)
    except (ValueError, TypeError, AttributeError) as problem:
        log.warning("what run %s took is damaged, and is not used: %s", row["run_id"], problem)
        return None


def forget(connection: sa.Connection, run_id: str) -> None:
    """Forget what a run took: the constants of its pipeline are in it."""
    connection.execute(_runs.delete().where(_runs.c.run_id == run_id))
