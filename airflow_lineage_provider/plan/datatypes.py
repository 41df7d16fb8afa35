"""Spark's types: DDL text (``"array<decimal(10,2)>"``) to a tree, and the tree to the exact pyarrow type that Spark's own Arrow path gives.

Accepted are ``simpleString``, ``catalogString`` and ``sql`` forms: ``struct<a:int,`b c`:string>`` as well as ``STRUCT<a INT NOT NULL>``.
pyarrow cannot make Arrow's year-month interval, so a year-month interval is an ``int32`` number of months here; an interval of no fixed
length (``interval``, by `make_interval`), which Spark hands over to nobody, is the text that Spark writes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from airflow_lineage_provider.errors import PlanError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScalarType:
    """A type without inner types; ``name`` is Spark's short one (``"int"``), ``parameters`` its numbers: ``(10, 2)`` for a decimal."""

    name: str
    parameters: tuple[int, ...] = ()


@dataclass(frozen=True)
class ArrayType:
    """``array<element>``."""

    element: DataType


@dataclass(frozen=True)
class MapType:
    """``map<key,value>``."""

    key: DataType
    value: DataType


@dataclass(frozen=True)
class StructField:
    """One field of a struct."""

    name: str
    type: DataType
    nullable: bool = True


@dataclass(frozen=True)
class StructType:
    """``struct<name:type,…>``; names may repeat."""

    fields: tuple[StructField, ...]


DataType: TypeAlias = ScalarType | ArrayType | MapType | StructType

_SYNONYMS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "timestamp_ltz": "timestamp",
    "null": "void",
    "char": "string",
    "character": "string",
    "varchar": "string",
}
_PLAIN = {
    *("void", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"),
    *("date", "timestamp", "timestamp_ntz", "variant"),
}
_KNOWN = 1_000
"""So many types are kept as they were read: a question asks for those of its columns dozens of times."""
_DAY_TIME = {"day", "hour", "minute", "second"}
_YEAR_MONTH = {"year", "month"}
_WORD = re.compile(r"\s*([^\W\d]\w*)")
_NUMBERS = re.compile(r"\s*\(\s*((?:any|\d+)(?:\s*,\s*\d+)*)\s*\)", re.IGNORECASE)
_INTERVAL = re.compile(r"\s+(year|month|day|hour|minute|second)\b(?:\s+to\s+(year|month|day|hour|minute|second)\b)?", re.IGNORECASE)
_COLLATION = re.compile(r"\s+collate\s+[\w.`]+", re.IGNORECASE)
_OTHER_COLLATION = re.compile(r"\bcollate\s+(?!`?utf8_binary\b)", re.IGNORECASE)
_NOT_NULL = re.compile(r"\s+not\s+null\b", re.IGNORECASE)
_COMMENT = re.compile(r"\s+comment\s+'((?:[^'\\]|\\.)*)'", re.IGNORECASE)


@lru_cache(_KNOWN)
def parse_type(text: str) -> DataType:
    """The type that a Spark DDL type text says.

    :raises PlanError: the text is not a type of Spark's, or one that has no Arrow form; the message has the place.
    """
    parser = _Parser(text)
    found = parser.type()
    if text[parser.at :].strip():
        raise parser.error("the end")
    return found


def is_collated(text: str) -> bool:
    """Whether values of a type have texts in them of which different ones may be equal: by another collation than UTF8_BINARY.

    >>> is_collated("string"), is_collated("string collate UTF8_BINARY"), is_collated("array<string collate UTF8_LCASE>")
    (False, False, True)
    """
    return _OTHER_COLLATION.search(text) is not None


def fields_within(text: str) -> tuple[str, ...]:
    """The names of all fields of structs within a type; every word of it where this release does not know the type."""
    if "<" not in text:
        return ()
    try:
        return tuple(dict.fromkeys(_fields(parse_type(text))))
    except PlanError:
        return tuple(dict.fromkeys(re.findall(r"\w+", text)))


def _fields(kind: DataType) -> Iterator[str]:
    match kind:
        case ArrayType(element=inner):
            yield from _fields(inner)
        case MapType(key=key, value=value):
            yield from (*_fields(key), *_fields(value))
        case StructType(fields=fields):
            for one in fields:
                yield one.name
                yield from _fields(one.type)


class _Parser:
    """Recursive descent over a type text; ``at`` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, expected: str) -> PlanError:
        return PlanError(f"not a Spark type: {self.text!r}: expected {expected} at character {self.at + 1}")

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def symbol(self, symbol: str) -> bool:
        rest = self.text[self.at :].lstrip()
        if not rest.startswith(symbol):
            return False
        self.at = len(self.text) - len(rest) + len(symbol)
        return True

    def expect(self, symbol: str) -> None:
        if not self.symbol(symbol):
            raise self.error(f"{symbol!r}")

    def type(self) -> DataType:
        start = self.at
        word = self.take(_WORD)
        if word is None:
            raise self.error("a type name")
        name = word[1].lower()
        name = _SYNONYMS.get(name, name)
        if name in ("array", "map", "struct"):
            return self.container(name)
        if name == "interval":
            return self.interval()
        if name == "string":
            self.take(_NUMBERS)
            self.take(_COLLATION)
            return ScalarType("string")
        if name in ("decimal", "time", "geometry", "geography"):
            return self.parametric(name)
        if name in _PLAIN:
            return ScalarType(name)
        self.at = start
        raise self.error("a type name (user-defined and object types have no stored form)")

    def container(self, name: str) -> DataType:
        self.expect("<")
        if name == "struct":
            return StructType(self.fields())
        first = self.type()
        if name == "array":
            self.expect(">")
            return ArrayType(first)
        self.expect(",")
        second = self.type()
        self.expect(">")
        return MapType(first, second)

    def interval(self) -> DataType:
        units = self.take(_INTERVAL)
        if units is None:
            return ScalarType("interval")
        return ScalarType("interval year to month" if units[1].lower() in _YEAR_MONTH else "interval day to second")

    def parametric(self, name: str) -> DataType:
        found = self.take(_NUMBERS)
        words = [word.strip() for word in found[1].split(",")] if found else []
        if name == "decimal":
            numbers = (*(int(word) for word in words), *((10, 0)[len(words) :]))
            if len(numbers) != 2 or not 1 <= numbers[0] <= 38 or not 0 <= numbers[1] <= numbers[0]:
                raise self.error("a decimal with a precision of 1 to 38 and a scale of at most the precision before the end")
            return ScalarType(name, numbers)
        if name == "time":
            return ScalarType(name, (int(words[0]) if words else 6,))
        return ScalarType(name, (int(words[0]) if words and words[0].lower() != "any" else -1,))

    def fields(self) -> tuple[StructField, ...]:
        found: list[StructField] = []
        if self.symbol(">"):
            return ()
        while True:
            name = self.field_name()
            self.symbol(":")
            inner = self.type()
            nullable = self.take(_NOT_NULL) is None
            self.take(_COMMENT)
            found.append(StructField(name, inner, nullable))
            if not self.symbol(","):
                self.expect(">")
                return tuple(found)

    def field_name(self) -> str:
        quoted = self.take(re.compile(r"\s*`((?:[^`]|``)*)`"))
        if quoted:
            return quoted[1].replace("``", "`")
        # simpleString does not quote: everything up to the colon is the name.
        plain = self.take(re.compile(r"\s*([^:<>,`]*?)\s*(?=:)")) or self.take(_WORD)
        if plain is None:
            raise self.error("a field name")
        return plain[1]


@lru_cache(_KNOWN)
def to_arrow(spark: str | DataType, timezone: str = "UTC") -> pa.DataType:
    """The pyarrow type of a Spark type, as Spark hands it over; timestamps carry ``timezone``.

    :raises PlanError: the text is not a type of Spark's.
    """
    import pyarrow as pa

    match parse_type(spark) if isinstance(spark, str) else spark:
        case ArrayType(element):
            return pa.list_(pa.field("element", to_arrow(element, timezone)))
        case MapType(key, value):
            key_field = pa.field("key", to_arrow(key, timezone), nullable=False)
            return pa.map_(key_field, pa.field("value", to_arrow(value, timezone)))
        case StructType(fields):
            return pa.struct([pa.field(f.name, to_arrow(f.type, timezone), nullable=f.nullable) for f in fields])
        case ScalarType(name, parameters):
            return _scalar_to_arrow(name, parameters, timezone)


def _scalar_to_arrow(name: str, parameters: tuple[int, ...], timezone: str) -> pa.DataType:
    import pyarrow as pa

    simple = {
        "void": pa.null(),
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz=timezone),
        "timestamp_ntz": pa.timestamp("us"),
        "time": pa.time64("ns"),
        "interval": pa.string(),
        "interval day to second": pa.duration("us"),
        "interval year to month": pa.int32(),
    }
    if name == "decimal":
        return pa.decimal128(*parameters)
    return _struct_like(name, parameters) if name in ("variant", "geometry", "geography") else simple[name]


def _struct_like(name: str, parameters: tuple[int, ...]) -> pa.DataType:
    """Types that Spark hands over as a struct whose field metadata says what it is."""
    import pyarrow as pa

    if name == "variant":
        tagged = pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"})
        return pa.struct([pa.field("value", pa.binary(), nullable=False), tagged])
    tags = {name.encode(): b"true", b"srid": str(parameters[0]).encode()}
    return pa.struct([pa.field("srid", pa.int32(), nullable=False), pa.field("wkb", pa.binary(), nullable=False, metadata=tags)])


def from_arrow(arrow: pa.DataType) -> str:
    """The Spark DDL text of a pyarrow type, for tables that do not come from Spark.

    :raises PlanError: Spark has no such type.
    """
    from pyarrow import types

    if types.is_dictionary(arrow):
        return from_arrow(arrow.value_type)
    if types.is_map(arrow):
        return f"map<{from_arrow(arrow.key_type)},{from_arrow(arrow.item_type)}>"
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow) or types.is_list_view(arrow):
        return f"array<{from_arrow(arrow.value_type)}>"
    if types.is_struct(arrow):
        return _struct_from_arrow(arrow)
    if types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    return _scalar_from_arrow(arrow)


def _struct_from_arrow(arrow: pa.DataType) -> str:
    tags = {key: value for field in arrow for key, value in (field.metadata or {}).items()}
    if b"variant" in tags:
        return "variant"
    for name in ("geometry", "geography"):
        if name.encode() in tags:
            return f"{name}({'any' if tags[b'srid'] == b'-1' else tags[b'srid'].decode()})"
    fields = ("`{}`:{}{}".format(f.name.replace("`", "``"), from_arrow(f.type), "" if f.nullable else " NOT NULL") for f in arrow)
    return f"struct<{','.join(fields)}>"


def _scalar_from_arrow(arrow: pa.DataType) -> str:
    from pyarrow import types

    tests = (
        (types.is_null, "void"),
        (types.is_boolean, "boolean"),
        (types.is_int8, "tinyint"),
        (lambda t: types.is_int16(t) or types.is_uint8(t), "smallint"),
        (lambda t: types.is_int32(t) or types.is_uint16(t), "int"),
        (lambda t: types.is_int64(t) or types.is_uint32(t), "bigint"),
        (types.is_uint64, "decimal(20,0)"),
        (lambda t: types.is_float32(t) or types.is_float16(t), "float"),
        (types.is_float64, "double"),
        (lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t), "string"),
        (lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_fixed_size_binary(t) or types.is_binary_view(t), "binary"),
        (types.is_date, "date"),
        (types.is_timestamp, "timestamp" if getattr(arrow, "tz", None) else "timestamp_ntz"),
        (types.is_time, "time(6)"),
        (types.is_duration, "interval day to second"),
        (types.is_interval, "interval"),
    )
    for test, name in tests:
        if test(arrow):
            return name
    raise PlanError(f"Spark has no type for Arrow's {arrow}")


def type_in_utc(kind: pa.DataType) -> pa.DataType:
    """The type of the same values with their points in time said in UTC."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit, "UTC") if kind.tz else kind
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field.with_type(type_in_utc(kind.key_type)), kind.item_field.with_type(type_in_utc(kind.item_type)))
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(type_in_utc(one.type)) for one in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(type_in_utc(kind.value_type)))
    return kind
