"""A table whose values are written out: a category may be in a dictionary twice, or in another place of the next chunk's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidOption
from airflow_lineage_provider.sources.file_types import plain_type

if TYPE_CHECKING:
    import pyarrow as pa


def decoded(table: pa.Table) -> pa.Table:
    """The table with columns of which the same values are the same to Arrow: without dictionaries, runs, views of texts, and floats of 16
    bits.

    >>> import pyarrow as pa
    >>> decoded(pa.table({"a": pa.DictionaryArray.from_arrays([0, 1, 2], ["q", "q", None])})).column("a").to_pylist()
    ['q', 'q', None]

    :raises InvalidOption: Arrow does not write the values of a column out; names it.
    """
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if _is_encoded(field.type):
            try:
                values = _decoded(table.column(at))
            except pa.ArrowNotImplementedError as problem:
                raise InvalidOption(
                    f"the column {field.name} is {field.type}, which is not read here: cast it to another type"
                ) from problem
            table = table.set_column(at, field.with_type(values.type), values)
    return table


def with_codes(table: pa.Table) -> pa.Table:
    """The table with columns of which the same values are the same to Arrow: of texts in a dictionary whole numbers that stand for them,
    which takes no look at any text but the dictionary's; others as of `decoded`.

    >>> import pyarrow as pa
    >>> with_codes(pa.table({"a": pa.DictionaryArray.from_arrays([0, 1, 2, None], ["q", "q", "r"])})).column("a").to_pylist()
    [0, 0, 1, None]

    :raises InvalidOption: as `decoded`.
    """
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and plain_type(field.type) in (pa.string(), pa.binary()):
            table = table.set_column(at, field.name, _codes(table.column(at)))
    return decoded(table)


def _codes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    try:
        joined = column.unify_dictionaries().combine_chunks()
    except pa.ArrowException:  # there is a NULL in a dictionary
        return column
    whole = joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
    different = whole.dictionary.dictionary_encode()
    codes = whole.indices if len(different.dictionary) == len(whole.dictionary) else different.indices.take(whole.indices)
    return pa.chunked_array([codes.cast(pa.int64())])


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_run_end_encoded(kind):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
    if pa.types.is_dictionary(kind) and pa.types.is_nested(kind.value_type):
        return pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], kind.value_type)
    return column.cast(plain_type(kind))


def _is_encoded(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind) or types.is_string_view(kind) or types.is_binary_view(kind):
        return True
    return types.is_float16(kind) or any(_is_encoded(kind.field(at).type) for at in range(kind.num_fields))
