"""Values that a person gives, as values of a column's type: exactly, or not at all.

Spark's own casts would make 3 of 3.7 and NULL of ``"abc"``, and a target would then be other rows than those that were meant.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from airflow_lineage_provider.errors import InvalidTarget, PlanError
from airflow_lineage_provider.plan import intervals
from airflow_lineage_provider.plan.datatypes import ArrayType, DataType, MapType, ScalarType, StructType, parse_type
from airflow_lineage_provider.shown import shown

MISSING = object()
"""A missing value of pandas: NULL, or NaN in a column of floats, which pandas does not tell apart."""

_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_EXACT_FLOAT = 2**53
_LONGEST_NUMBER = 1_000
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?", re.ASCII)
_SPECIAL = {"nan": math.nan, "infinity": math.inf, "-infinity": -math.inf, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Column:
    """What a value has to fit: the column's name for messages, its type, and the time zone that times without one are in."""

    name: str
    type: str
    zone: str | None = None

    def refused(self, value: Any, why: str = "") -> InvalidTarget:
        """The error about a value."""
        kind = type(value).__name__
        text = f"target row: {shown(value)} ({kind}) is no value of column {self.name!r}, which is {self.type}"
        return InvalidTarget(text + (f": {why}" if why else ""))

    def typed(self, value: Any) -> Any:
        """The value as the Python value that Arrow gives for the column's type; None for NULL.

        :raises InvalidTarget: it is not exactly a value of that type, or values of that type cannot be given.
        """
        try:
            kind = parse_type(self.type)
        except PlanError as problem:
            raise self.refused(value, "values of this type cannot be given; name the row by its position, at=[…]") from problem
        return self._of(kind, value)

    def _of(self, kind: DataType, value: Any) -> Any:
        value = _plain(value)
        if value is None:
            return None
        if value is MISSING:
            return math.nan if isinstance(kind, ScalarType) and kind.name in ("float", "double") else None
        try:
            match kind:
                case ArrayType(element):
                    return [self._of(element, one) for one in _listed(value)]
                case MapType(key, item):
                    return [(self._of(key, one), self._of(item, other)) for one, other in _pairs(value)]
                case StructType():
                    return self._struct(kind, value)
                case ScalarType(name, parameters):
                    return self._scalar(name, parameters, value)
        except (TypeError, ValueError, ArithmeticError, RecursionError) as problem:
            raise self.refused(value, str(problem)[:200]) from problem

    def _struct(self, kind: StructType, value: Any) -> dict[str, Any]:
        names = [field.name for field in kind.fields]
        if isinstance(value, Mapping):
            unknown = [name for name in value if name not in names]
            if unknown or len(set(names)) < len(names):
                raise ValueError(f"a struct is given by its fields {', '.join(names)}")
            values = [value.get(name) for name in names]
        else:
            values = _listed(value)
            if len(values) != len(names):
                raise ValueError(f"{len(values)} values for the fields {', '.join(names)}")
        return {field.name: self._of(field.type, one) for field, one in zip(kind.fields, values, strict=True)}

    def _scalar(self, name: str, parameters: tuple[int, ...], value: Any) -> Any:
        if name in _BITS:
            return _whole(value, name)
        if name == "decimal":
            return _decimal(value, *parameters)
        if name == "timestamp":
            return _instant(value, self.zone)
        convert = _SCALARS.get(name)
        if convert is None:
            raise ValueError("values of this type cannot be given; name the row by its position, at=[…]")
        return convert(value)


def _plain(value: Any) -> Any:
    """Values of numpy and pandas as Python's; their missing ones as None."""
    kind = type(value)
    if kind.__module__.startswith("pandas") and kind.__name__ in ("NAType", "NaTType"):
        return None
    if kind.__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        if kind.__name__ in ("datetime64", "timedelta64"):
            return _numpy_time(value)
        return value.item()
    if kind.__name__ in ("Timestamp", "Timedelta") and kind.__module__.startswith("pandas"):
        if value.nanosecond if kind.__name__ == "Timestamp" else value.nanoseconds:
            raise InvalidTarget(f"target row: {shown(value)} has nanoseconds, which Spark's timestamps cannot hold")
        return value.to_pydatetime() if kind.__name__ == "Timestamp" else value.to_pytimedelta()
    return value


def _numpy_time(value: Any) -> Any:
    whole = value.astype(value.dtype.str.split("[")[0] + "[us]")
    if whole != value and str(value) != "NaT":
        raise InvalidTarget(f"target row: {shown(value)} has nanoseconds, which Spark's timestamps cannot hold")
    return whole.item()


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not (isinstance(value, Sequence) or hasattr(value, "tolist")):
        raise ValueError("a list is needed")
    return list(value.tolist() if hasattr(value, "tolist") else value)


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    pairs = [tuple(_listed(one)) for one in _listed(value)]
    if any(len(one) != 2 for one in pairs):
        raise ValueError("a map is given as a dict, or as pairs of key and value")
    return [(one[0], one[1]) for one in pairs]


def _whole(value: Any, kind: str) -> int:
    limit = 1 << _BITS[kind]
    found = _integer(value)
    if found is None or not -limit <= found < limit:
        raise ValueError("it is no whole number of that size")
    return found


def _integer(value: Any) -> int | None:
    """The whole number that a value is; None where it is none, or where a float cannot tell it from its neighbours."""
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if abs(value) <= _EXACT_FLOAT and value == int(value):
            return int(value)
        case decimal.Decimal() if value.is_finite() and abs(value.adjusted()) < 40 and value == value.to_integral_value():
            return int(value)
        case str() if len(value) <= 40 and _INTEGER.fullmatch(value.strip()):
            return int(value)
    return None


def _real(value: Any) -> float:
    if isinstance(value, str) and value.strip().lower() in _SPECIAL:
        return _SPECIAL[value.strip().lower()]
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and _NUMBER.fullmatch(value.strip()):
        return float(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, decimal.Decimal | float) or (whole and int(float(value)) == value):
        return float(value)
    raise ValueError("it is no number that a double holds")


def _single(value: Any) -> float:
    """The nearest of single precision: 0.1 means that one."""
    return float(struct.unpack("<f", struct.pack("<f", _real(value)))[0])


def _decimal(value: Any, precision: int, scale: int) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | decimal.Decimal | str):
        raise ValueError("a number is needed")
    if isinstance(value, str) and not (len(value) <= _LONGEST_NUMBER and _NUMBER.fullmatch(value.strip())):
        raise ValueError("it is no number")
    if isinstance(value, int) and value.bit_length() > 200:
        raise ValueError(f"it has more than {precision} digits")
    number = decimal.Decimal(repr(value) if isinstance(value, float) else value)
    if not number.is_finite() or abs(number.adjusted()) > 80:
        raise ValueError("it is not finite, or far too large or small")
    with decimal.localcontext(decimal.Context(prec=200)):
        found = number.quantize(decimal.Decimal(1).scaleb(-scale))
        if found != number or len(found.as_tuple().digits) > precision:
            raise ValueError("it has more digits than that")
    return found


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError("true or false is needed")


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 200:
        return str(value)
    if not isinstance(value, str):
        raise ValueError("text is needed")
    value.encode()  # half a character (a lone surrogate) is none
    return value


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise ValueError("bytes are needed; in a predicate, write X'…' with hexadecimal digits")


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime) and value.tzinfo is None and value.time() == dt.time():
        return value.date()
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value.strip(), re.ASCII):
        return dt.date.fromisoformat(value.strip())
    raise ValueError("a date is needed, as text 2025-12-31")


def _wall_time(value: Any) -> dt.datetime:
    found = _moment(value)
    if found.tzinfo is not None:
        raise ValueError("it has a time zone, and the column has none")
    return found


def _instant(value: Any, zone: str | None) -> dt.datetime:
    """An instant in UTC; a time without a zone is one in the run's session time zone, as in Spark's SQL."""
    found = _moment(value)
    if found.tzinfo is None:
        found = found.replace(tzinfo=_zone(zone or "UTC"))
    return found.astimezone(dt.UTC)


def _zone(name: str) -> dt.tzinfo:
    offset = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::(\d{2}))?", name, re.ASCII)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return dt.timezone(dt.timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return dt.UTC if name in ("Z", "UTC") else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"it has no time zone, and the session's ({name}) is not known here: give one with its offset") from None


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, str) and _TIME.fullmatch(value.strip()):
        return dt.datetime.fromisoformat(value.strip())
    raise ValueError("a time is needed, as text 2025-12-31 23:59:59")


def _of_class(kind: type, what: str) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{what} is needed")
        return value

    return checked


def _duration(value: Any) -> dt.timedelta:
    micros = _written(value, year_month=False)
    if micros is not None:
        return dt.timedelta(microseconds=micros)
    if isinstance(value, dt.timedelta):
        return value
    raise ValueError("a datetime.timedelta is needed, or text such as INTERVAL '1 02:03:04' DAY TO SECOND")


def _months(value: Any) -> int:
    months = _written(value, year_month=True)
    if months is None and not isinstance(value, str):
        months = _integer(value)
    if months is None or not -(1 << 31) <= months < 1 << 31:
        raise ValueError("a whole number of months is needed, or text such as INTERVAL '1-2' YEAR TO MONTH")
    return months


def _written(value: Any, *, year_month: bool) -> int | None:
    """Months or microseconds of an interval that is given as Spark writes it; None for anything else."""
    found = intervals.written(value) if isinstance(value, str) and len(value) <= _LONGEST_NUMBER else None
    return None if found is None or intervals.is_year_month(found[1]) != year_month else found[0]


def _calendar(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    raise ValueError("text as Spark writes it is needed, such as 1 years 2 months 25 days 5 hours")


_SCALARS: Mapping[str, Callable[[Any], Any]] = {
    "boolean": _truth,
    "float": _single,
    "double": _real,
    "string": _text,
    "binary": _bytes,
    "date": _date,
    "timestamp_ntz": _wall_time,
    "time": _of_class(dt.time, "a datetime.time"),
    "interval day to second": _duration,
    "interval year to month": _months,
    "interval": _calendar,
}
