"""Texts as values of a table's types: those texts alone that can be read in one way, the way in which Spark writes such a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.datatypes import ScalarType, parse_type, to_arrow
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sql.types import says_more

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGER = r"^(?:0|-?[1-9][0-9]{0,18})$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?$"
_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$"
# So many digits every real number of the type gives back, and all releases of Java write the same number as others do: the least
# digits that tell it, without an exponent between the bounds.
_DIGITS = {"float": 6, "double": 15}
_LEAST, _BEYOND = 1e-3, 1e7
_FORMS = {
    "boolean": r"(?i)^(?:true|false)$",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _INTEGER),
    **dict.fromkeys(("float", "double", "decimal"), _NUMBER),
    "date": _DATE,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _MOMENT),
}
_UTC = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "+00:00"})


def typed(texts: pa.ChunkedArray, kind: str, settings: Mapping[str, str]) -> pa.ChunkedArray:
    """A column of texts as a type of Spark's. ``settings`` are those of the session that read it.

    :raises CannotReadHere: a text has not the one form that is certain, or the type has none.
    """
    import pyarrow as pa

    found = parse_type(kind)
    if kind == "string":
        return texts
    if says_more(kind) or not isinstance(found, ScalarType) or found.name not in _FORMS:
        raise CannotReadHere(f"values of type {kind} are not read from texts here")
    _check_times(found.name, settings)
    if not _all_match(texts, _FORMS[found.name]):
        raise CannotReadHere(f"not all of its texts are values of type {kind} as Spark writes them")
    try:
        return _cast(texts, found, to_arrow(kind))
    except pa.ArrowException as problem:
        raise CannotReadHere(f"not all of its texts are values of type {kind}: {first_line(problem)}") from problem


def _all_match(texts: pa.ChunkedArray, form: str) -> bool:
    """Whether every text that is not NULL has this form."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(texts, form), min_count=0).as_py())


def _check_times(name: str, settings: Mapping[str, str]) -> None:
    if name in ("date", "timestamp", "timestamp_ntz") and settings.get("spark.sql.legacy.timeParserPolicy", "").upper() == "LEGACY":
        raise CannotReadHere("dates are read as old releases of Spark did (timeParserPolicy)")
    if name == "timestamp" and settings.get("spark.sql.session.timeZone") not in _UTC:
        raise CannotReadHere("timestamps are read in another time zone than UTC")


def _cast(texts: pa.ChunkedArray, kind: ScalarType, arrow: pa.DataType) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    match kind.name:
        case "boolean":
            return pc.equal(pc.utf8_lower(texts), "true")
        case "float" | "double":
            _check_digits(texts, _DIGITS[kind.name])
            return _in_bounds(texts.cast(arrow))
        case "decimal":
            precision, scale = kind.parameters
            return _plain(_with_scale(texts, precision, scale, arrow), scale)
        case "date":
            return _of_years(texts.cast(arrow))
        case "timestamp" | "timestamp_ntz":
            moments = _of_years(texts.cast(pa.timestamp("us")))
            return moments if kind.name == "timestamp_ntz" else pc.assume_timezone(moments, "UTC").cast(arrow)
    return texts.cast(arrow)


def _check_digits(texts: pa.ChunkedArray, most: int) -> None:
    import pyarrow.compute as pc

    # A point, a sign and a zero before the point beside them.
    longest = pc.max(pc.utf8_length(pc.replace_substring_regex(texts, r"^-?(?:0\.)?|\.", ""))).as_py()
    if longest is not None and longest > most:
        raise CannotReadHere(f"it has real numbers of more than {most} digits")


def _in_bounds(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """:raises CannotReadHere: one is so small or large that it is written with an exponent, or is a zero with a sign."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = pc.abs(numbers.cast(pa.float64()))
    odd = pc.or_(pc.and_(pc.less(size, _LEAST), pc.not_equal(size, 0.0)), pc.greater_equal(size, _BEYOND))
    signed = pc.and_(pc.equal(size, 0.0), pc.less(pc.divide(1.0, numbers.cast(pa.float64())), 0.0))
    if pc.any(pc.or_(odd, signed)).as_py():
        raise CannotReadHere("it has very small or large real numbers, or zeros with a sign")
    return numbers


def _with_scale(texts: pa.ChunkedArray, precision: int, scale: int, arrow: pa.DataType) -> pa.ChunkedArray:
    """:raises CannotReadHere: a number has more digits on either side of the point than the type."""

    whole = precision - scale
    form = f"^-?(?:0|[1-9][0-9]{{0,{whole - 1}}})" if whole else "^-?0"
    form += f"(?:\\.[0-9]{{1,{scale}}})?$" if scale else "$"
    if not _all_match(texts, form):
        raise CannotReadHere("it has decimals with more digits than their type")
    return texts.cast(arrow)


def _plain(numbers: pa.ChunkedArray, scale: int) -> pa.ChunkedArray:
    """:raises CannotReadHere: Java writes a number with an exponent."""
    import pyarrow.compute as pc

    if scale > 6:
        least: Any = pc.min(pc.abs(numbers)).as_py()
        if least is not None and least.adjusted() < -6:
            raise CannotReadHere("it has decimals so near to zero that they are written with an exponent")
    return numbers


def _of_years(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """:raises CannotReadHere: a year has not four digits of its own, which is where texts of it differ."""
    import pyarrow.compute as pc

    first = pc.min(times).as_py()
    if first is not None and first.year < 1000:
        raise CannotReadHere("it has dates before the year 1000")
    return times
