"""Expressions of DuckDB's SQL over one row that a server computes for anybody: plain ones, whose values take about as much room as the text
and the row. Another function (``range``, ``repeat``) could take all of the server's memory before anything ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sql.asked_sql import UnbalancedSql, balanced

if TYPE_CHECKING:
    from sqlglot import exp

# Names of sqlglot's classes.
_OPERATORS = frozenset({
    "Column", "Identifier", "Literal", "Boolean", "Null", "Paren", "Var", "DataType", "DataTypeParam", "Interval", "Slice", "Bracket",
    "Add", "Sub", "Mul", "Div", "IntDiv", "Mod", "Neg", "DPipe", "BitwiseAnd", "BitwiseOr", "BitwiseNot", "And", "Or", "Not", "EQ", "NEQ",
    "GT", "GTE", "LT", "LTE", "Is", "NullSafeEQ", "NullSafeNEQ", "Between", "In", "Like", "ILike", "Case", "If", "Cast", "TryCast",
})  # fmt: skip
_FUNCTIONS = frozenset({
    "Abs", "Ceil", "Floor", "Round", "Sign", "Sqrt", "Ln", "Log", "Trunc", "IsNan", "Least", "Greatest", "Coalesce", "Nullif", "Lower",
    "Upper", "Trim", "Length", "Left", "Right", "Substring", "SplitPart", "StartsWith", "Contains", "Concat", "Year", "Quarter", "Month",
    "Week", "Day", "Dayname", "Monthname", "DayOfWeek", "DayOfWeekIso", "DayOfMonth", "DayOfYear", "Hour", "Minute", "Second", "Extract",
    "TimestampTrunc", "DateTrunc", "DateDiff", "TimeToStr", "TimeToUnix",
})  # fmt: skip
_BY_NAME = frozenset({"date_part"})
"""Functions that sqlglot has no class for."""
FUNCTIONS = (
    "abs, ceil, floor, round, trunc, sign, sqrt, ln, log10, isnan, least, greatest, coalesce, nullif, lower, upper, trim, length, left, "
    "right, substring, split_part, starts_with, contains, concat, year, quarter, month, week, day, hour, minute, second, dayofweek, "
    "isodow, dayname, monthname, extract, date_part, date_trunc, date_diff, strftime, epoch"
)
"""Of which a person is told."""


MOST_BRACKETS = 50
"""Counted before the text is parsed, which many nested ones make slow."""
MOST_JOINED = 32
"""Parts that ``||`` and ``concat`` may put together: a value is at most so many times as long as the longest of them."""


class NotPlain(ValueError):
    """The expression is none over one row, or has more than plain operators and functions."""


def columns_of(text: str) -> set[str]:
    """The names of the columns of a plain expression, in lower case, and of fields that it takes of them.

    >>> sorted(columns_of("year(day) * 100 + CAST(date AS int)")), columns_of("place.lat") == {"place", "lat"}
    (['date', 'day'], True)

    :raises NotPlain: it is more than that; says what.
    """
    from sqlglot import exp

    tree = _parsed(text)
    for node in tree.walk():
        if not _is_plain(node):
            what = f"{node.name}()" if isinstance(node, exp.Anonymous) else node.key
            raise NotPlain(f"{what} is not for expressions here, which have operators, CASE, CAST and {FUNCTIONS}")
    if (joined := sum(map(_joined, tree.walk()))) > MOST_JOINED:
        raise NotPlain(f"|| and concat put {joined} parts together, more than the {MOST_JOINED} of an expression here")
    return {part.name.lower() for column in tree.find_all(exp.Column) for part in column.parts}


def _joined(node: exp.Expr) -> int:
    """How many parts a node puts together; of a chain of ``||`` each of the signs tells of one."""
    from sqlglot import exp

    if isinstance(node, exp.Concat):
        return len(node.expressions)
    return 1 if isinstance(node, exp.DPipe) else 0


def _brackets(text: str) -> int:
    try:
        return sum(token.text in ("(", "[", "{") for token in balanced(text))
    except (UnbalancedSql, ValueError) as problem:
        raise NotPlain(f"it cannot be read: {first_line(problem)}") from problem


def _parsed(text: str) -> exp.Expr:
    from sqlglot import parse_one
    from sqlglot.errors import SqlglotError

    if (brackets := _brackets(text)) > MOST_BRACKETS:
        raise NotPlain(f"it has {brackets} brackets, more than the {MOST_BRACKETS} of an expression here")
    try:
        (found,) = parse_one(f"SELECT ({text}\n)", dialect="duckdb").expressions
    except (SqlglotError, ValueError, RecursionError) as problem:
        raise NotPlain(f"it cannot be read: {first_line(problem)}") from problem
    made: exp.Expr = found
    return made


def _is_plain(node: exp.Expr) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _BY_NAME
    if isinstance(node, exp.In) and (node.args.get("query") or node.args.get("unnest") or node.args.get("field")):
        return False
    if isinstance(node, exp.DataType) and node.args.get("nested"):
        return False
    return type(node).__name__ in _OPERATORS | _FUNCTIONS
