"""Functions of dates and moments that give in DuckDB what they give in Spark.

A moment (``timestamp``) has a date and an hour in the time zone of the run's session. Where that is a fixed offset from UTC they are
computed; where clocks are changed it takes Java's own table of them, and Spark. Of moments before the year 1 or after 9999 the query fails,
and Spark is asked in its place (`deriving.engines`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.constant_values import constant_months
from airflow_lineage_provider.sql.duckdb_writing import Writer, arguments_of, constant_number, constant_text, known_to_be, problem
from airflow_lineage_provider.sql.local_times import fixed_offset
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.time_units import DATE_UNITS, MOMENT_UNITS

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

MOMENTS = frozenset({"timestamp", "timestamp_ntz"})
_TIMES = frozenset({"date", *MOMENTS})
_FIRST, _LAST = "0001-01-02 00:00:00", "9999-12-30 00:00:00"
_NAMES = {"date": "DATE", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP"}


def is_of_times(cast: e.Cast) -> bool:
    """Whether it makes a date or a moment of another kind of them, or a text, or a moment of a constant text."""
    if isinstance(cast.child, e.Literal) and cast.child.type == "string":
        return cast.type in MOMENTS
    return cast.child.type != cast.type and cast.child.type in _TIMES and cast.type in {*_TIMES, "string"}


def cast_of_times(writer: PortableWriter, cast: e.Cast, scope: Scope) -> exp.Expr:
    """Such a cast.

    :raises PortabilityProblem: it takes the zone of the session, which is no fixed offset.
    """
    if cast.safe:
        raise problem(cast, "there is no TRY_CAST")
    if isinstance(cast.child, e.Literal) and cast.child.type == "string":
        return writer.write(_constant(writer, cast, cast.child.value or ""), scope)
    if cast.type == "string" and cast.child.type == "date":
        date = writer.write(cast.child, scope)
        return _of_four_digits(nodes.cast(date, "VARCHAR"), date)
    local = _local(writer, cast.child, scope)
    if cast.type == "string":
        return _of_four_digits(nodes.cast(local, "VARCHAR"), local)
    if cast.type == "timestamp":
        return _in_zone(writer, cast, local)
    return local if cast.type == "timestamp_ntz" else nodes.cast(local, "DATE")


_WRITTEN = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2})(\.\d{1,6})?)?")


def _constant(writer: PortableWriter, cast: e.Cast, text: str) -> e.Literal:
    """A moment that is written without a zone, in the session's."""
    found = _WRITTEN.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        local = datetime.fromisoformat(f"{found[1]} {found[2] or '00:00:00'}{(found[3] or '').ljust(7, '0') if found[3] else ''}")
        moment = local - _offset(writer, cast) if cast.type == "timestamp" else local
    except (ValueError, OverflowError):
        raise problem(cast, "it is not certain which moment the text is") from None
    return e.Literal(value=f"{moment.isoformat(' ')}{'Z' if cast.type == 'timestamp' else ''}", type=cast.type)


def _local(writer: PortableWriter, moment: e.Expression, scope: Scope) -> exp.Expr:
    """Date and time of a moment in the zone of the session, or of the beginning of a date."""
    node = writer.write(moment, scope)
    if moment.type == "date":
        return nodes.cast(node, "TIMESTAMP")
    offset, kind = _offset(writer, moment) if moment.type == "timestamp" else timedelta(), _NAMES[moment.type]
    local = nodes.function("TIMEZONE", [exp.Literal.string("UTC"), node]) if moment.type == "timestamp" else node
    zone = "+00" if moment.type == "timestamp" else ""
    first, last = (nodes.cast(exp.Literal.string(f"{text}{zone}"), kind) for text in (_FIRST, _LAST))
    inside = exp.Between(this=node.copy(), low=first, high=last)
    return known_to_be(inside, _moved(local, offset), nodes.cast(node.copy(), "VARCHAR"), "a moment of long ago: ", "TIMESTAMP")


def _in_zone(writer: PortableWriter, of: e.Expression, local: exp.Expr) -> exp.Expr:
    """The moment at which it is so early or late in the zone of the session."""
    return nodes.function("TIMEZONE", [exp.Literal.string("UTC"), _moved(local, -_offset(writer, of))])


def _offset(writer: PortableWriter, of: e.Expression) -> timedelta:
    offset = fixed_offset(writer.zone)
    if offset is None:
        raise problem(
            of, f"the session's time zone {writer.zone or '(unknown)'} is no fixed offset, and what the time was there Spark knows"
        )
    return offset


def _moved(local: exp.Expr, offset: timedelta) -> exp.Expr:
    if not offset:
        return local
    minutes = nodes.function("TO_MINUTES", [exp.Literal.number(abs(offset) // timedelta(minutes=1))])
    return nodes.binary(exp.Add if offset > timedelta() else exp.Sub, local, minutes)


def _part_of_date(name: str, more: int = 0) -> Writer:
    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        found = nodes.cast(nodes.function(name, arguments_of(writer, call, scope, "date")), "INTEGER")
        return nodes.binary(exp.Add, found, exp.Literal.number(more)) if more else found

    return write


def _days(kind: type[exp.Binary]) -> Writer:
    """Days later or earlier: an error where there is no such date."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        given, number = call.arguments[1], constant_number(call.arguments[1])
        if call.arguments[0].type != "date" or (number is None and given.type not in ("int", "smallint", "tinyint")):
            raise problem(call, f"{call.function} means the same there for a date and a number of days alone")
        days = writer.write(given, scope) if number is None else exp.Literal.number(number)
        return nodes.cast(nodes.binary(kind, writer.write(call.arguments[0], scope), nodes.cast(days, "INTEGER")), "DATE")

    return write


def _days_between(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    end, start = arguments_of(writer, call, scope, "date", "date")
    return nodes.cast(nodes.binary(exp.Sub, end, start), "INTEGER")


def _truncated(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``trunc(date, 'MM')``."""
    date, unit = call.arguments
    known = DATE_UNITS.get((constant_text(unit) or "").lower())
    if date.type != "date" or known is None:
        raise problem(call, "trunc means the same there for dates and constant units alone")
    return nodes.cast(nodes.function("DATE_TRUNC", [exp.Literal.string(known), writer.write(date, scope)]), "DATE")


def _truncated_moment(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``date_trunc('HOUR', moment)``."""
    unit, moment = call.arguments
    known = MOMENT_UNITS.get((constant_text(unit) or "").lower())
    if moment.type != "timestamp" or call.type != "timestamp" or known is None:
        raise problem(call, "date_trunc means the same there for moments and constant units alone")
    local = nodes.cast(nodes.function("DATE_TRUNC", [exp.Literal.string(known), _local(writer, moment, scope)]), "TIMESTAMP")
    return _in_zone(writer, call, local)


def _part_of_day(name: str) -> Writer:
    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        if len(call.arguments) != 1 or call.arguments[0].type not in MOMENTS:
            raise problem(call, f"{call.function} means the same there for moments alone")
        return nodes.cast(nodes.function(name, [_local(writer, call.arguments[0], scope)]), "INTEGER")

    return write


def _date(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``to_date`` of a moment."""
    if len(call.arguments) != 1 or call.arguments[0].type not in _TIMES:
        raise problem(call, "to_date means the same there for dates and moments alone")
    return writer.write(e.Cast(child=call.arguments[0], type="date"), scope)


def _seconds(*, downwards: bool) -> Writer:
    """Whole seconds since 1970: ``unix_seconds`` counts them downwards, ``unix_timestamp`` towards zero, whose format is of texts alone."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        if call.arguments[0].type != "timestamp":
            raise problem(call, f"{call.function} means the same there for moments alone")
        moment = nodes.function("TIMEZONE", [exp.Literal.string("UTC"), writer.write(call.arguments[0], scope)])
        second = nodes.function("DATE_TRUNC", [exp.Literal.string("second"), moment]) if downwards else moment
        return nodes.cast(nodes.function("DIVIDE", [nodes.function("EPOCH_US", [second]), exp.Literal.number(1_000_000)]), "BIGINT")

    return write


def _last_day(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    return nodes.function("LAST_DAY", arguments_of(writer, call, scope, "date"))


_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


def _next_day(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """The first date after one that is such a day of the week."""
    date, named = call.arguments
    known = [n for n, day in enumerate(_WEEKDAYS) if (constant_text(named) or "").upper() in (day, day[:3], day[:2])]
    if date.type != "date" or not known:
        raise problem(call, "next_day means the same there for a date and a constant day of the week alone")
    node = writer.write(date, scope)
    past = nodes.binary(exp.Sub, exp.Literal.number(known[0] + 14), nodes.function("ISODOW", [node.copy()]))
    days = nodes.binary(exp.Add, nodes.function("MOD", [past, exp.Literal.number(7)]), exp.Literal.number(1))
    return nodes.cast(nodes.binary(exp.Add, node, nodes.cast(days, "INTEGER")), "DATE")


def months_later(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """The same day of another month, or its last: ``add_months``, and a date with an interval.

    :raises PortabilityProblem: they are no constant number of months.
    """
    date, months = call.arguments
    number = constant_number(months) if call.function.lower() == "add_months" else constant_months(months)
    if date.type != "date" or number is None:
        raise problem(call, "months are added alike to a date, and a constant number of them, alone")
    number = -number if call.function == "-" else number
    moved = nodes.binary(exp.Add, writer.write(date, scope), nodes.function("TO_MONTHS", [exp.Literal.number(number)]))
    return nodes.cast(moved, "DATE")


def _name(name: str) -> Writer:
    """The first three letters of an English name."""
    return lambda writer, call, scope: nodes.function(
        "LEFT", [nodes.function(name, arguments_of(writer, call, scope, "date")), exp.Literal.number(3)]
    )


_OF_DATE = {"yyyy": "%Y", "MM": "%m", "dd": "%d"}
_OF_TIME = {"HH": "%H", "mm": "%M", "ss": "%S"}
_PARTS, _BETWEEN = re.compile(r"y+|M+|d+|H+|m+|s+|.", re.DOTALL), re.compile(r"[^a-zA-Z'\[\]{}#%]")


_WITH_ALL_DAYS = frozenset({"Africa", "America", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian"})


def _formatted(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``date_format(moment, 'yyyy-MM-dd HH:mm')``: digits alone, and what stands between them. Of the years 1000 to 9999: others have more
    letters."""
    moment, pattern = call.arguments
    date = moment.child if isinstance(moment, e.Cast) and moment.type in MOMENTS else moment
    parts = _PARTS.findall(constant_text(pattern) or "")
    if any(one in _OF_TIME for one in parts) or date.type != "date":
        date = moment  # whose time, where it is made of a date, need not be midnight: the clock may have been changed then
    known = _OF_DATE | (_OF_TIME if date.type in MOMENTS else {})
    if date.type not in _TIMES or not parts or not all(one in known or _BETWEEN.fullmatch(one) for one in parts):
        raise problem(call, "date_format means the same there for constant patterns of yyyy, MM, dd, HH, mm and ss alone")
    node = writer.write(date, scope) if date.type == "date" else _local(writer, date, scope)
    text = nodes.function("STRFTIME", [node, exp.Literal.string("".join(known.get(one, one) for one in parts))])
    if date is not moment and moment.type == "timestamp" and _may_leave_days_out(writer.zone):
        later = exp.GTE(this=node.copy(), expression=nodes.cast(exp.Literal.string("2012-01-01"), "DATE"))
        text = known_to_be(later, text, nodes.cast(node.copy(), "VARCHAR"), "a day that some zone left out: ")
    return _of_four_digits(text, node.copy())


def _may_leave_days_out(zone: str) -> bool:
    """Whether a zone may have left out a day, before 2012, of which Spark's midnight is the next one's: where the date line was moved."""
    region = zone.partition("/")[0]
    return fixed_offset(zone) is None and (region not in _WITH_ALL_DAYS or zone == "Asia/Manila")


def _of_four_digits(text: exp.Expr, date: exp.Expr) -> exp.Expr:
    """A text, where the date that it tells is of the years 1000 to 9999."""
    inside = exp.Between(this=nodes.function("YEAR", [date]), low=exp.Literal.number(1000), high=exp.Literal.number(9999))
    return known_to_be(inside, text, nodes.cast(date.copy(), "VARCHAR"), "a year of other than four digits: ")


TIME_FUNCTIONS: Mapping[str, Writer] = {
    "year": _part_of_date("YEAR"),
    "quarter": _part_of_date("QUARTER"),
    "month": _part_of_date("MONTH"),
    **dict.fromkeys(("day", "dayofmonth"), _part_of_date("DAY")),
    "dayofyear": _part_of_date("DAYOFYEAR"),
    "dayofweek": _part_of_date("DAYOFWEEK", 1),
    "weekofyear": _part_of_date("WEEKOFYEAR"),
    "date_add": _days(exp.Add),
    "date_sub": _days(exp.Sub),
    **dict.fromkeys(("datediff", "date_diff"), _days_between),
    "trunc": _truncated,
    "date_trunc": _truncated_moment,
    "to_date": _date,
    "last_day": _last_day,
    "next_day": _next_day,
    "add_months": months_later,
    "weekday": _part_of_date("ISODOW", -1),
    "dayname": _name("DAYNAME"),
    "monthname": _name("MONTHNAME"),
    "unix_seconds": _seconds(downwards=True),
    **dict.fromkeys(("unix_timestamp", "to_unix_timestamp"), _seconds(downwards=False)),
    "hour": _part_of_day("HOUR"),
    "minute": _part_of_day("MINUTE"),
    "second": _part_of_day("SECOND"),
    "date_format": _formatted,
}
