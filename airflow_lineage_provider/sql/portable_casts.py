"""Which casts give in PostgreSQL and DuckDB what they give in Spark."""

from __future__ import annotations

from airflow_lineage_provider.plan.datatypes import ScalarType
from airflow_lineage_provider.plan.expressions import Cast
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql.types import INTEGER_DIGITS, portable


def cast_problem(cast: Cast, ansi: bool) -> str:
    """What keeps a cast from meaning the same there; empty when nothing does.

    :raises PortabilityProblem: one of the two types has no counterpart there.
    """
    if cast.safe:
        return "there is no TRY_CAST"
    source, target = (portable(text, expression_text(cast)) for text in (cast.child.type, cast.type))
    if source == target and source.name.startswith("interval ") and cast.child.type != cast.type:
        return "a cast to other units of an interval may cut a part of it off"
    if source == target or _never_fails(source, target):
        return ""
    if _fails_alike(source, target):
        return "" if ansi else "without spark.sql.ansi.enabled Spark does not fail on overflow"
    return f"a cast from {cast.child.type} to {cast.type} is not on the list of those that mean the same there"


def _never_fails(source: ScalarType, target: ScalarType) -> bool:
    match source.name, target.name:
        case (("tinyint" | "smallint" | "int" | "bigint"), ("tinyint" | "smallint" | "int" | "bigint")):
            return INTEGER_DIGITS[source.name] <= INTEGER_DIGITS[target.name]
        case (("tinyint" | "smallint" | "int" | "bigint" | "boolean"), "string"):
            return True
        case (("tinyint" | "smallint" | "int" | "bigint" | "float" | "decimal"), "double"):
            return True
        case (("tinyint" | "smallint" | "int" | "bigint"), "decimal"):
            return INTEGER_DIGITS[source.name] <= target.parameters[0] - target.parameters[1]
        case "decimal", "decimal":
            return _whole_digits(source) <= _whole_digits(target) and source.parameters[1] <= target.parameters[1]
    return False


def _fails_alike(source: ScalarType, target: ScalarType) -> bool:
    """Casts that fail on overflow in both engines (under ANSI), and otherwise give the same (decimals round half up)."""
    match source.name, target.name:
        case (("tinyint" | "smallint" | "int" | "bigint"), ("smallint" | "int" | "decimal")):
            return True
        case "decimal", "decimal":
            return True
    return False


def _whole_digits(kind: ScalarType) -> int:
    return kind.parameters[0] - kind.parameters[1]
