"""Columns of a frame by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def columns_named(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """These columns, in this order. PySpark's ``select`` of Columns asks Java up to twenty times for each; this, once."""
    from pyspark.sql.classic.dataframe import DataFrame

    if not names:
        return frame.select()
    first, *others = map(quoted, names)
    classic: Any = frame  # (type checkers know what it has in common with Spark Connect's)
    return DataFrame(classic._jdf.select(first, classic._jseq(others)), frame.sparkSession)


def quoted(name: str) -> str:
    """A column's name as Spark's functions take it."""
    return "`" + name.replace("`", "``") + "`"
