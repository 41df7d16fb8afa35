"""How many bytes rows have, about, as SQL by their columns' types; and of the rows that Spark keeps, by what it knows of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from airflow_lineage_provider.spark.frames import columns_named, renamed, selected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_BYTES_OF_A_VALUE = 8
"""Of types whose values are all of one size, about."""


class KeptSize(NamedTuple):
    """How many rows Spark keeps of a frame, and about how many bytes they are: of all columns that it keeps, before they are compressed."""

    rows: int
    bytes: int


def kept_size(frame: DataFrame, column: str) -> KeptSize | None:
    """What Spark keeps of a frame with such a column, where it has made all its rows: it has counted and measured them then."""
    leaf = columns_named(frame, [column])._jdf.queryExecution().optimizedPlan().collectLeaves().head()
    if leaf.getClass().getSimpleName() != "InMemoryRelation" or not leaf.cacheBuilder().isCachedColumnBuffersLoaded():
        return None  # before that its statistics are an estimate, of whatever its rows are made of
    known = leaf.stats()
    return KeptSize(int(str(known.rowCount().get())), int(str(known.sizeInBytes())))


def bytes_of(frame: DataFrame, names: Sequence[str]) -> int:
    """About how many bytes the rows have in these columns. It makes the rows."""
    chosen = renamed(columns_named(frame, names), [f"c{at}" for at in range(len(names))])
    sizes = [size_of(f"c{at}", field.dataType) or f"{_BYTES_OF_A_VALUE}L" for at, field in enumerate(chosen.schema)]
    (row,) = selected(chosen, [f"coalesce(sum({summed(sizes)}), 0L) AS bytes"]).collect()
    return int(row["bytes"])


def summed(terms: Sequence[str]) -> str:
    """Halved and halved again: Spark's parser does not take an expression that is a thousand deep."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({summed(terms[:half])} + {summed(terms[half:])})"


def size_of(column: str, kind: DataType) -> str:
    """SQL for a value's bytes, about; empty for types whose values are all of one size."""
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

    if isinstance(kind, StringType | BinaryType):
        return f"coalesce(octet_length({column}), 0L)"
    return f"coalesce(octet_length(CAST({column} AS STRING)), 0L)" if isinstance(kind, ArrayType | MapType | StructType) else ""
