"""Spark's DDL for data types (``decimal(10,2)``, ``array<struct<a:int>>`` …) as Arrow types, without PySpark.

The Arrow types are the ones Spark itself exchanges with Python: ``timestamp`` is ``timestamp[us, tz=UTC]``,
``timestamp_ntz`` is ``timestamp[us]``, ``interval day to second`` is ``duration[us]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from airflow_lineage_provider.errors import UdfDeclarationError

_SIMPLE: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_DECIMAL = frozenset({"decimal", "dec", "numeric"})
_TEXT_WITH_LENGTH = frozenset({"char", "character", "varchar"})
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^'\\]|\\.)*')|([^\W\d]\w*)|(-?\d+)|([<>(),:]))")


def arrow_type(ddl: str) -> pa.DataType:
    """The Arrow type of a Spark DDL data type.

    Raises:
        UdfDeclarationError: the text is not a data type that Spark can exchange with Python through Arrow.
    """
    parser = _Parser(_tokens(ddl), ddl)
    if parser.looks_like_columns():
        return parser.fields(closing="")
    found = parser.data_type()
    parser.expect("")
    return found


def _tokens(ddl: str) -> tuple[str, ...]:
    found, at = [], 0
    text = ddl.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UdfDeclarationError(f"cannot read the Spark type {ddl!r} at {text[at:]!r}; write it as in DDL, such as 'decimal(10,2)'")
        found.append(match.group(0).strip())
        at = match.end()
    return tuple(found)


@dataclass(slots=True)
class _Parser:
    tokens: tuple[str, ...]
    ddl: str
    at: int = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek().lower() != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if self.peek().lower() != token:
            raise self.error(f"expected {token or 'the end'!r}, found {self.peek() or 'the end'!r}")
        self.at += 1

    def error(self, what: str) -> UdfDeclarationError:
        return UdfDeclarationError(f"cannot read the Spark type {self.ddl!r}: {what}. A DDL type is 'string', 'double', 'array<int>'")

    def looks_like_columns(self) -> bool:
        """``a int, b string`` (or ``a: int, …``) is Spark's short form of a struct."""
        first, second = self.peek(), self.peek(1)
        return bool(first) and second not in ("", "<", "(", ">", ")", ",") and first.lower() != "interval"

    def data_type(self) -> pa.DataType:
        name = self.take().lower()
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in _DECIMAL:
            precision, scale = self.numbers((10, 0))
            return self.decimal(precision, scale)
        if name in _TEXT_WITH_LENGTH:
            self.numbers((0, 0))
            return pa.string()
        if name == "interval":
            return self.interval()
        return self.nested(name)

    def decimal(self, precision: int, scale: int) -> pa.DataType:
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise self.error(f"decimal({precision},{scale}) is outside Spark's range (precision 1 to 38, scale 0 to precision)")
        return pa.decimal128(precision, scale)

    def numbers(self, default: tuple[int, int]) -> tuple[int, int]:
        if not self.accept("("):
            return default
        first, second = self.number(), 0
        if self.accept(","):
            second = self.number()
        self.expect(")")
        return first, second

    def number(self) -> int:
        token = self.take()
        if not token.lstrip("-").isdigit():
            raise self.error(f"expected a number, found {token!r}")
        return int(token)

    def interval(self) -> pa.DataType:
        units = [self.take().lower()]
        if self.accept("to"):
            units.append(self.take().lower())
        if set(units) <= {"day", "hour", "minute", "second"}:
            return pa.duration("us")
        raise self.error("only day-time intervals can be exchanged with Python")

    def nested(self, name: str) -> pa.DataType:
        if name not in ("array", "map", "struct"):
            raise self.error(f"unknown type {name!r}")
        self.expect("<")
        if name == "struct":
            return self.fields(closing=">")
        inner = self.data_type()
        if name == "map":
            self.expect(",")
            inner = pa.map_(inner, self.data_type())
        self.expect(">")
        return inner if name == "map" else pa.list_(inner)

    def fields(self, closing: str) -> pa.DataType:
        found: list[pa.Field] = []
        while not self.accept(closing):
            if found:
                self.expect(",")
            found.append(self.field())
        return pa.struct(found)

    def field(self) -> pa.Field:
        name = self.take()
        if not name or name in "<>(),:":
            raise self.error(f"expected a field name, found {name or 'the end'!r}")
        self.accept(":")
        kind = self.data_type()
        nullable = not self.accept("not")
        if not nullable:
            self.expect("null")
        if self.accept("comment"):
            self.take()
        return pa.field(name[1:-1].replace("``", "`") if name.startswith("`") else name, kind, nullable=nullable)
