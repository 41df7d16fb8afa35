"""DuckDB's dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sqlglot import exp

from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.plan.expressions import Cast, Expression, GetItem, Literal
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_casts import by_text, is_of_long_decimal, is_whole, whole
from airflow_lineage_provider.sql.duckdb_functions import DUCKDB_FUNCTIONS
from airflow_lineage_provider.sql.duckdb_literals import duckdb_literal
from airflow_lineage_provider.sql.duckdb_numbers import cut, is_cut
from airflow_lineage_provider.sql.duckdb_parts import item_of
from airflow_lineage_provider.sql.duckdb_times import cast_of_times, is_of_times
from airflow_lineage_provider.sql.duckdb_writing import Writer
from airflow_lineage_provider.sql.names import Dialect
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.portable import PortableDialect
from airflow_lineage_provider.sql.types import duckdb_type


class DuckDbDialect(PortableDialect):
    name: ClassVar[Dialect] = "duckdb"
    # A sum of whole numbers has 128 bits.
    sums_as_bigint: ClassVar[bool] = False
    escapes_by_default: ClassVar[bool] = False
    integral_quotient: ClassVar[str] = "DIVIDE"
    functions: ClassVar[Mapping[str, Writer]] = DUCKDB_FUNCTIONS

    def write(self, expression: Expression, scope: Scope, compared: bool = False) -> exp.Expr:
        return item_of(self, expression, scope) if isinstance(expression, GetItem) else super().write(expression, scope, compared)

    def literal(self, literal: Literal, compared: bool = False) -> exp.Expr:
        return duckdb_literal(literal)

    def type_name(self, kind: str, what: str) -> str:
        return duckdb_type(kind, what)

    def cast(self, expression: Cast, scope: Scope) -> exp.Expr:
        if is_of_times(expression):
            return cast_of_times(self, expression, scope)
        if is_whole(expression):
            return whole(self, expression, scope)
        if is_of_long_decimal(expression) and not expression.safe:
            return by_text(self, expression, scope)
        return cut(self, expression, scope) if is_cut(expression) else super().cast(expression, scope)

    def by_bytes(self, node: exp.Expr) -> exp.Expr:
        # It knows no other order unless it is asked.
        return node

    def without_negative_zero(self, node: exp.Expr, kind: ScalarType) -> exp.Expr:
        # Its optimizer would leave out an added zero.
        zero = duckdb_literal(Literal(value="0.0", type=kind.name))
        return nodes.case([nodes.binary(exp.EQ, node, zero), zero.copy(), node.copy()])
