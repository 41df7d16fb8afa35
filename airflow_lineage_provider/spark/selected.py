"""A sketch's selection (`sketches.use`) as a condition of Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.internal import InternalFunction

from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.identity import input_files
from airflow_lineage_provider.spark.session import PARSER, apply_conf
from airflow_lineage_provider.sql import ColumnRef, lower_expression

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from airflow_lineage_provider.sketches.use import Membership, Selection

_FIRST_SEPARATOR = 0xE000
"""Code points from here on are nobody's, and none of them means anything in a regular expression."""


def selected(frame: DataFrame, selection: Selection | None, name: str) -> DataFrame:
    """The rows of a frame that are selected by the values of its column ``name``; all where there is no selection."""
    if selection is None:
        return frame
    if selection.files is not None:
        return frame.where(F.col(FILE_PATH).isin(list(selection.files)))
    with apply_conf(frame.sparkSession, PARSER):
        return frame.where(_condition(selection, name))


def names_as_read(frame: DataFrame, selection: Selection) -> bool:
    """Whether all files of a selection, if it is by their names, are among those that the frame reads: else rows would be missed."""
    return selection.files is None or set(selection.files) <= set(input_files(frame))


def _condition(selection: Selection, name: str) -> Column:
    """The membership comes first: it leaves the fewest rows, of which alone the intervals are asked then. (The reader is given these
    wherever they stand.)"""
    terms = []
    if selection.membership is not None:
        terms.append(_is_member(selection.membership, F.col(quoted(name))))
    if selection.intervals is not None:
        names = {selection.column.id: ColumnRef(text=name)}
        terms.append(F.expr(lower_expression(selection.intervals, names, dialect="spark")))
    found = F.lit(True)
    for at, term in enumerate(terms):
        found = term if at == 0 else found & term
    return found


def _is_member(membership: Membership, value: Column) -> Column:
    """The place that Java's binary search tells is the bound's own, or ``-1 - n`` where ``n`` bounds are below: both are even just where
    the value is behind an odd number of bounds."""
    compared = value.cast(membership.type)
    if membership.type == "double":
        compared = compared + F.lit(0.0)  # the search has -0.0 below 0.0
    inside = F.lit(membership.before)
    if membership.bounds:
        place = InternalFunction.array_binary_search(constant_array(membership.bounds, membership.type), compared)
        inside = place.bitwiseAND(F.lit(1)) == F.lit(int(membership.before))
    if membership.nan is not None:
        inside = F.isnan(value) | inside if membership.nan else ~F.isnan(value) & inside
    found = value.isNotNull() & inside
    return value.isNull() | found if membership.null else found


def constant_array(texts: Sequence[str], type_: str) -> Column:
    """One constant: Spark reads it in a moment, and thousands of them in seconds."""
    separator = _unused(texts)
    return F.split(F.lit(separator.join(texts)), separator).cast(f"array<{type_}>")


def _unused(texts: Sequence[str]) -> str:
    """A character that none of the texts has."""
    used, at = frozenset().union(*texts), _FIRST_SEPARATOR
    while chr(at) in used:
        at += 1
    return chr(at)
