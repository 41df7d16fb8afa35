"""The types of a column in several Parquet files, which are to be one: what reads them together casts to one of them else.

How a file was written is not a type: a dictionary, offsets of 64 bits, a zone that a moment is shown in, whether NULL may stand there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class FileTypes:
    """Of columns of files, by name: ``widened`` has the type that holds all whole numbers of a column whose files have several widths
    of them, and with ``nulls`` the type of a column that has nothing but NULL in some files; ``unlike`` says of each other column
    whose types differ where they do."""

    widened: Mapping[str, pa.DataType]
    unlike: Mapping[str, str]


def file_types(files: Iterable[tuple[str, pa.Schema]], *, nulls: bool = False) -> FileTypes:
    """Of files, each by what it is called and its columns.

    >>> import pyarrow as pa
    >>> def of(*kinds): return [(f"{at}.parquet", pa.schema({"a": kind})) for at, kind in enumerate(kinds)]
    >>> file_types(of(pa.int16(), pa.int64())).widened, file_types(of(pa.int32(), pa.float64())).unlike
    ({'a': DataType(int64)}, {'a': 'a is int32 in 0.parquet and double in 1.parquet'})
    """
    first: dict[str, tuple[str, pa.DataType]] = {}
    found: dict[str, pa.DataType] = {}
    widened: dict[str, pa.DataType] = {}
    unlike: dict[str, str] = {}
    for file, schema in files:
        for column in schema:
            kind = plain_type(column.type)
            known = found.setdefault(column.name, kind)
            before, written = first.setdefault(column.name, (file, column.type))
            if kind == known:
                continue
            both = _both(known, kind, nulls=nulls)
            if both is None:
                unlike.setdefault(column.name, f"{column.name} is {written} in {before} and {column.type} in {file}")
            else:
                found[column.name] = widened[column.name] = both
    return FileTypes({name: kind for name, kind in widened.items() if name not in unlike}, unlike)


def _both(one: pa.DataType, other: pa.DataType, *, nulls: bool) -> pa.DataType | None:
    """The type that holds every value of two different ones as it is; None where there is none."""
    import pyarrow as pa

    if pa.types.is_null(one) or pa.types.is_null(other):
        return (other if pa.types.is_null(one) else one) if nulls else None
    if not (pa.types.is_integer(one) and pa.types.is_integer(other)):
        return None
    signed = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    if pa.types.is_signed_integer(one) == pa.types.is_signed_integer(other):
        return one if one.bit_width > other.bit_width else other
    whole, natural = (one, other) if pa.types.is_signed_integer(one) else (other, one)
    return signed.get(max(whole.bit_width, 2 * natural.bit_width))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the same values without what is about how they are written.

    >>> import pyarrow as pa
    >>> plain_type(pa.list_(pa.dictionary(pa.int8(), pa.large_string())))
    ListType(list<element: string>)
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_date(kind):
        return pa.date32()
    if types.is_timestamp(kind):
        return pa.timestamp("ns" if kind.unit == "ns" else "us", "UTC" if kind.tz else None)
    if types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([pa.field(one.name, plain_type(one.type)) for one in kind])
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(pa.field("element", plain_type(kind.value_type)))
    return kind
