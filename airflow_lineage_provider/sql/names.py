"""Identifiers as SQL text: quoted whenever that is needed, in every dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal as OneOf

from sqlglot import exp

from airflow_lineage_provider.errors import UnsupportedOperator
from airflow_lineage_provider.sql.keywords import KEYWORDS
from airflow_lineage_provider.sql.problems import PortabilityProblem

Dialect = OneOf["spark", "postgres", "duckdb"]

# PostgreSQL folds unquoted names to lower case; Spark and DuckDB keep them as they are written.
_PLAIN = {
    "spark": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
    "postgres": re.compile(r"[a-z_][a-z0-9_]*"),
    "duckdb": re.compile(r"[A-Za-z_][A-Za-z0-9_]*"),
}
_DUCKDB_KEYWORDS = frozenset({"glob", "grouping_id", "lambda", "pivot_longer", "pivot_wider", "positional", "summarize", "tuple", "unpack"})
POSTGRES_NAME_BYTES = 63


def identifier(name: str, dialect: Dialect) -> exp.Identifier:
    """A name as a node, quoted unless it is plain in the dialect.

    :raises UnsupportedOperator: Spark has no such name.
    :raises PortabilityProblem: PostgreSQL has no such name (it would cut one over 63 bytes silently), or DuckDB has not.
    """
    if dialect == "postgres" and (not name or "\0" in name or len(name.encode()) > POSTGRES_NAME_BYTES):
        raise PortabilityProblem(repr(name), f"a name in PostgreSQL has 1 to {POSTGRES_NAME_BYTES} bytes and no NUL character")
    if dialect == "duckdb" and (not name or "\0" in name):
        raise PortabilityProblem(repr(name), "a name in DuckDB is not empty and has no NUL character")
    if not name:
        raise UnsupportedOperator("a column or table with an empty name cannot be written in Spark's SQL; rename it")
    if dialect == "spark" and "${" in name:
        # Spark replaces ${…} in the text of a query before it parses it, inside backticks too.
        raise UnsupportedOperator(f"the name {name!r} contains '${{', which Spark replaces as a variable in SQL text; rename it")
    return exp.Identifier(this=name, quoted=not is_plain(name, dialect))


def is_plain(name: str, dialect: Dialect) -> bool:
    """Whether the name means itself without quotes."""
    taken = name.lower() in KEYWORDS or (dialect == "duckdb" and name.lower() in _DUCKDB_KEYWORDS)
    return bool(_PLAIN[dialect].fullmatch(name)) and not taken


def quote(name: str, dialect: Dialect) -> str:
    """A name, quoted where that is needed. Raises as `identifier`.

    >>> quote("Judge", "spark"), quote("Judge", "postgres"), quote("group", "spark")
    ('Judge', '"Judge"', '`group`')
    """
    return identifier(name, dialect).sql(dialect=dialect)


def quote_path(parts: Iterable[str], dialect: Dialect) -> str:
    """A qualified name: ``catalog.schema.table``. Raises as `identifier`."""
    return ".".join(quote(part, dialect) for part in parts)
