"""PostgreSQL's dialect."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.plan.expressions import Literal
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.literals import postgres_literal
from airflow_lineage_provider.sql.names import Dialect
from airflow_lineage_provider.sql.portable import PortableDialect
from airflow_lineage_provider.sql.types import postgres_type


class PostgresDialect(PortableDialect):
    name: ClassVar[Dialect] = "postgres"
    sums_as_bigint: ClassVar[bool] = True
    escapes_by_default: ClassVar[bool] = True
    integral_quotient: ClassVar[str] = "DIV"

    def literal(self, literal: Literal, compared: bool = False) -> exp.Expr:
        return postgres_literal(literal, compared=compared)

    def type_name(self, kind: str, what: str) -> str:
        return postgres_type(kind, what)

    def by_bytes(self, node: exp.Expr) -> exp.Expr:
        # Whatever the database's collation.
        return exp.Collate(this=nodes.operand(node), expression=exp.to_identifier("C", quoted=True))

    def without_negative_zero(self, node: exp.Expr, kind: ScalarType) -> exp.Expr:
        # Adding zero changes nothing else.
        return exp.Add(this=nodes.operand(node), expression=postgres_literal(Literal(value="0", type=kind.name)))
