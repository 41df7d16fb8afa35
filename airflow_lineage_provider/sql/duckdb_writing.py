"""What writers of DuckDB's functions share: arguments of known types, and values that hold on a condition alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.constant_values import constant_whole
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.types import BEYOND, INTEGER_DIGITS

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

Writer = Callable[["PortableWriter", e.Call, Scope], exp.Expr]


def problem(expression: e.Expression, why: str) -> PortabilityProblem:
    """What keeps an expression from being written."""
    return PortabilityProblem(expression_text(expression), why)


def arguments_of(writer: PortableWriter, call: e.Call, scope: Scope, *kinds: str) -> list[exp.Expr]:
    """The arguments, of these types."""
    if [one.type for one in call.arguments] != list(kinds):
        raise problem(call, f"{call.function} means the same there for arguments of type {', '.join(kinds)} alone")
    return [writer.write(one, scope) for one in call.arguments]


def constant_text(expression: e.Expression) -> str | None:
    """The value of a constant text."""
    return expression.value if isinstance(expression, e.Literal) and expression.type == "string" else None


def constant_number(expression: e.Expression) -> int | None:
    """The value of a constant whole number, which may have been made one of another type that has room for it."""
    given = expression.child if isinstance(expression, e.Cast) and expression.type in INTEGER_DIGITS else expression
    if isinstance(given, e.Literal) and given.type == "bigint" and given.value is not None:
        found: int | None = int(given.value)
    else:
        found = constant_whole(given)
    beyond = BEYOND.get(expression.type)
    return found if found is None or beyond is None or -beyond <= found < beyond else None


def of_ascii(text: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A text made of ``text`` that is the same where that is ASCII; else the query fails."""
    is_ascii = nodes.binary(exp.EQ, nodes.function("STRLEN", [text]), nodes.function("LENGTH", [text.copy()]))
    return known_to_be(is_ascii, value, text, "not in ASCII: ")


def known_to_be(condition: exp.Expr, value: exp.Expr, of: exp.Expr, told: str, kind: str = "VARCHAR") -> exp.Expr:
    """A value (of a type of DuckDB's) that is the same on this condition, or where it is made of NULL; else the query fails, and says for
    what text ``of``."""
    refused = nodes.function("ERROR", [nodes.binary(exp.DPipe, exp.Literal.string(told), of.copy())])
    known = exp.Or(this=exp.Paren(this=condition), expression=nodes.is_null(of.copy()))
    return nodes.case([known, value, nodes.cast(refused, kind)])
