"""What a type's values are to the prover. Each is embedded in an order that z3 knows, so that whatever it proves there holds of them.

Integers and decimals are numbers, exactly. Dates, timestamps and strings are ordered as numbers are, and any countable order has a place
among the rationals: a literal is put where it stands among its like. ``float`` and ``double`` too (NaN is the largest, -0.0 is 0.0), but
nothing is computed of them. A string with another collation than the binary one, and what has fields, is only ever itself.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Literal as OneOf
from typing import TypeAlias

from airflow_lineage_provider.errors import PlanError
from airflow_lineage_provider.plan.datatypes import ScalarType, is_collated, parse_type
from airflow_lineage_provider.sql.types import BEYOND, INTEGER_DIGITS

Kind: TypeAlias = OneOf["number", "float", "text", "date", "timestamp", "boolean", "opaque"]

_KINDS: dict[str, Kind] = {
    **dict.fromkeys((*INTEGER_DIGITS, "decimal"), "number"), "float": "float", "double": "float", "string": "text", "date": "date",
    "timestamp": "timestamp", "timestamp_ntz": "timestamp", "boolean": "boolean",
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1)


@lru_cache(maxsize=1024)
def kind_of(type_: str) -> Kind:
    """What values of a type are to the prover. (It is asked of each of ten thousand cuts.)"""
    found = scalar(type_)
    if found is None or is_collated(type_):
        return "opaque"
    return _KINDS.get(found.name, "opaque")


def scalar(type_: str) -> ScalarType | None:
    """The type, where it has no inner types and is one of Spark's own."""
    try:
        found = parse_type(type_)
    except PlanError:
        return None
    return found if isinstance(found, ScalarType) else None


def digits(type_: str) -> tuple[int, int] | None:
    """The digits before and after the point of an exact number; None for any other type."""
    found = scalar(type_)
    if found is None:
        return None
    if found.name == "decimal":
        return found.parameters[0] - found.parameters[1], found.parameters[1]
    return (INTEGER_DIGITS[found.name], 0) if found.name in INTEGER_DIGITS else None


def is_whole(type_: str) -> bool:
    """Whether a type is of integers."""
    found = scalar(type_)
    return found is not None and found.name in INTEGER_DIGITS


def place(text: str, kind: Kind) -> Fraction | None:
    """Where a literal of numbers or times stands in the order; None where its text says no such place (NaN, an infinity).

    A timestamp with an offset is at no place among those without one.
    """
    try:
        match kind:
            case "number":
                return Fraction(text)
            case "float":
                return Fraction(float(text))
            case "date":
                return Fraction(date.fromisoformat(text).toordinal())
            case "timestamp":
                there = datetime.fromisoformat(text)
                if there.tzinfo is not None:
                    return None
                passed = there - _EPOCH
                return Fraction(passed.days * 86_400_000_000 + passed.seconds * 1_000_000 + passed.microseconds)
    except (ValueError, OverflowError):
        pass
    return None


def has_room(type_: str, number: Fraction) -> bool:
    """Whether an exact number is one of a type.

    >>> has_room("tinyint", Fraction(-128)), has_room("tinyint", Fraction(300)), has_room("decimal(3,1)", Fraction(5, 2))
    (True, False, True)
    """
    found = scalar(type_)
    if found is None or found.name not in (*INTEGER_DIGITS, "decimal"):
        return False
    if found.name == "decimal":
        precision, scale = found.parameters
        return bool(abs(number) < 10 ** (precision - scale) and (number * 10**scale).denominator == 1)
    return number.denominator == 1 and -BEYOND[found.name] <= number < BEYOND[found.name]


def keeps_value(given: str, made: str) -> bool:
    """Whether a cast changes no value: to the same type, or to an exact number with room for all digits."""
    old, new = digits(given), digits(made)
    if given == made or old is None or new is None:
        return given == made
    # A whole number has not room for all numbers of its most digits (300 is no tinyint), and no more digits than these.
    room = new[0] - (is_whole(made) and not is_whole(given))
    return room >= old[0] and new[1] >= old[1]
