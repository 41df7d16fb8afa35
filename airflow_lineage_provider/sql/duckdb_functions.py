"""Functions that give in DuckDB what they give in Spark: what people group and join by in files, so that no Spark is needed to trace it.

Where they agree on some values alone the query fails over the others, and Spark is asked in its place (`deriving.engines`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_given import GIVEN_FUNCTIONS
from airflow_lineage_provider.sql.duckdb_numbers import NUMBER_FUNCTIONS
from airflow_lineage_provider.sql.duckdb_parts import PART_FUNCTIONS
from airflow_lineage_provider.sql.duckdb_patterns import PATTERN_FUNCTIONS
from airflow_lineage_provider.sql.duckdb_texts import TEXT_FUNCTIONS
from airflow_lineage_provider.sql.duckdb_times import TIME_FUNCTIONS, months_later
from airflow_lineage_provider.sql.duckdb_writing import Writer, problem
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.types import INTEGER_DIGITS, portable

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

_ORDERED_ALIKE = frozenset({*INTEGER_DIGITS, "string", "date", "timestamp", "timestamp_ntz"})


def _extreme(name: str) -> Writer:
    """The greatest or the least, NULL where all are."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        kind = portable(call.type, expression_text(call)).name
        if kind not in _ORDERED_ALIKE or any(one.type != call.type for one in call.arguments):
            raise problem(call, f"{call.function} means the same there for values of one type that is ordered alike")
        return nodes.function(name, [writer.write(one, scope) for one in call.arguments])

    return write


def _null_if(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    value, other = call.arguments
    same = e.Call(function="=", arguments=(value, other), type="boolean")
    return writer.write(e.Call(function="if", arguments=(same, e.Literal(value=None, type="void"), value), type=call.type), scope)


def _sum(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Of numbers, or of a date and an interval of months."""
    written = months_later if call.type == "date" and len(call.arguments) > 1 else NUMBER_FUNCTIONS[call.function]
    return written(writer, call, scope)


DUCKDB_FUNCTIONS: Mapping[str, Writer] = {
    **TEXT_FUNCTIONS,
    **PART_FUNCTIONS,
    **PATTERN_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **GIVEN_FUNCTIONS,
    **TIME_FUNCTIONS,
    "greatest": _extreme("GREATEST"),
    "least": _extreme("LEAST"),
    "nullif": _null_if,
    **dict.fromkeys(("+", "-"), _sum),
}
