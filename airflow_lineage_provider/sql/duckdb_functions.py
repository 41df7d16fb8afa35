"""Functions that give in DuckDB what they give in Spark: what people group and join by in files, so that no Spark is needed to trace it.

Where they agree on some values alone the query fails over the others, and Spark is asked in its place (`deriving.engines`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.problems import PortabilityProblem
from airflow_lineage_provider.sql.types import INTEGER_DIGITS, portable

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

Writer = Callable[["PortableWriter", e.Call, Scope], exp.Expr]

_ORDERED_ALIKE = frozenset({*INTEGER_DIGITS, "string", "date", "timestamp", "timestamp_ntz"})
_BINARY: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


def _problem(call: e.Call, why: str) -> PortabilityProblem:
    return PortabilityProblem(expression_text(call), why)


def _arguments(writer: PortableWriter, call: e.Call, scope: Scope, *kinds: str) -> list[exp.Expr]:
    """The arguments, of these types."""
    if [one.type for one in call.arguments] != list(kinds):
        raise _problem(call, f"{call.function} means the same there for arguments of type {', '.join(kinds)} alone")
    return [writer.write(one, scope) for one in call.arguments]


def _text_function(name: str, arguments: int = 1) -> Writer:
    """One that looks at the code points of texts."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        return nodes.function(name, _arguments(writer, call, scope, *["string"] * arguments))

    return write


def _as_int(written: Writer) -> Writer:
    """A count of 64 bits there, of 32 in Spark."""
    return lambda writer, call, scope: nodes.cast(written(writer, call, scope), "INTEGER")


def _changed_case(name: str) -> Writer:
    """Of ASCII texts: of other letters Spark knows other capitals (ß is SS)."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        (text,) = _arguments(writer, call, scope, "string")
        is_ascii = nodes.binary(exp.EQ, nodes.function("STRLEN", [text]), nodes.function("LENGTH", [text.copy()]))
        return _known_to_be(is_ascii, nodes.function(name, [text.copy()]), text, "not in ASCII: ")

    return write


def _known_to_be(condition: exp.Expr, value: exp.Expr, of: exp.Expr, told: str) -> exp.Expr:
    """A text that is the same on this condition, or where it is made of NULL; else the query fails, and says for what value."""
    refused = nodes.function("ERROR", [nodes.binary(exp.DPipe, exp.Literal.string(told), of.copy())])
    known = exp.Or(this=exp.Paren(this=condition), expression=nodes.is_null(of.copy()))
    return nodes.case([known, value, nodes.cast(refused, "VARCHAR")])


def _trimmed(name: str) -> Writer:
    """Of blanks alone."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        return nodes.function(name, [*_arguments(writer, call, scope, "string"), exp.Literal.string(" ")])

    return write


def _substring(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """From a place that is counted from the left, beginning with 1."""
    text, *places = call.arguments
    numbers = [int(one.value) for one in places if isinstance(one, e.Literal) and one.type == "int" and one.value is not None]
    if text.type != "string" or len(numbers) != len(places) or not numbers or numbers[0] < 1 or min(numbers) < 0:
        raise _problem(call, "a part of a text means the same there from a constant place, counted from 1, alone")
    return nodes.function("SUBSTRING", [writer.write(text, scope), *(exp.Literal.number(one) for one in numbers)])


def _concat(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """NULL where any is."""
    if not call.arguments or any(one.type != "string" for one in call.arguments):
        raise _problem(call, "concat means the same there for texts alone")
    first, *rest = (writer.write(one, scope) for one in call.arguments)
    for one in rest:
        first = nodes.binary(exp.DPipe, first, one)
    return first


def _extreme(name: str) -> Writer:
    """The greatest or the least, NULL where all are."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        kind = portable(call.type, expression_text(call)).name
        if kind not in _ORDERED_ALIKE or any(one.type != call.type for one in call.arguments):
            raise _problem(call, f"{call.function} means the same there for values of one type that is ordered alike")
        return nodes.function(name, [writer.write(one, scope) for one in call.arguments])

    return write


def _part_of_date(name: str, more: int = 0) -> Writer:
    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        found = nodes.cast(nodes.function(name, _arguments(writer, call, scope, "date")), "INTEGER")
        return nodes.binary(exp.Add, found, exp.Literal.number(more)) if more else found

    return write


def _days(kind: type[exp.Binary]) -> Writer:
    """Days later or earlier: an error where there is no such date."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        if call.arguments[0].type != "date" or call.arguments[1].type not in ("int", "smallint", "tinyint"):
            raise _problem(call, f"{call.function} means the same there for a date and a number of days alone")
        date, days = (writer.write(one, scope) for one in call.arguments)
        return nodes.cast(nodes.binary(kind, date, nodes.cast(days, "INTEGER")), "DATE")

    return write


def _days_between(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    end, start = _arguments(writer, call, scope, "date", "date")
    return nodes.cast(nodes.binary(exp.Sub, end, start), "INTEGER")


_TRUNCATED = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
}


def _truncated(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``trunc(date, 'MM')``."""
    date, unit = call.arguments
    known = _TRUNCATED.get((unit.value or "").lower()) if isinstance(unit, e.Literal) and unit.type == "string" else None
    if date.type != "date" or known is None:
        raise _problem(call, "trunc means the same there for dates and constant units alone")
    return nodes.cast(nodes.function("DATE_TRUNC", [exp.Literal.string(known), writer.write(date, scope)]), "DATE")


_LETTERS = {"yyyy": "%Y", "MM": "%m", "dd": "%d"}
_PARTS, _BETWEEN = re.compile(r"y+|M+|d+|.", re.DOTALL), re.compile(r"[^a-zA-Z'\[\]{}#%]")


def _formatted(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``date_format(date, 'yyyy-MM')``: digits alone, and what stands between them. Of the years 1000 to 9999: others have more letters."""
    date, pattern = call.arguments
    date = date.child if isinstance(date, e.Cast) and date.type in ("timestamp", "timestamp_ntz") else date
    constant = pattern.value if isinstance(pattern, e.Literal) and pattern.type == "string" else None
    parts = _PARTS.findall(constant or "")
    if getattr(date, "type", "") != "date" or not parts or not all(one in _LETTERS or _BETWEEN.fullmatch(one) for one in parts):
        raise _problem(call, "date_format means the same there for dates and constant patterns of yyyy, MM and dd alone")
    text = "".join(_LETTERS.get(one, one) for one in parts)
    node = writer.write(date, scope)
    year = nodes.function("YEAR", [node])
    inside = exp.Between(this=year, low=exp.Literal.number(1000), high=exp.Literal.number(9999))
    formatted = nodes.function("STRFTIME", [node.copy(), exp.Literal.string(text)])
    return _known_to_be(inside, formatted, nodes.cast(node.copy(), "VARCHAR"), "a year of other than four digits: ")


def _absolute(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Of the least integer Spark fails, or gives it back."""
    kind = portable(call.type, expression_text(call)).name
    if (
        call.arguments[0].type != call.type
        or (kind in INTEGER_DIGITS and not writer.ansi)
        or kind not in {*INTEGER_DIGITS, "double", "decimal"}
    ):
        raise _problem(call, "abs means the same there for numbers, under spark.sql.ansi.enabled")
    return nodes.function("ABS", [writer.write(call.arguments[0], scope)])


def _is_nan(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """False for NULL."""
    (number,) = _arguments(writer, call, scope, "double")
    return nodes.function("COALESCE", [nodes.function("ISNAN", [number]), exp.false()])


def _arithmetic(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Doubles are computed alike, to the last bit: IEEE 754."""
    if call.type != "double" or len(call.arguments) != 2:
        return writer.arithmetic(call, scope)
    return nodes.binary(_BINARY[call.function], *_arguments(writer, call, scope, "double", "double"))


def _negative(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    if call.type != "double":
        return writer.negative(call, scope)
    return exp.Neg(this=exp.Paren(this=_arguments(writer, call, scope, "double")[0]))


def _quotient(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """By zero Spark fails, or gives NULL."""
    left, right = _arguments(writer, call, scope, "double", "double")
    divisor = call.arguments[1].child if isinstance(call.arguments[1], e.Cast) else call.arguments[1]
    if not isinstance(divisor, e.Literal) or divisor.value is None or not abs(float(divisor.value)) > 0:
        raise _problem(call, "a quotient means the same there for a constant divisor that is not zero alone")
    return nodes.binary(exp.Div, left, right)


DUCKDB_FUNCTIONS: Mapping[str, Writer] = {
    "upper": _changed_case("UPPER"),
    "ucase": _changed_case("UPPER"),
    "lower": _changed_case("LOWER"),
    "lcase": _changed_case("LOWER"),
    **dict.fromkeys(("length", "char_length", "character_length", "len"), _as_int(_text_function("LENGTH"))),
    "octet_length": _as_int(_text_function("STRLEN")),
    "trim": _trimmed("TRIM"),
    "ltrim": _trimmed("LTRIM"),
    "rtrim": _trimmed("RTRIM"),
    "substring": _substring,
    "substr": _substring,
    "concat": _concat,
    "||": _concat,
    "contains": _text_function("CONTAINS", 2),
    "startswith": _text_function("STARTS_WITH", 2),
    "endswith": _text_function("ENDS_WITH", 2),
    "greatest": _extreme("GREATEST"),
    "least": _extreme("LEAST"),
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
    "date_format": _formatted,
    "abs": _absolute,
    "isnan": _is_nan,
    **dict.fromkeys(_BINARY, _arithmetic),
    "negative": _negative,
    "/": _quotient,
}
