"""Calls of a UDF told apart by whole columns: behind a target there may be as many of them as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_lineage_provider.tracing.value_codes import same_bits

if TYPE_CHECKING:
    import pyarrow as pa


def distinct_calls(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The first of the rows for each call, whose values are in all columns but the first; and which rows made each: ``lineage_tag``, the
    number of the call, and ``key_0``, what stands in the first column. -0.0 is another argument than 0.0.
    """
    import pyarrow as pa

    number, first = same_bits(rows.columns[1:], rows.num_rows)
    return rows.take(pa.array(first)), pa.table({"lineage_tag": number, "key_0": rows.column(0)})


def digests(version: str, arguments: Sequence[pa.ChunkedArray], calls: int) -> list[str]:
    """For each call a text that is the same for the same arguments of the same version of a UDF, in every process."""
    texts = row_texts(arguments, calls).to_pylist()
    return [hashlib.sha256(f"{version}\n{text}".encode()).hexdigest() for text in texts]


def row_texts(columns: Sequence[pa.ChunkedArray], rows: int) -> pa.ChunkedArray:
    """Each row as Python writes the tuple of its values; what stands in a column many times is written once.

    >>> import pyarrow as pa
    >>> row_texts([pa.chunked_array([[1, 2, 1]]), pa.chunked_array([["a", None, "b"]])], 3).to_pylist()
    ["(1, 'a')", '(2, None)', "(1, 'b')"]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    if not columns:
        return pa.chunked_array([pa.repeat(pa.scalar("()", text), rows)])
    begin, between, end, none = (pa.scalar(one, text) for one in ("(", ", ", ",)" if len(columns) == 1 else ")", ""))
    joined = pc.binary_join_element_wise(*map(_texts, columns), between)
    return pc.binary_join_element_wise(begin, joined, end, none)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    number, first = same_bits([column], len(column))
    texts = pa.array([repr(value) for value in column.take(pa.array(first)).to_pylist()], pa.large_string())
    return pa.chunked_array([texts.take(pa.array(number))])
