"""Functions of texts that give in DuckDB what they give in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from airflow_lineage_provider.plan import expressions as e
from airflow_lineage_provider.sql import nodes
from airflow_lineage_provider.sql.duckdb_writing import Writer, arguments_of, constant_number, constant_text, of_ascii, problem
from airflow_lineage_provider.sql.nodes import Scope

if TYPE_CHECKING:
    from airflow_lineage_provider.sql.portable_expressions import PortableWriter


def _text_function(name: str, arguments: int = 1) -> Writer:
    """One that looks at the code points of texts."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        return nodes.function(name, arguments_of(writer, call, scope, *["string"] * arguments))

    return write


def _as_int(written: Writer) -> Writer:
    """A count of 64 bits there, of 32 in Spark."""
    return lambda writer, call, scope: nodes.cast(written(writer, call, scope), "INTEGER")


def _changed_case(name: str) -> Writer:
    """Of ASCII texts: of other letters Spark knows other capitals (ß is SS)."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        (text,) = arguments_of(writer, call, scope, "string")
        return of_ascii(text, nodes.function(name, [text.copy()]))

    return write


def _trimmed(name: str) -> Writer:
    """Of blanks alone."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        return nodes.function(name, [*arguments_of(writer, call, scope, "string"), exp.Literal.string(" ")])

    return write


def _substring(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """From a place that is counted from the left, beginning with 1."""
    text, *places = call.arguments
    numbers = [int(one.value) for one in places if isinstance(one, e.Literal) and one.type == "int" and one.value is not None]
    if text.type != "string" or len(numbers) != len(places) or not numbers or numbers[0] < 1 or min(numbers) < 0:
        raise problem(call, "a part of a text means the same there from a constant place, counted from 1, alone")
    return nodes.function("SUBSTRING", [writer.write(text, scope), *(exp.Literal.number(one) for one in numbers)])


def _concat(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """NULL where any is."""
    if not call.arguments or any(one.type != "string" for one in call.arguments):
        raise problem(call, "concat means the same there for texts alone")
    first, *rest = (writer.write(one, scope) for one in call.arguments)
    for one in rest:
        first = nodes.binary(exp.DPipe, first, one)
    return first


def _end(name: str) -> Writer:
    """``left`` and ``right``: so many letters, or fewer where there are no more."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        text, many = call.arguments
        number = constant_number(many)
        if text.type != "string" or number is None or number < 0:
            raise problem(call, f"{call.function} means the same there for a text and a constant number of letters alone")
        return nodes.function(name, [writer.write(text, scope), exp.Literal.number(number)])

    return write


def _padded(name: str) -> Writer:
    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        text, many, *rest = call.arguments
        number, pad = constant_number(many), constant_text(rest[0]) if rest else " "
        if text.type != "string" or number is None or not 0 <= number <= _LONGEST or not pad:
            raise problem(call, f"{call.function} means the same there for a text, a constant length and a constant filling alone")
        return nodes.function(name, [writer.write(text, scope), exp.Literal.number(number), exp.Literal.string(pad)])

    return write


_LONGEST = 10_000


def _replaced(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    text, search, *rest = call.arguments
    if any(one.type != "string" for one in call.arguments) or not constant_text(search):
        raise problem(call, "replace means the same there for texts and a constant that is not empty alone")
    by = writer.write(rest[0], scope) if rest else exp.Literal.string("")
    return nodes.function("REPLACE", [writer.write(text, scope), writer.write(search, scope), by])


def _place(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``instr``, counted from 1; 0 where it is not there."""
    text, search = arguments_of(writer, call, scope, "string", "string")
    if not constant_text(call.arguments[1]):
        raise problem(call, "instr means the same there for a constant that is not empty alone")
    return nodes.cast(nodes.function("INSTR", [text, search]), "INTEGER")


def _part(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    """``substring_index`` before the first mark, or, where that is one letter, behind the last."""
    text, mark, count = call.arguments
    known, number = constant_text(mark), constant_number(count)
    if text.type != "string" or not known or not (number == 1 or (number == -1 and len(known) == 1)):
        raise problem(call, "substring_index means the same there for the first part, or the last behind one letter, alone")
    return nodes.function("SPLIT_PART", [writer.write(text, scope), writer.write(mark, scope), exp.Literal.number(number)])


def _bits(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
    (text,) = arguments_of(writer, call, scope, "string")
    return nodes.cast(nodes.binary(exp.Mul, nodes.function("STRLEN", [text]), exp.Literal.number(8)), "INTEGER")


def _hashed(name: str, bits: tuple[int, ...] = ()) -> Writer:
    """Of the bytes of a text, as small hexadecimal digits."""

    def write(writer: PortableWriter, call: e.Call, scope: Scope) -> exp.Expr:
        value, *rest = call.arguments
        of_text = isinstance(value, e.Cast) and value.type == "binary" and value.child.type == "string"
        if not isinstance(value, e.Cast) or not of_text or [constant_number(one) in bits for one in rest] != [True] * bool(bits):
            raise problem(call, f"{call.function} means the same there for texts{' and 256 bits' if bits else ''} alone")
        return nodes.function(name, [writer.write(value.child, scope)])

    return write


TEXT_FUNCTIONS: Mapping[str, Writer] = {
    "upper": _changed_case("UPPER"),
    "ucase": _changed_case("UPPER"),
    "lower": _changed_case("LOWER"),
    "lcase": _changed_case("LOWER"),
    **dict.fromkeys(("length", "char_length", "character_length", "len"), _as_int(_text_function("LENGTH"))),
    "octet_length": _as_int(_text_function("STRLEN")),
    "bit_length": _bits,
    "trim": _trimmed("TRIM"),
    "ltrim": _trimmed("LTRIM"),
    "rtrim": _trimmed("RTRIM"),
    "lpad": _padded("LPAD"),
    "rpad": _padded("RPAD"),
    "left": _end("LEFT"),
    "right": _end("RIGHT"),
    "substring": _substring,
    "substr": _substring,
    "substring_index": _part,
    "replace": _replaced,
    "instr": _place,
    "concat": _concat,
    "||": _concat,
    "contains": _text_function("CONTAINS", 2),
    "startswith": _text_function("STARTS_WITH", 2),
    "endswith": _text_function("ENDS_WITH", 2),
    "md5": _hashed("MD5"),
    "sha2": _hashed("SHA256", (0, 256)),
}
