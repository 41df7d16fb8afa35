"""Selections from the catalog: by a connection of SQLAlchemy's, in a question's session, or as statements that are asked often."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from airflow_lineage_provider.store.kept_reader import Statement
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
        columns = _columns(query)
        return [{name: _value(kind, row[name]) for name, kind in columns} for row in found.to_pylist()]

    return select


def by_statement(ask: Callable[[Statement, Sequence[str]], Sequence[Sequence[Any]]]) -> Select:
    """In one round trip each, with no transaction around it (`kept_reader`)."""

    def select(query: sa.Select[Any], values: Mapping[str, str]) -> Sequence[Mapping[Any, Any]]:
        statement, names = _statement(query)
        found, columns = ask(statement, [values[name] for name in names]), _columns(query)
        return [{name: _value(kind, one) for (name, kind), one in zip(columns, row, strict=True)} for row in found]

    return select


@cache
def _statement(query: sa.Select[Any]) -> tuple[Statement, tuple[str, ...]]:
    text, names = _written(query)
    name = f"airflow_lineage_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return Statement(name, text, ("text",) * len(names)), names


@cache
def _columns(query: sa.Select[Any]) -> list[tuple[str, sa.types.TypeEngine[Any]]]:
    return [(str(one.key), one.type) for one in query.selected_columns]


@cache
def _written(query: sa.Select[Any]) -> tuple[str, tuple[str, ...]]:
    """The query's text, and the names of what is bound as ``$1`` …; queries are made once, and are few."""
    compiled = query.compile(dialect=DIALECT)
    return str(compiled), tuple(compiled.positiontup or ())


def _value(kind: sa.types.TypeEngine[Any], stored: Any) -> Any:
    return kind.process_result_value(stored, DIALECT) if isinstance(kind, sa.types.TypeDecorator) else stored
