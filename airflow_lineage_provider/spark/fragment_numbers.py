"""The number of the fragment that a column's value is in (`sketches.numbering`), as a column of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.selected import constant_array
from airflow_lineage_provider.spark.session import PARSER, apply_conf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from airflow_lineage_provider.sketches.numbering import Numbering, Widths


def with_fragments(frame: DataFrame, name: str, how: Numbering, number: str) -> DataFrame:
    """The frame with one more column, ``number``: that of the fragment of each row's ``name``."""
    with apply_conf(frame.sparkSession, PARSER):
        return frame.withColumn(number, fragment_number(name, how))


def fragment_number(name: str, how: Numbering) -> Column:
    """The number of the fragment of a column's value, which is never NULL. It is to be made under the default rules for SQL text."""
    value = F.col(name if name == FILE_PATH else quoted(name))
    if not how.cuts:
        found = F.lit(0)
    else:
        found = _by_width(name, value, how.widths, len(how.cuts)) if how.widths is not None else _searched(value, how)
    told = F.when(value.isNull(), F.lit(how.null))
    told = told if how.nan is None else told.when(F.isnan(value), F.lit(how.nan))
    return told.otherwise(found)


def _by_width(name: str, value: Column, widths: Widths, count: int) -> Column:
    """What is before the first cut, or behind the last, is told first: nothing overflows between them."""
    place = F.expr(f"CAST((CAST({quoted(name)} AS BIGINT) - {widths.first}L) DIV {widths.step}L AS INT) + 1")
    return F.when(value < F.lit(widths.first), F.lit(0)).when(value >= F.lit(widths.last), F.lit(count)).otherwise(place)


def _searched(value: Column, how: Numbering) -> Column:
    """Java's binary search tells the place of the cut, or ``-1 - n`` where ``n`` cuts are below."""
    compared = value.cast(how.type)
    if how.type == "double":
        compared = compared + F.lit(0.0)  # the search has -0.0 below 0.0
    place = InternalFunction.array_binary_search(constant_array(how.cuts, how.type), compared)
    before = F.when(place >= F.lit(0), place + F.lit(1)).otherwise(F.lit(-1) - place)
    return F.get(constant_array(list(map(str, how.numbers)), "int"), before) if how.numbers else before
