"""Cuts and bounds as constants of Spark's, which compare with a column's values as they do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from airflow_lineage_provider.errors import SketchError
from airflow_lineage_provider.plan.expressions import Literal
from airflow_lineage_provider.sketches.kinds import digits, is_whole, kind_of

FALSE, TRUE = Literal(value="false", type="boolean"), Literal(value="true", type="boolean")
MOST_BIGINT = (1 << 63) - 1
_EXACT = Context(prec=80)
_WHOLE_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def type_of(bounds: Sequence[Literal], type_: str) -> str:
    """A type that has all these constants, and all values of a column of a type."""
    match kind_of(type_):
        case "number" if is_whole(type_):
            return "decimal(38,0)" if any(one.type.startswith("decimal") for one in bounds) else "bigint"
        case "number":
            whole, scale = digits(type_) or (0, 0)
            return f"decimal({max([whole, *((digits(one.type) or (0, 0))[0] for one in bounds)]) + scale},{scale})"
        case "float":
            return "double"
        case "text":
            return "string"
    return type_


def constant(cut: Any, type_: str) -> Literal:
    """A cut as a constant: the least value of the column's scale that is not below it. It may be beyond the column's own type.

    :raises SketchError: Spark has no such constant, or would read another one.
    """
    match kind_of(type_):
        case "number":
            bits = _WHOLE_BITS.get(type_)
            if type(cut) is int and bits is not None and -(1 << bits - 1) <= cut < 1 << bits - 1:  # most are
                return Literal(value=str(cut), type=type_)
            return _number(Decimal(cut), type_)
        case "float":  # a float is compared as the double that it is
            text = repr(float(cut) + 0.0)  # -0.0 is 0.0
            return Literal(value={"inf": "Infinity", "-inf": "-Infinity"}.get(text, text), type="double")
        case "boolean":
            return TRUE if cut else FALSE
        case "date" if type(cut) is date:
            return Literal(value=cut.isoformat(), type="date")
        case "timestamp":
            return _moment(cut, type_)
    return Literal(value=cut, type="string")


def _number(cut: Decimal, type_: str) -> Literal:
    whole, scale = digits(type_) or (0, 0)
    least = cut.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_CEILING, context=_EXACT)
    least = _EXACT.add(least, 0)  # -0 is 0
    bits = _WHOLE_BITS.get(type_)
    if bits is not None:
        fits, large = -(1 << bits - 1) <= least < 1 << bits - 1, abs(least) <= MOST_BIGINT
        return Literal(value=str(int(least)), type=type_ if fits else "bigint" if large else "decimal(38,0)")
    if abs(least) >= Decimal(10) ** whole:
        whole = len(least.as_tuple().digits) - scale
    if whole + scale > 38:
        raise SketchError(f"{cut} is beyond all values of type {type_}: no cut that Spark could compare with")
    return Literal(value=f"{least:f}", type=f"decimal({max(whole + scale, 1)},{scale})")


def _moment(cut: datetime, type_: str) -> Literal:
    """A timestamp with its offset, which is the same instant in every session; one without a zone as it stands."""
    if (cut.tzinfo is None) == (type_ == "timestamp"):
        needs = "needs an offset: it is an instant" if type_ == "timestamp" else "must not have an offset"
        raise SketchError(f"the cut {cut.isoformat()} of values of type {type_} {needs}")
    return Literal(value=cut.isoformat(sep=" ", timespec="microseconds"), type=type_)
