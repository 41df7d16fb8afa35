"""The number of the fragment that a row is in by one column, or by several (`sketches.numbering`), as a column of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.sketches.ordinals import CompositeNumbering
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.searched import beyond, code_of, constant_array, place_among, whole_place
from airflow_lineage_provider.spark.session import PARSER, apply_conf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from airflow_lineage_provider.sketches.grid import Starts
    from airflow_lineage_provider.sketches.numbering import AnyNumbering, Numbering, Widths


def with_fragments(frame: DataFrame, name: str, how: AnyNumbering, number: str) -> DataFrame:
    """The frame with one more column, ``number``: that of the fragment of each row's ``name``, which may name several columns."""
    with apply_conf(frame.sparkSession, PARSER):
        return frame.withColumn(number, fragment_number(columns_in(name, frame.columns), how))


def fragment_number(names: Sequence[str], how: AnyNumbering) -> Column:
    """The number of the fragment of a row's values in these columns, which is never NULL. It is to be made under the default rules for SQL
    text."""
    if isinstance(how, CompositeNumbering):
        return _by_code(names, how)
    (name,) = names
    return _of_value(name, how)


def _by_code(names: Sequence[str], how: CompositeNumbering) -> Column:
    if not how.codes:
        return F.lit(0)
    return _cuts_before(place_among(code_of([F.col(quoted(name)) for name in names], how.parts), list(map(str, how.codes)), "bigint"))


def _of_value(name: str, how: Numbering) -> Column:
    value = F.col(name if name == FILE_PATH else quoted(name))
    if not how.cuts:
        found = F.lit(0)
    else:
        found = _by_width(name, value, how.widths, len(how.cuts)) if how.widths is not None else _searched(value, how)
    told = F.when(value.isNull(), F.lit(how.null))
    told = told if how.nan is None else told.when(F.isnan(value), F.lit(how.nan))
    return told.otherwise(found)


def _by_width(name: str, value: Column, widths: Widths, count: int) -> Column:
    place = F.expr(f"CAST((CAST({quoted(name)} AS BIGINT) - {widths.first}L) DIV {widths.step}L AS INT) + 1")
    return beyond(value, widths.first, widths.last, 0, count).otherwise(place)


def _searched(value: Column, how: Numbering) -> Column:
    before = _cuts_before(place_among(value, how.cuts, how.type))
    if how.starts is not None:
        before = _by_starts(whole_place(value, how.type), how.starts, before)
    return F.get(constant_array(list(map(str, how.numbers)), "int"), before) if how.numbers else before


def _by_starts(place: Column, how: Starts, searched: Column) -> Column:
    distance = place - F.lit(how.first)
    found = F.get(constant_array(list(map(str, how.sums)), "bigint"), F.shiftright(distance, how.shift).cast("int"))
    told = beyond(place, how.first, how.last, 0, how.count)
    if min(how.sums) < 0:  # else the search would be compiled into the loop for nothing
        told = told.when(found < F.lit(0), searched)
    return told.otherwise(F.shiftright(found + distance.bitwiseAND(F.lit(how.inside)), how.shift + 1).cast("int"))


def _cuts_before(place: Column) -> Column:
    """How many cuts are not above a value, by its place among them."""
    return F.when(place >= F.lit(0), place + F.lit(1)).otherwise(F.lit(-1) - place)
