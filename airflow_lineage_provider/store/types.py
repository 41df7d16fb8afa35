"""How each Spark type is stored: the PostgreSQL column, the Arrow array that COPY takes, and the way back to the exact Arrow type.

=========================================  ==========================  =============================================
Spark                                      PostgreSQL                  note
=========================================  ==========================  =============================================
string                                     text, collation "C"         ordered by code point, as Spark does
boolean, tinyint … bigint, float, double   bool, int2 … int8, float4/8  a tinyint is an int2
decimal(p,s)                               numeric(p,s)
date, timestamp, timestamp_ntz             the same, microseconds
time                                       time, or int8 (nanoseconds)  int8 when finer than microseconds
binary                                     bytea
interval year to month, day to second      int4 months, int8 µs
interval (of no fixed length)              text                        as Spark writes it
array, map, struct, variant, others        text                        JSON, see `nested`
=========================================  ==========================  =============================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.datatypes import DataType, ScalarType, parse_type, to_arrow
from airflow_lineage_provider.store import nested
from airflow_lineage_provider.store.textescape import escape_array, needs_escape, unescape_array

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT = 'text COLLATE "C"'
# A value too long for its row is moved out; what stays is at most this.
_VARIABLE = 24
# 4714-11-24 BC and 5874897-12-31, in days since 1970.
_FIRST_DAY, _LAST_DAY = -2_440_588, 2_145_031_948


@dataclass(frozen=True)
class StorageType:
    """How one Spark type is stored.

    :ivar spark: the parsed Spark type.
    :ivar sql: type of the PostgreSQL column, with its collation.
    :ivar cast: the same without a collation, as a cast writes it.
    :ivar width: bytes that a value takes in its row at most.
    :ivar json: whether the value is stored as JSON text.
    """

    spark: DataType
    sql: str
    cast: str
    width: int
    json: bool = False

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type that is copied to and from PostgreSQL."""
        return _storage_arrow(self)


@lru_cache(maxsize=4096)
def storage_type(spark: str) -> StorageType:
    """How a Spark DDL type is stored.

    :raises PlanError: the text is not a type of Spark's.
    """
    parsed = parse_type(spark)
    if not isinstance(parsed, ScalarType) or parsed.name in ("variant", "geometry", "geography"):
        return StorageType(parsed, _TEXT, "text", _VARIABLE, json=True)
    if parsed.name in ("string", "void", "interval"):
        return StorageType(parsed, _TEXT, "text", _VARIABLE)
    sql = _sql_type(parsed)
    return StorageType(parsed, sql, sql, _VARIABLE if parsed.name in ("decimal", "binary") else 8)


def _sql_type(scalar: ScalarType) -> str:
    names = {
        "boolean": "bool",
        "tinyint": "int2",
        "smallint": "int2",
        "int": "int4",
        "bigint": "int8",
        "float": "float4",
        "double": "float8",
        "date": "date",
        "timestamp": "timestamptz",
        "timestamp_ntz": "timestamp",
        "binary": "bytea",
        "interval year to month": "int4",
        "interval day to second": "int8",
    }
    match scalar:
        case ScalarType("decimal", (precision, scale)):
            return f"numeric({precision},{scale})"
        case ScalarType("time", (precision,)):
            return "time" if precision <= 6 else "int8"
    return names[scalar.name]


def _storage_arrow(storage: StorageType) -> pa.DataType:
    import pyarrow as pa

    if storage.json or storage.cast == "text":
        return pa.string()
    if storage.cast in ("time", "int2", "int8"):
        return {"time": pa.time64("us"), "int2": pa.int16(), "int8": pa.int64()}[storage.cast]
    return to_arrow(storage.spark)


def encode(array: pa.Array, storage: StorageType) -> tuple[pa.Array, bool]:
    """The array that COPY takes, and whether text had to be escaped.

    :raises pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError: the array is not of the Spark type, or a value is lost in it.
    :raises UnicodeDecodeError: text inside a nested value is not UTF-8.
    """
    exact = _conform(array, storage.spark)
    if storage.json:
        return nested.encode(exact, storage.spark), False
    stored = exact.cast(storage.arrow)
    if storage.cast != "text":
        _check_range(stored)
        return stored, False
    # Spark's strings may hold any bytes; PostgreSQL would refuse them without saying which column it was.
    stored.validate(full=True)
    return (escape_array(stored), True) if needs_escape(stored) else (stored, False)


def _check_range(array: pa.Array) -> None:
    """PostgreSQL's calendar is a little shorter than Arrow's, and ADBC does not say which column was beyond it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date(array.type):
        numbers, first, last = array.cast(pa.int32()), _FIRST_DAY, _LAST_DAY
    elif pa.types.is_timestamp(array.type):
        numbers, first, last = array.cast(pa.int64()), _FIRST_DAY * 86_400_000_000, (1 << 63) - 1
    else:
        return
    least, greatest = pc.min_max(numbers).as_py().values()
    if least is not None and (least < first or greatest > last):
        raise pa.ArrowInvalid("PostgreSQL's calendar goes from 4714-11-24 BC to the year 5874897 (timestamps: 294247)")


def decode(array: pa.Array, storage: StorageType) -> pa.Array:
    """The exact Arrow type of the Spark type, from what PostgreSQL gave."""
    import pyarrow as pa

    array = getattr(array, "storage", array)
    if storage.json:
        return nested.decode(array, storage.spark)
    exact = to_arrow(storage.spark)
    match storage.spark:
        case ScalarType("string"):
            return unescape_array(array).cast(exact)
        case ScalarType("void"):
            return pa.nulls(len(array))
    return array.cast(exact)


def _conform(array: pa.Array, spark: DataType) -> pa.Array:
    """The array as the exact Arrow type of the Spark type: other widths, dictionaries, zones and units are taken where nothing is lost."""
    import pyarrow as pa
    from pyarrow import types

    exact = to_arrow(spark)
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_timestamp(array.type) and types.is_timestamp(exact) and (array.type.tz is None) != (exact.tz is None):
        raise pa.ArrowInvalid(f"{array.type} is not a {'timestamp' if exact.tz else 'timestamp_ntz'}: one has a zone, the other has none")
    if array.type.id == _YEAR_MONTH_ID:
        # pyarrow can hold Arrow's year-month intervals but has no operation on them; their buffers are those of an int32.
        return pa.Array.from_buffers(pa.int32(), len(array), array.buffers(), offset=array.offset)
    return array if _same(array.type, exact) else array.cast(exact)


_YEAR_MONTH_ID = 21


def _same(left: pa.DataType, right: pa.DataType) -> bool:
    """Equality of types that looks at nothing but shape: inner names of lists and nullability differ from writer to writer."""
    from pyarrow import types

    if left.id != right.id:
        return False
    if types.is_nested(left):
        names = types.is_struct(left)
        return left.num_fields == right.num_fields and all(
            _same(left.field(i).type, right.field(i).type) and (not names or left.field(i).name == right.field(i).name)
            for i in range(left.num_fields)
        )
    return bool(left == right)
