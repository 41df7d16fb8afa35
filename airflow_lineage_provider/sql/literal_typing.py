"""Constants of a target take the type of what they are compared with, where Spark's own coercion gives exactly the same.

That makes ``date >= '2025-12-01'`` and ``score > 0.5`` mean the same in both dialects. Whatever is not surely the same stays as
written: Spark then coerces it as it always does, and PostgreSQL is not asked.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

from airflow_lineage_provider.plan.expressions import Cast, Expression, Literal
from airflow_lineage_provider.sql.types import INTEGER_DIGITS

_LONGEST_NUMBER = 1_000
_LIMITS = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_ZONE = re.compile(r"(?:Z|[+-]\d{2}:\d{2})$")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:Z|[+-]\d{2}:\d{2})?")


def number(text: str) -> Literal | None:
    """A number as Spark types it: int, bigint or decimal by its size, double with an exponent; None when Spark has none so large."""
    if len(text) > _LONGEST_NUMBER:
        return None
    if "e" in text.lower():
        return Literal(value=text, type="double")
    if re.fullmatch(r"-?\d+", text):
        fitting = next((kind for kind in ("int", "bigint") if _fits(int(text), kind)), None)
        return Literal(value=str(int(text)), type=fitting) if fitting else _decimal(text)
    return _decimal(text)


def _decimal(text: str) -> Literal | None:
    value = Decimal(text)
    (_, digits, exponent) = value.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    return Literal(value=f"{value:f}", type=f"decimal({precision},{scale})") if precision <= 38 else None


def compared(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """The two sides of a comparison, with a constant typed as the other side is."""
    if isinstance(right, Literal) and not isinstance(left, Literal):
        return _widened(left, right), adopted(right, left.type)
    if isinstance(left, Literal) and not isinstance(right, Literal):
        return adopted(left, right.type), _widened(right, left)
    return left, right


def adopted(literal: Literal, kind: str) -> Literal:
    """The constant as a value of the type, when it is one exactly; otherwise as it is."""
    if literal.value is None:
        return literal if kind == "unknown" else replace(literal, type=kind)
    if literal.type in INTEGER_DIGITS and kind in INTEGER_DIGITS and _fits(int(literal.value), kind):
        return replace(literal, type=kind)
    if kind in ("double", "float") and literal.type.startswith("decimal"):
        # Spark compares a float with a decimal as doubles.
        return replace(literal, type="double")
    if kind == "double" and literal.type in INTEGER_DIGITS:
        return Literal(value=f"{literal.value}.0", type="double")
    return _adopted_text(literal, kind) if literal.type == "string" else literal


def cast(literal: Literal, kind: str) -> Literal | None:
    """What CAST makes of the constant, where that is surely the same value; None otherwise."""
    typed = adopted(literal, kind)
    if literal.type == "string" and kind.startswith("decimal") and re.fullmatch(r"-?\d+(\.\d+)?", literal.value or ""):
        typed = _decimal(literal.value or "") or literal
    return typed if typed.type == kind and kind not in ("boolean", "string", "float") else None


def adopted_all(literals: list[Expression], kind: str) -> list[Expression]:
    """The items of an IN list: all take the type, or none does (Spark finds one type for all of them)."""
    if kind in ("timestamp", "timestamp_ntz", "float"):
        return literals
    typed = [adopted(item, kind) if isinstance(item, Literal) else item for item in literals]
    return list(typed) if all(item.type == kind for item in typed) else literals


def _widened(side: Expression, literal: Literal) -> Expression:
    is_decimal = literal.value is not None and literal.type.startswith("decimal")
    return Cast(child=side, type="double") if side.type == "float" and is_decimal else side


def _adopted_text(literal: Literal, kind: str) -> Literal:
    text = literal.value or ""
    if kind == "date" and is_date(text):
        return replace(literal, type="date")
    if kind in ("timestamp", "timestamp_ntz") and is_date(text):
        return Literal(value=f"{text} 00:00:00", type=kind)
    fits = kind == "timestamp" or (kind == "timestamp_ntz" and not has_zone(text))
    return replace(literal, type=kind) if fits and is_timestamp(text) else literal


def has_zone(text: str) -> bool:
    """Whether a day and time end with an offset."""
    return _ZONE.search(text[11:]) is not None


def is_date(text: str) -> bool:
    """Whether the text is a day of the calendar, year 1 to 9999."""
    try:
        return _DATE.fullmatch(text) is not None and date.fromisoformat(text) is not None
    except ValueError:
        return False


def is_timestamp(text: str) -> bool:
    """Whether the text is a day and time, with an offset or without."""
    try:
        return _TIMESTAMP.fullmatch(text) is not None and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def _fits(value: int, kind: str) -> bool:
    return -_LIMITS[kind] <= value < _LIMITS[kind]
