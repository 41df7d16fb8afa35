"""Which rows of a table have which keys, found by whole columns: behind a target there may be millions of source rows.

Keys are equal as Spark joins them null-safely (`tracing.value_codes`): NULL is a value like others, NaN is one value, and -0.0 is 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_lineage_provider.tracing.numbers import in_order, is_ascending
from airflow_lineage_provider.tracing.value_codes import Codes, close_together, coded, in_any_order, packed_numbers, together

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

    every, last = np.arange(len(rows)), np.full(many, -1)
    last[rows] = every
    if np.array_equal(last[rows], every):  # each row has a number of its own
        row = last[asked]
        found = np.flatnonzero(row >= 0)
        return Places(found, row[found])
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
        import numpy as np

        if self._are_these(keys):
            return Places(np.arange(len(self)), np.arange(len(self)))
        return placed(*self.told_apart(keys))

    def has(self, keys: pa.Table) -> npt.NDArray[np.bool_]:
        """For each of these keys whether a row has it."""
        import numpy as np

        if self._are_these(keys):
            return np.ones(len(self), np.bool_)
        rows, asked, many = self.told_apart(keys)
        there = np.zeros(many, np.bool_)
        there[rows] = True
        return there[asked]

    @cached_property
    def repeated(self) -> int:
        """How many keys several rows have."""
        import numpy as np

        if self._are_different:
            return 0
        return int(np.count_nonzero(np.bincount(self.told_apart(self.keys.slice(0, 0))[0]) > 1)) if len(self) else 0

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
        return self._parted(together((_numbered(*one, self.signs) for one in self._beside(keys)), len(self) + keys.num_rows))

    @cached_property
    def _are_different(self) -> bool:
        """Whether it is seen that no key stands there twice: they are numbers in order."""
        packed = packed_numbers(self.keys.columns)
        return packed is not None and is_ascending(packed)

    def _are_these(self, keys: pa.Table) -> bool:
        """Whether what was read is seen to be, row for row, what was to be read, each once."""
        return self._are_different and all(own.equals(asked) for own, asked in self._beside(keys))

    def told_apart(self, keys: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
        """As `numbered`, in no order, and some numbers are nobody's."""
        parts = (_close_together(*one) or _numbered(*one, self.signs) for one in self._beside(keys))
        return self._parted(in_any_order(parts, len(self) + keys.num_rows))

    def _beside(self, keys: pa.Table) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
        yield from zip(self.keys.columns, keys.columns, strict=True)

    def _parted(self, found: Codes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
        return found.number[: len(self)], found.number[len(self) :], found.many


def key_tuples(keys: pa.Table) -> list[Key]:
    """The rows of a table of keys as tuples that can be looked up: NaN is one object, arrays and structs are texts."""
    return list(zip(*(_hashable(column) for column in keys.columns), strict=True))


def _close_together(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Codes | None:
    import pyarrow as pa

    return close_together(pa.chunked_array([*left.chunks, *right.chunks], left.type)) if left.type == right.type else None


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

    values = python_values(column)
    if pa.types.is_nested(column.type):
        return [None if value is None else repr(value) for value in values]
    # One object for every NaN: as a float it equals nothing, not even another NaN.
    return [math.nan if value != value else value for value in values] if pa.types.is_floating(column.type) else values


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column as Python holds them; what it cannot hold (a year beyond 9999, bytes that are no UTF-8) as its number or its
    bytes, within other values, too."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        return [_held(one) for one in column]
    return values


def _held(value: pa.Scalar) -> Any:
    import pyarrow as pa

    try:
        return value.as_py()
    except (ValueError, OverflowError):
        if isinstance(value, pa.StringScalar | pa.LargeStringScalar):
            return value.as_buffer().to_pybytes()
        if isinstance(value, pa.StructScalar):
            return {name: _held(one) for name, one in value.items()}
        if isinstance(value, pa.MapScalar):
            return [tuple(_held(part) for part in entry.values()) for entry in value.values]
        if isinstance(value, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
            return [_held(one) for one in value.values]
        return value.value
