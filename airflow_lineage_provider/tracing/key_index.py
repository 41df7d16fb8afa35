"""Which rows of a table have which keys, found by whole columns: behind a target there may be millions of source rows.

Keys are equal as Spark joins them null-safely: NULL is a value like others, NaN is one value, and -0.0 is 0.0. Arrays and structs, which
Arrow does not tell apart by itself, are compared by their texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

Key = tuple[Any, ...]


class Places(NamedTuple):
    """Where keys stand: the number of a key among those asked for, and the number of a row that has it. In the order of the keys."""

    asked: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]


def placed(rows: npt.NDArray[np.int64], asked: npt.NDArray[np.int64], many: int) -> Places:
    """Where numbers below ``many`` that are asked for stand among those of rows."""
    import numpy as np

    counts = np.bincount(rows, minlength=many)
    starts, order = np.cumsum(counts) - counts, np.argsort(rows, kind="stable")
    found = counts[asked]
    number = np.repeat(np.arange(len(asked)), found)
    within = np.arange(len(number)) - np.repeat(np.cumsum(found) - found, found)
    return Places(number, order[starts[asked][number] + within])


def earlier(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each number, how often it stands before."""
    import numpy as np

    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers)
    found = np.empty(len(numbers), np.int64)
    found[order] = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


class KeyIndex:
    """The keys of a table's rows: a column for each part of the key, a row for each of the table's; several may have the same."""

    def __init__(self, keys: pa.Table) -> None:
        self.keys = keys

    def __len__(self) -> int:
        """The number of rows."""
        return int(self.keys.num_rows)

    def places(self, keys: pa.Table) -> Places:
        """Every row that has one of these keys; for a key that stands there several times, each time."""
        return placed(*self.numbered(keys))

    def has(self, keys: pa.Table) -> npt.NDArray[np.bool_]:
        """For each of these keys whether a row has it."""
        import numpy as np

        rows, asked, many = self.numbered(keys)
        return np.bincount(rows, minlength=many)[asked] > 0

    @cached_property
    def repeated(self) -> int:
        """How many keys several rows have."""
        import numpy as np

        return int(np.count_nonzero(np.bincount(self.number) > 1)) if len(self) else 0

    @cached_property
    def earlier(self) -> npt.NDArray[np.int64]:
        """For each row, how many before it have the same key."""
        return earlier(self.number)

    @cached_property
    def number(self) -> npt.NDArray[np.int64]:
        """A number for each row: the same for the same key."""
        return self.numbered(self.keys.slice(0, 0))[0]

    def tuples(self) -> list[Key]:
        """The rows' keys as they can be looked up one by one, where there are few."""
        return key_tuples(self.keys)

    def numbered(self, keys: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
        """A number below the third for each row, and for each key asked for: the same for the same."""
        import numpy as np

        rows = self.keys.num_rows
        codes, many = np.zeros(rows + keys.num_rows, np.int64), 1
        for own, theirs in zip(self.keys.columns, keys.columns, strict=True):
            part, parts = _numbered(own, theirs)
            # Both are below the number of rows, of which no table of this machine has 2³¹.
            codes, many = (part, parts) if many == 1 else _dense(codes * parts + part)
        return codes[:rows], codes[rows:], many


def same_bits(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A number below n for each of the rows of columns, the same only for rows that nothing tells apart, and for each number the first row
    that has it. (-0.0 is not 0.0 here; rows with arrays, maps or structs in them are all taken for different ones.)
    """
    import numpy as np
    import pyarrow as pa

    if any(pa.types.is_nested(column.type) for column in columns):
        return np.arange(rows), np.arange(rows)
    if not columns:
        return np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64)
    told = pa.table([_bits(column) for column in columns], names=[str(at) for at in range(len(columns))])
    _, first, number = np.unique(KeyIndex(told).number, return_index=True, return_inverse=True)
    return number, first


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    if not pa.types.is_floating(column.type):
        return column
    kind = {2: pa.int16(), 4: pa.int32(), 8: pa.int64()}[column.type.bit_width // 8]
    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)


def key_tuples(keys: pa.Table) -> list[Key]:
    """The rows of a table of keys as tuples that can be looked up: NaN is one object, arrays and structs are texts."""
    return list(zip(*(_hashable(column) for column in keys.columns), strict=True))


def _numbered(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], int]:
    """A number for each value of two columns, one below the other, and how many there are."""
    import pyarrow as pa

    try:
        column = pa.chunked_array([*left.chunks, *right.cast(left.type).chunks], left.type)
        return _encoded(comparable(column))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        known: dict[Any, int] = {}
        numbers = [known.setdefault(value, len(known)) for column in (left, right) for value in _hashable(column)]
        return _array(numbers), max(len(known), 1)


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with one NaN and one zero."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    zero = pa.scalar(0.0, column.type)
    return pc.if_else(pc.is_nan(column), pa.scalar(math.nan, column.type), pc.add(column, zero))


def _encoded(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], int]:
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        raise pa.ArrowNotImplementedError("arrays and structs are compared by their texts")
    found = column.combine_chunks().dictionary_encode(null_encoding="encode")
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return found.indices.to_numpy(zero_copy_only=False).astype("int64"), max(len(found.dictionary), 1)


def _dense(codes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    import pyarrow as pa

    return _encoded(pa.chunked_array([pa.array(codes)]))


def _array(numbers: list[int]) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.array(numbers, np.int64)


def _hashable(column: pa.ChunkedArray) -> list[Any]:
    import pyarrow as pa

    try:
        values = column.to_pylist()
    except (ValueError, OverflowError):
        values = [_held(one) for one in column]
    if pa.types.is_nested(column.type):
        return [None if value is None else repr(value) for value in values]
    # One object for every NaN: as a float it equals nothing, not even another NaN.
    return [math.nan if value != value else value for value in values] if pa.types.is_floating(column.type) else values


def _held(value: pa.Scalar) -> Any:
    """A value as Python holds it; one that it cannot hold (a year beyond 9999, bytes that are no UTF-8) as its number or its bytes."""
    import pyarrow as pa

    try:
        return value.as_py()
    except (ValueError, OverflowError):
        if isinstance(value, pa.StringScalar):
            return value.as_buffer().to_pybytes()
        return value.value if isinstance(value, pa.Date32Scalar | pa.TimestampScalar) else str(value.type)
