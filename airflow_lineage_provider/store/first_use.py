"""Indexes on what rows of large results are named by, made when somebody has had to wait for such rows."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import sqlalchemy as sa

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import StoreError
from airflow_lineage_provider.store.open_store import OpenStore
from airflow_lineage_provider.store.reading import LookUp

log = logging.getLogger(__name__)

LARGE, SLOW = 20_000, 0.005
"""Rows and seconds: looking through fewer rows, or for less time, needs no index."""
_INDEX = sa.text("SELECT lineage.index_column(:run, :id, CAST(:columns AS text[]))")


class FirstUse(OpenStore):
    """What a store does after a question whose answer was kept."""

    def index_looked_up(self, looked_up: Iterable[LookUp]) -> list[str]:
        """Index what rows were named by in look-ups that took their time; what became of each. (`index_column` says when there is none.)

        Nobody is waited for, it takes no longer than `settings.index_seconds`, and it is tried once: the answer is there without it.
        """
        slow = [one for one in looked_up if one.columns and (one.materialization.rows or 0) >= LARGE and one.seconds >= SLOW]
        return [self._index(one) for one in slow if settings.index_seconds() and self._is_new(one)]

    def _is_new(self, one: LookUp) -> bool:
        key = (one.materialization.id, frozenset(one.columns))
        known = key in self._looked_up
        self._looked_up.add(key)
        return not known

    def _index(self, one: LookUp) -> str:
        made, milliseconds = one.materialization, str(round(1000 * settings.index_seconds()))
        columns = [name for name in map(made.physical, one.columns) if name is not None]
        doing = f"indexing {made.name!r} of run {made.run_id}"
        try:
            with self._transaction(doing) as connection:
                connection.execute(sa.select(sa.func.set_config("statement_timeout", milliseconds, sa.true())))
                said = str(connection.execute(_INDEX, {"run": made.run_id, "id": made.id, "columns": columns}).scalar())
        except StoreError as problem:  # who may only read, an older release's roles, or it took too long
            said = str(problem)
        log.info("%s by %s: %s", doing, ", ".join(one.columns), said)
        return said
