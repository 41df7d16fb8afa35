"""Constants as DuckDB's SQL text, exact in value and type."""

from __future__ import annotations

from sqlglot import exp

from airflow_lineage_provider.plan.expressions import Literal
from airflow_lineage_provider.sql.literals import plain_text, verbatim
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.types import duckdb_type, portable


def duckdb_string(value: str) -> str:
    """A string as DuckDB's parser reads it back: a backslash is itself.

    :raises PortabilityProblem: it contains NUL, where the text of a query ends.
    """
    if "\0" in value:
        raise PortabilityProblem(repr(value), "a query's text there cannot contain NUL")
    return "'" + value.replace("'", "''") + "'"


def duckdb_literal(literal: Literal) -> exp.Expr:
    """A constant for DuckDB, always with its type: what a number's text says alone is another one there (0.1 is a decimal).

    :raises PortabilityProblem: the constant has no text that surely is the same value.
    """
    value, what = literal.value, f"the constant {literal.value!r}"
    if value is None:
        return exp.null() if literal.type == "void" else verbatim(f"CAST(NULL AS {duckdb_type(literal.type, what)})")
    kind = portable(literal.type, what).name
    if kind == "string":
        return verbatim(duckdb_string(value))
    text = plain_text(value, kind)
    if text is None:
        raise PortabilityProblem(what, f"it is not plainly a {literal.type}")
    if kind == "boolean":
        return verbatim(text.upper())
    if kind == "binary":
        return verbatim(f"FROM_HEX('{text}')")
    if kind == "int" and value != "-2147483648":
        return verbatim(text)
    return verbatim(f"CAST('{text}' AS {duckdb_type(literal.type, what)})")
