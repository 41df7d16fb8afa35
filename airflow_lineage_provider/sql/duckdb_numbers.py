"""Functions of numbers that give in DuckDB what they give in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_writing import Writer, arguments_of, known_to_be, problem
from airflow_lineage_provider.sql.nodes import Scope
from airflow_lineage_provider.sql.types import INTEGER_DIGITS, portable

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter

_BINARY: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_LARGE = 2**62
_EXACT = 2**53
_EXPONENTS = frozenset({1, 2, 3, 4})
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


def is_cut(cast: e.Cast) -> bool:
    """Whether it makes a whole number of a floating one."""
    return cast.child.type in ("float", "double") and cast.type in _WHOLE


def cut(writer: PortableWriter, cast: e.Cast, scope: Scope) -> exp.Expr:
    """A cast of a floating number to a whole one: towards zero, and an error where it does not fit.

    :raises PortabilityProblem: without ANSI, or of TRY_CAST.
    """
    if cast.safe or not writer.ansi:
        raise problem(cast, "such a cast fails alike under spark.sql.ansi.enabled alone")
    return nodes.cast(nodes.function("TRUNC", [writer.write(cast.child, scope)]), writer.type_name(cast.type, expression_text(cast)))


def _rounded(name: str) -> Writer:
    """``floor`` and ``ceil``: a number of 64 bits, which has the largest value where it would be too large."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        if len(call.arguments) != 1 or call.type != "bigint" or call.arguments[0].type not in ("double", "bigint"):
            raise problem(call, f"{call.function} means the same there for doubles and whole numbers alone")
        number = writer.write(call.arguments[0], scope)
        if call.arguments[0].type == "bigint":
            return number
        small = nodes.binary(exp.LT, nodes.function("ABS", [number]), exp.Literal.number(_LARGE))
        rounded = nodes.cast(nodes.function(name, [number.copy()]), "BIGINT")
        return known_to_be(small, rounded, nodes.cast(number.copy(), "VARCHAR"), "a large number: ", "BIGINT")

    return write


def _positive_remainder(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``pmod`` by a positive constant."""
    remainder = writer.write(e.Call(function="%", arguments=call.arguments, type=call.type), scope)
    divisor = writer.write(call.arguments[1], scope)
    negative = nodes.binary(exp.LT, remainder, exp.Literal.number(0))
    return nodes.case([negative, nodes.binary(exp.Add, remainder.copy(), divisor), remainder.copy()])


def _root(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """To the last bit, as IEEE 754 has it; of a negative number it is NaN in Spark, and an error there."""
    return nodes.function("SQRT", arguments_of(writer, call, scope, "double"))


def _absolute(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Of the least integer Spark fails, or gives it back."""
    kind = portable(call.type, expression_text(call)).name
    if (
        call.arguments[0].type != call.type
        or (kind in INTEGER_DIGITS and not writer.ansi)
        or kind not in {*INTEGER_DIGITS, "double", "decimal"}
    ):
        raise problem(call, "abs means the same there for numbers, under spark.sql.ansi.enabled")
    return nodes.function("ABS", [writer.write(call.arguments[0], scope)])


def _is_nan(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """False for NULL."""
    (number,) = arguments_of(writer, call, scope, "double")
    return nodes.function("COALESCE", [nodes.function("ISNAN", [number]), exp.false()])


def _arithmetic(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Doubles are computed alike, to the last bit: IEEE 754."""
    if call.type != "double" or len(call.arguments) != 2:
        return writer.arithmetic(call, scope)
    return nodes.binary(_BINARY[call.function], *arguments_of(writer, call, scope, "double", "double"))


def _negative(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    if call.type != "double":
        return writer.negative(call, scope)
    return exp.Neg(this=exp.Paren(this=arguments_of(writer, call, scope, "double")[0]))


def _quotient(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """By zero Spark fails, or gives NULL."""
    left, right = arguments_of(writer, call, scope, "double", "double")
    divisor = call.arguments[1].child if isinstance(call.arguments[1], e.Cast) else call.arguments[1]
    if not isinstance(divisor, e.Literal) or divisor.value is None or not abs(float(divisor.value)) > 0:
        raise problem(call, "a quotient means the same there for a constant divisor that is not zero alone")
    return nodes.binary(exp.Div, left, right)


def _power(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """Of a whole number to a small whole one, as a product without a rounding: such a power Java's ``StrictMath.pow`` has exactly."""
    number, exponent = call.arguments
    given = exponent.child if isinstance(exponent, e.Cast) else exponent
    times = float(given.value) if isinstance(given, e.Literal) and given.value is not None else 0
    if number.type != "double" or times not in _EXPONENTS:
        raise problem(call, "a power means the same there to 1, 2, 3 or 4 alone")
    base = writer.write(number, scope)
    product = base
    for _ in range(int(times) - 1):
        product = nodes.binary(exp.Mul, product, base.copy())
    is_whole = nodes.binary(exp.EQ, nodes.function("TRUNC", [base.copy()]), base.copy())
    small = nodes.binary(exp.LTE, nodes.function("ABS", [product.copy()]), exp.Literal.number(_EXACT))
    return known_to_be(
        exp.And(this=is_whole, expression=small), product, nodes.cast(base.copy(), "VARCHAR"), "no small whole number: ", "DOUBLE"
    )


def _sign(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """1 or -1; of zeros and NaN themselves."""
    (number,) = arguments_of(writer, call, scope, "double")
    zero, one = (nodes.cast(exp.Literal.number(n), "DOUBLE") for n in (0, 1))
    itself = [nodes.is_null(number), nodes.function("ISNAN", [number.copy()]), nodes.binary(exp.EQ, number.copy(), zero)]
    positive = nodes.binary(exp.GT, number.copy(), zero.copy())
    return nodes.case([nodes.connected(exp.Or, itself), number.copy(), positive, one, exp.Neg(this=one.copy())])


NUMBER_FUNCTIONS: Mapping[str, Writer] = {
    "abs": _absolute,
    "isnan": _is_nan,
    **dict.fromkeys(_BINARY, _arithmetic),
    "negative": _negative,
    "/": _quotient,
    "floor": _rounded("FLOOR"),
    **dict.fromkeys(("ceil", "ceiling"), _rounded("CEIL")),
    "pmod": _positive_remainder,
    "sqrt": _root,
    **dict.fromkeys(("pow", "power"), _power),
    **dict.fromkeys(("sign", "signum"), _sign),
}
