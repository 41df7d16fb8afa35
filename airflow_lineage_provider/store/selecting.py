"""Selections from the catalog, by a connection of SQLAlchemy's or in the transaction of a question's session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from airflow_lineage_provider.store.session import Session

Select: TypeAlias = Callable[[sa.Select[Any], Mapping[str, str]], Sequence[Mapping[Any, Any]]]
"""Runs a selection with the values of what is bound in it, plain texts: its rows, by the names of its columns."""

DIALECT = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


def by_connection(connection: sa.Connection) -> Select:
    """In the connection's transaction."""
    return lambda query, values: connection.execute(query, values).mappings().all()


def by_session(session: Session) -> Select:
    """In the session's transaction, with what else it reads."""

    def select(query: sa.Select[Any], values: Mapping[str, str]) -> Sequence[Mapping[Any, Any]]:
        text, names = _written(query)
        found = session.fetch(text, values=[values[name] for name in names])
        columns = [(one.key, one.type) for one in query.selected_columns]
        return [{name: _value(kind, row[name]) for name, kind in columns} for row in found.to_pylist()]

    return select


@cache
def _written(query: sa.Select[Any]) -> tuple[str, tuple[str, ...]]:
    """The query's text, and the names of what is bound as ``$1`` …; queries are made once, and are few."""
    compiled = query.compile(dialect=DIALECT)
    return str(compiled), tuple(compiled.positiontup or ())


def _value(kind: sa.types.TypeEngine[Any], stored: Any) -> Any:
    return kind.process_result_value(stored, DIALECT) if isinstance(kind, sa.types.TypeDecorator) else stored
