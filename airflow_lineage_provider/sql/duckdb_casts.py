"""Casts to whole numbers that give in DuckDB what they give in Spark: of texts, and where TRY_CAST gives NULL for what does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_writing import problem
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.types import INTEGER_DIGITS, scalar

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

# What Spark leaves away around a number: blanks and control characters of ASCII.
_BLANK = r"[\x00-\x20\x7f]*"
_NUMBER = "[+-]?[0-9]+"
_DIGITS_OF_64_BITS = 18


def is_whole(cast: e.Cast) -> bool:
    """Whether it makes a whole number of a text, or tries to make one of another number."""
    return cast.type in INTEGER_DIGITS and (cast.child.type == "string" or (cast.safe and cast.child.type in {*INTEGER_DIGITS, "double"}))


def whole(writer: PortableWriter, cast: e.Cast, scope: Scope) -> exp.Expr:
    """Of what does not fit TRY_CAST makes NULL; a cast fails.

    :raises PortabilityProblem: a cast without ANSI, which makes more of a text.
    """
    kind, value = writer.type_name(cast.type, expression_text(cast)), writer.write(cast.child, scope)
    if not cast.safe and not writer.ansi:
        raise problem(cast, "such a cast fails alike under spark.sql.ansi.enabled alone")
    if cast.child.type == "double":
        number = nodes.cast(nodes.function("TRUNC", [value]), kind, safe=True)
        if cast.type != "bigint":
            return number
        # The largest of them is 2^63 as a double: to Spark that fits, and is the largest again.
        is_largest = nodes.binary(exp.EQ, value.copy(), nodes.cast(exp.Literal.number(2**63), "DOUBLE"))
        return nodes.case([is_largest, nodes.cast(exp.Literal.number(2**63 - 1), kind), number])
    if cast.child.type != "string":
        return nodes.cast(value, kind, safe=True)
    number = nodes.cast(nodes.function("REGEXP_EXTRACT", [value.copy(), exp.Literal.string(_NUMBER)]), kind, safe=cast.safe)
    is_number = nodes.function("REGEXP_FULL_MATCH", [value, exp.Literal.string(f"{_BLANK}{_NUMBER}{_BLANK}")])
    # Another text is no number to DuckDB either, and fails there.
    otherwise = nodes.cast(exp.Null(), kind) if cast.safe else nodes.cast(nodes.function("ERROR", [_told(value)]), kind)
    return nodes.case([nodes.is_null(value.copy()), nodes.cast(exp.Null(), kind), is_number, number, otherwise])


def is_of_long_decimal(cast: e.Cast) -> bool:
    """Whether it makes a floating number of a decimal that has more digits than 64 bits have room for."""
    found = scalar(cast.child.type) if cast.type == "double" else None
    return found is not None and found.name == "decimal" and found.parameters[0] > _DIGITS_OF_64_BITS


def by_text(writer: PortableWriter, cast: e.Cast, scope: Scope) -> exp.Expr:
    """A floating number, of the decimal's text: DuckDB makes the nearest of it, and of 128 bits often the one beside it."""
    return nodes.cast(nodes.cast(writer.write(cast.child, scope), "VARCHAR"), writer.type_name(cast.type, expression_text(cast)))


def _told(value: exp.Expr) -> exp.Expr:
    return nodes.binary(exp.DPipe, exp.Literal.string("no whole number: "), value.copy())
