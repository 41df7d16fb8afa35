"""A number for each value, the same for the same value: by whole columns, whatever the type, since there may be millions of them.

Values are the same as Spark joins them null-safely: NULL is a value like others, NaN is one value, and -0.0 is 0.0, in arrays, maps and
structs, too. Where ``signs`` are kept, -0.0 is another value than 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


_CLOSE = 4
"""Whole numbers are close together of which so many, or fewer, are between the least and the greatest for each that is there."""


class Codes(NamedTuple):
    """A number for each value, counted from 0 in the order in which they first stand there, and how many there are (at least 1)."""

    number: npt.NDArray[np.int64]
    many: int


def coded(column: pa.ChunkedArray, *, signs: bool = False) -> Codes:
    """The numbers of a column's values.

    :raises pa.ArrowNotImplementedError: Arrow does not tell values of the type apart (intervals).
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_struct(kind):
        return _structs(column, signs)
    if pa.types.is_nested(kind):
        return _lists(column, signs)
    return _encoded(with_one_nan(column, signs=signs))


def together(parts: Iterable[Codes], rows: int) -> Codes:
    """The numbers of rows of several columns, by those of each."""
    import numpy as np

    found = Codes(np.zeros(rows, np.int64), 1)
    for part in parts:
        if found.many == 1:
            found = part
        elif part.many > 1:
            # Both are below the number of values, of which no table of this machine has 2³¹.
            found = _encoded_numbers(found.number * part.many + part.number)
    return found


def close_together(column: pa.ChunkedArray, most: int | None = None) -> Codes | None:
    """Numbers of whole numbers, in their own order, some of which may be nobody's; None: there would be more than ``most`` (four for each
    value), or there are other values.

    Which value has which needs no look at any other: of millions it takes a twentieth of the time of `coded`.

    >>> import pyarrow as pa
    >>> close_together(pa.chunked_array([[7, 9, 7]])).number.tolist(), close_together(pa.chunked_array([[0, 1 << 40]]))
    ([0, 2, 0], None)
    """
    import pyarrow as pa

    if column.type != pa.int64() or column.null_count or not len(column):
        return None
    numbers = column.to_numpy()
    least, many = int(numbers.min()), int(numbers.max()) - int(numbers.min()) + 1
    return Codes(numbers - least, many) if many <= (_CLOSE * len(numbers) if most is None else most) else None


def in_any_order(parts: Iterable[Codes], rows: int) -> Codes:
    """As `together`, but some numbers may be nobody's, and they are in no order."""
    import numpy as np

    found = Codes(np.zeros(rows, np.int64), 1)
    for part in parts:
        both = found.many * part.many
        found = Codes(found.number * part.many + part.number, both) if both <= _CLOSE * rows else together([found, part], rows)
    return found


def packed_numbers(columns: Sequence[pa.ChunkedArray]) -> npt.NDArray[np.int64] | None:
    """One number for each row of columns of whole numbers, another for other rows, which is in order where the rows are in that of their
    columns; None: there are other values, or NULL, or the numbers would be too large.

    >>> import pyarrow as pa
    >>> packed_numbers([pa.chunked_array([[1, 1, 2]]), pa.chunked_array([[7, 9, 7]])]).tolist()
    [0, 2, 3]
    """
    import numpy as np
    import pyarrow as pa

    if not columns or not len(columns[0]) or any(column.type != pa.int64() or column.null_count for column in columns):
        return None
    rows = len(columns[0])
    packed, room = np.zeros(rows, np.int64), 1
    for column in columns:
        numbers = column.to_numpy()
        least, most = int(numbers.min()), int(numbers.max())
        if most - least >= rows << 16:  # hashes of files: few, and far from each other, in whatever order they come
            numbers = column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
            least, most = 0, int(numbers.max())
        room *= most - least + 1
        if room >= 1 << 62:
            return None
        packed = packed * (most - least + 1) + (numbers - least)
    return packed


def same_bits(columns: Sequence[pa.ChunkedArray], rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A number below n for each of the rows of columns, the same only for rows that nothing tells apart (-0.0 is not 0.0 here), and for
    each number the first row that has it; in the order of these.

    :raises pa.ArrowNotImplementedError: as `coded`.
    """
    import numpy as np

    found = together((coded(one, signs=True) for one in columns), rows)
    first = np.full(found.many, rows, np.int64)
    np.minimum.at(first, found.number, np.arange(rows))
    return found.number, first[first < rows]


def with_one_nan(column: pa.ChunkedArray, *, signs: bool = False) -> pa.ChunkedArray:
    """A column with one NaN, and one zero or, with ``signs``, numbers as their bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    one = pc.if_else(pc.is_nan(column), pa.scalar(math.nan, column.type), column)
    if not signs:
        return pc.add(one, pa.scalar(0.0, column.type))
    kind = {2: pa.int16(), 4: pa.int32(), 8: pa.int64()}[column.type.bit_width // 8]
    return pa.chunked_array([chunk.view(kind) for chunk in one.chunks], kind)


def has_two_zeros(kind: pa.DataType) -> bool:
    """Whether values of a type are, or hold, floating-point numbers: -0.0 and 0.0 are the same value, and a text tells them apart.

    >>> import pyarrow as pa
    >>> has_two_zeros(pa.list_(pa.float64())), has_two_zeros(pa.decimal128(9, 2))
    (True, False)
    """
    import pyarrow as pa

    return bool(pa.types.is_floating(kind)) or any(has_two_zeros(kind.field(at).type) for at in range(kind.num_fields))


def _encoded(column: pa.ChunkedArray) -> Codes:
    import pyarrow as pa

    found = column.combine_chunks().dictionary_encode(null_encoding="encode")
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return Codes(found.indices.to_numpy(zero_copy_only=False).astype("int64"), max(len(found.dictionary), 1))


def _encoded_numbers(numbers: npt.NDArray[np.int64]) -> Codes:
    import pyarrow as pa

    return _encoded(pa.chunked_array([pa.array(numbers)]))


def _structs(column: pa.ChunkedArray, signs: bool) -> Codes:
    """By the numbers of the fields' values, and by which are there."""
    return together([*(coded(field, signs=signs) for field in column.flatten()), _there(column)], len(column))


def _lists(column: pa.ChunkedArray, signs: bool) -> Codes:
    """By the numbers of the entries, as one value of bytes for each list, and by which are there."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    inner = column.type.field(0).type
    if pa.types.is_map(column.type):
        column = column.cast(pa.list_(inner))
    entries = coded(pa.chunked_array([chunk.flatten() for chunk in column.chunks], inner), signs=signs)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]) * entries.number.itemsize
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(entries.number))]
    lists = pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
    return together([_encoded(pa.chunked_array([lists])), _there(column)], len(column))


def _there(column: pa.ChunkedArray) -> Codes:
    return _encoded(column.is_valid())
