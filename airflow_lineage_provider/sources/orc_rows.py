"""The values of an ORC file, where its columns are the table's and each value is written in one way alone: all else is left to Spark."""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.plan.relation import Relation
from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sources.files import CannotReadHere
from airflow_lineage_provider.sources.reader_options import OF_FILES, given_options
from airflow_lineage_provider.sources.text_values import typed

if TYPE_CHECKING:
    import pyarrow as pa

_OF_NO_EFFECT = OF_FILES | {"mergeschema", "compression"}
# Whose days are the same in every calendar that a writer may have had.
_FIRST_DAY = datetime.date(1583, 1, 1)
# Moments are written in the time zone of whoever writes them.
_TYPES = frozenset({"string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date"})


def check_options(relation: Relation) -> None:
    """:raises CannotReadHere: a reader option is not known."""
    for key in given_options(relation):
        if key not in _OF_NO_EFFECT:
            raise CannotReadHere(f"{relation.name} is read with the option {key}")


def columns_of(data: bytes, columns: Mapping[str, str], settings: Mapping[str, str], most: int) -> dict[str, pa.ChunkedArray]:
    """The columns of a file (types by name), whose values have ``most`` bytes in memory at most.

    :raises CannotReadHere: they are not the table's, by name, order and type, or have values that could be read, or written, in two ways.
    """
    import pyarrow as pa

    try:
        rows = _read(data, most)
        rows.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeError) as problem:
        raise CannotReadHere(f"it cannot be read: {first_line(problem)}") from problem
    # By name or by position: Spark takes the same.
    if rows.column_names != [*columns]:
        raise CannotReadHere("its columns are not the table's, in their order")
    return {name: _checked(rows.column(name), name, kind, settings) for name, kind in columns.items()}


def _read(data: bytes, most: int) -> pa.Table:
    import pyarrow as pa
    from pyarrow import orc

    file = orc.ORCFile(io.BytesIO(data))
    left, stripes = most, []
    for number in range(file.nstripes):
        stripes.append(pa.Table.from_batches([file.read_stripe(number)]))
        left -= stripes[-1].nbytes
        if left < 0:
            raise CannotReadHere(f"its values have more than {most:,} bytes")
    return pa.concat_tables([file.schema.empty_table(), *stripes])


def _checked(column: pa.ChunkedArray, name: str, kind: str, settings: Mapping[str, str]) -> pa.ChunkedArray:
    """The values, as they come back from their texts, which are looked at as those of other files are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_known = kind in _TYPES or kind.startswith("decimal(")
    if not is_known or column.type != to_arrow(kind):
        raise CannotReadHere(f"column {name} is {kind} in the table and {column.type} in the file")
    if kind == "string":
        # A column of CHAR is filled with them, which Spark leaves out and Arrow does not; and Arrow does not tell it from one of texts.
        if pc.any(pc.ends_with(column, " ")).as_py():
            raise CannotReadHere(f"column {name} has texts that end with a space, which may be no part of them")
        return column
    if kind == "date" and pc.any(pc.less(column, pa.scalar(_FIRST_DAY))).as_py():
        raise CannotReadHere(f"column {name} may have dates of another calendar than today's")
    try:
        found = typed(column.cast(pa.string()), kind, settings)
    except CannotReadHere as problem:
        raise CannotReadHere(f"column {name}: {problem}") from problem
    if not found.equals(column):
        raise CannotReadHere(f"column {name} has values that are not those that their texts say")
    return found
