"""Which rows of a table have which keys, found by whole columns: behind a target there may be millions of source rows.

Keys are equal as Spark joins them null-safely (`tracing.value_codes`): NULL is a value like others, NaN is one value, and -0.0 is 0.0.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_lineage_provider.tracing.numbers import in_order
from airflow_lineage_provider.tracing.value_codes import Codes, coded, together

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

    wanted = np.zeros(many, np.bool_)
    wanted[asked] = True
    there = np.flatnonzero(wanted[rows])
    rows = rows[there]
    counts = np.bincount(rows, minlength=many)
    starts, order = np.cumsum(counts) - counts, there[in_order(rows)]
    found = counts[asked]
    number = np.repeat(np.arange(len(asked)), found)
    within = np.arange(len(number)) - np.repeat(np.cumsum(found) - found, found)
    return Places(number, order[starts[asked][number] + within])


def earlier(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each number, how often it stands before."""
    import numpy as np

    order = in_order(numbers)
    counts = np.bincount(numbers)
    found = np.empty(len(numbers), np.int64)
    found[order] = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


class KeyIndex:
    """The keys of a table's rows: a column for each part of the key, a row for each of the table's; several may have the same. With
    ``signs`` -0.0 is another key than 0.0."""

    def __init__(self, keys: pa.Table, *, signs: bool = False) -> None:
        self.keys = keys
        self.signs = signs

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

    def numbered(self, keys: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
        """A number below the third for each row, and for each key asked for: the same for the same."""
        rows = self.keys.num_rows
        pairs = zip(self.keys.columns, keys.columns, strict=True)
        found = together((_numbered(own, theirs, self.signs) for own, theirs in pairs), rows + keys.num_rows)
        return found.number[:rows], found.number[rows:], found.many


def key_tuples(keys: pa.Table) -> list[Key]:
    """The rows of a table of keys as tuples that can be looked up: NaN is one object, arrays and structs are texts."""
    return list(zip(*(_hashable(column) for column in keys.columns), strict=True))


def _numbered(left: pa.ChunkedArray, right: pa.ChunkedArray, signs: bool) -> Codes:
    """A number for each value of two columns, one below the other."""
    import numpy as np
    import pyarrow as pa

    try:
        return coded(pa.chunked_array([*left.chunks, *right.cast(left.type).chunks], left.type), signs=signs)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        known: dict[Any, int] = {}
        numbers = [known.setdefault(value, len(known)) for column in (left, right) for value in _hashable(column)]
        return Codes(np.array(numbers, np.int64), max(len(known), 1))


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
