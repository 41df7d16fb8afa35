"""Rows of two tables compared as bags, by whole columns: floating-point numbers that hang on the order of rows (sums) to 12 digits.

Which columns have such is said by those who know the plan, as `rewrite.rounding.rounded_columns` does; of all others values are compared to
the last bit: milliseconds since 1970 have thirteen digits.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.tracing.key_index import KeyIndex, earlier, python_values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from airflow_lineage_provider.deriving.links import Numbers

_AT_ONCE = 100_000
"""So many numbers are rounded at a time: meanwhile each is a text."""
_EXACT = 1e12
"""Whole numbers below have no more than 12 digits."""


def places_without(one: pa.Table, other: pa.Table, rounded: Collection[int]) -> Numbers:
    """The places of the rows that are left of one bag without the other, ascending: of rows that are alike the last ones. The columns at
    ``rounded`` places are compared to 12 digits.

    >>> import pyarrow as pa
    >>> one, other = pa.table({"a": [1.0, 2.0, 1.0]}), pa.table({"a": [1.0 + 1e-15, 3.0]})
    >>> places_without(one, other, {0}).tolist(), places_without(one, other, ()).tolist()
    ([1, 2], [0, 1, 2])
    """
    import numpy as np

    rows, others, many = numbered(one, other, rounded)
    there = np.bincount(others, minlength=many)
    return np.flatnonzero(earlier(rows) >= there[rows]) if len(rows) else np.zeros(0, np.int64)


def first_of_its_kind(rows: pa.Table, places: Numbers, rounded: Collection[int]) -> int:
    """Of the rows that are like one of those at these places the very first."""
    import numpy as np

    number = numbered(rows, rows.slice(0, 0), rounded)[0]
    return int(np.flatnonzero(np.isin(number, number[places]))[0])


def numbered(one: pa.Table, other: pa.Table, rounded: Collection[int]) -> tuple[Numbers, Numbers, int]:
    """A number below the third for each row of two tables with the same columns, by position: the same for rows that are alike."""
    import pyarrow as pa

    if not one.num_columns:
        return _all_alike(one), _all_alike(other), 1
    both = enumerate(zip(one.columns, other.columns, strict=True))
    pairs = [_alike(*columns) if at in rounded or columns[0].type != columns[1].type else columns for at, columns in both]
    names = [str(at) for at in range(len(pairs))]
    return KeyIndex(pa.table([left for left, _ in pairs], names=names)).numbered(pa.table([right for _, right in pairs], names=names))


def text_of_row(table: pa.Table, place: int, rounded: Collection[int]) -> str:
    """A row as people compare it."""
    values = [python_values(column)[0] for column in table.slice(place, 1).columns]
    return repr(tuple(with_12_digits(one) if at in rounded else one for at, one in enumerate(values)))


def with_12_digits(value: Any) -> Any:
    """A value as it is compared: numbers to 12 digits."""
    if isinstance(value, float):
        return float(f"{value:.12g}") + 0.0  # -0.0 is 0.0
    if isinstance(value, list | tuple):
        return tuple(map(with_12_digits, value))
    return {name: with_12_digits(one) for name, one in value.items()} if isinstance(value, dict) else value


def _all_alike(table: pa.Table) -> Numbers:
    import numpy as np

    return np.zeros(table.num_rows, np.int64)


def _alike(one: pa.ChunkedArray, other: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Two columns whose values are the same where they are alike. Values within others are compared as texts."""
    import pyarrow as pa

    if pa.types.is_nested(one.type) or one.type != other.type:
        return _texts(one), _texts(other)
    # (Single precision has fewer digits than 12.)
    return (_to_12_digits(one), _to_12_digits(other)) if pa.types.is_float64(one.type) else (one, other)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([pa.array([repr(with_12_digits(value)) for value in python_values(column)], pa.string())])


def _to_12_digits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for chunk in column.chunks:
        for first in range(0, len(chunk), _AT_ONCE):
            part = chunk.slice(first, _AT_ONCE)
            # A NULL stays one, whatever number stands in its place.
            numbers = pa.array(_rounded(pc.fill_null(part, 0.0).to_numpy(zero_copy_only=False)))
            parts.append(pc.if_else(part.is_valid(), numbers, pa.scalar(None, pa.float64())))
    return pa.chunked_array(parts, pa.float64())


def _rounded(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """As `with_12_digits`; whole numbers that are not too large are what they are."""
    import numpy as np

    found = numbers.copy()
    longer = ~((numbers == np.rint(numbers)) & (np.abs(numbers) < _EXACT))
    found[longer] = np.char.mod("%.12g", numbers[longer]).astype(np.float64)
    return found
