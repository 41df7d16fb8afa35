"""The place of a value among constants, found by Java's binary search; and among whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

if TYPE_CHECKING:
    from pyspark.sql import Column

    from airflow_lineage_provider.sketches.ordinals import Ordinals

_FIRST_SEPARATOR = 0xE000
"""Code points from here on are nobody's, and none of them means anything in a regular expression."""


def place_among(value: Column, texts: Sequence[str], type_: str) -> Column:
    """The constant's own place, from 0, or ``-1 - n`` where ``n`` of them are below; NULL of NULL. ``texts`` are ascending, each once, and
    Spark casts them, and the value, to the type."""
    compared = value.cast(type_)
    if type_ == "double":
        compared = compared + F.lit(0.0)  # the search has -0.0 below 0.0
    return InternalFunction.array_binary_search(constant_array(texts, type_), compared)


def whole_place(value: Column, type_: str) -> Column:
    """The place of a value among whole numbers, as `sketches.grid.places` has it of constants; its type has one."""
    if type_ == "timestamp":
        return F.unix_micros(value)
    return (F.unix_date(value) if type_ == "date" else value).cast("bigint")


def beyond(place: Column, first: int, last: int, before: object, after: object) -> Column:
    """``before`` of what is below ``first``, ``after`` from ``last`` on; what is between is still to be said. It is asked first: nothing
    overflows between them."""
    return F.when(place < F.lit(first), F.lit(before)).when(place >= F.lit(last), F.lit(after))


def code_of(values: Sequence[Column], parts: Sequence[Ordinals]) -> Column:
    """The number, a bigint and never NULL, whose digits are the ordinals of a row's values."""
    code = F.lit(0).cast("bigint")
    for value, part in zip(values, parts, strict=True):
        code = code * F.lit(part.width).cast("bigint") + _ordinal(value, part)
    return code


def _ordinal(value: Column, part: Ordinals) -> Column:
    """0 of NULL, an even number of one of the constants, and an odd one between them."""
    if not part.values:
        return F.when(value.isNull(), F.lit(0)).otherwise(F.lit(1))
    place = place_among(value, part.values, part.type)
    found = F.when(place >= F.lit(0), F.lit(2) * place + F.lit(2)).otherwise(F.lit(-1) - F.lit(2) * place)
    return F.when(value.isNull(), F.lit(0)).otherwise(found)


def constant_array(texts: Sequence[str], type_: str) -> Column:
    """One constant: Spark reads it in a moment, and thousands of them in seconds."""
    separator = _unused(texts)
    return F.split(F.lit(separator.join(texts)), separator).cast(f"array<{type_}>")


def _unused(texts: Sequence[str]) -> str:
    """A character that none of the texts has."""
    used, at = frozenset().union(*texts), _FIRST_SEPARATOR
    while chr(at) in used:
        at += 1
    return chr(at)
