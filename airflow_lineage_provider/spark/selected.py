"""A sketch's selection (`sketches.use`) as a condition of Spark's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pyspark.sql import functions as F

from airflow_lineage_provider.sketches.column_text import columns_in
from airflow_lineage_provider.sketches.files import FILE_PATH
from airflow_lineage_provider.sketches.ordinals import CodeMembership
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.identity import input_files
from airflow_lineage_provider.spark.searched import beyond, code_of, constant_array, place_among, whole_place
from airflow_lineage_provider.spark.session import PARSER, apply_conf
from airflow_lineage_provider.sql import ColumnRef, lower_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from airflow_lineage_provider.sketches.grid import Grid
    from airflow_lineage_provider.sketches.use import Membership, Selection

DICTIONARIES = "parquet.filter.dictionary.enabled"


@contextmanager
def without_dictionaries(spark: SparkSession) -> Iterator[None]:
    """Parquet's reader skips by statistics, and not by whether a row group's dictionary has a value, for a while.

    For each range it reads the dictionary of the row group again, and makes a set of it: of a clustered column read in 57 ranges that took
    two thirds of the whole run (`make bench`, ``sketches``). Rows are the same: what is not skipped is looked at. Of several threads the
    last one sets back what the first has found.
    """
    with _LOCK:
        users, before = _WITHOUT.get(spark, (0, None))
        if not users:
            before = spark.conf.get(DICTIONARIES, None)
            spark.conf.set(DICTIONARIES, "false")
        _WITHOUT[spark] = users + 1, before
    try:
        yield
    finally:
        with _LOCK:
            users, before = _WITHOUT.pop(spark)
            if users > 1:
                _WITHOUT[spark] = users - 1, before
            elif before is None:
                spark.conf.unset(DICTIONARIES)
            else:
                spark.conf.set(DICTIONARIES, before)


_LOCK = threading.Lock()
_WITHOUT: WeakKeyDictionary[SparkSession, tuple[int, str | None]] = WeakKeyDictionary()
"""By session, how many read so, and what was set before."""


def selected(frame: DataFrame, selection: Selection | None, *names: str) -> DataFrame:
    """The rows of a frame that are selected by the values of its column, or columns, of these names; all where there is no selection."""
    if selection is None:
        return frame
    if selection.files is not None:
        return frame.where(F.col(FILE_PATH).isin(list(selection.files)))
    with apply_conf(frame.sparkSession, PARSER):
        return frame.where(_condition(selection, names))


def selected_by(frame: DataFrame, selection: Selection | None, column: str) -> DataFrame:
    """The same by what a sketch calls its column (`sketches.column_text`)."""
    return selected(frame, selection, *columns_in(column, frame.columns))


def names_as_read(frame: DataFrame, selection: Selection) -> bool:
    """Whether all files of a selection, if it is by their names, are among those that the frame reads: else rows would be missed."""
    return selection.files is None or set(selection.files) <= set(input_files(frame))


def _condition(selection: Selection, names: Sequence[str]) -> Column:
    """The membership comes first: it leaves the fewest rows, of which alone the intervals are asked then. (The reader is given these
    wherever they stand.)"""
    terms = []
    if isinstance(selection.membership, CodeMembership):
        terms.append(_has_code(selection.membership, names))
    elif selection.membership is not None:
        terms.append(_is_member(selection.membership, F.col(quoted(names[0]))))
    if selection.intervals is not None:
        spelled = {one.id: ColumnRef(text=name) for one, name in zip(selection.columns, names, strict=True)}
        terms.append(F.expr(lower_expression(selection.intervals, spelled, dialect="spark")))
    found = F.lit(True)
    for at, term in enumerate(terms):
        found = term if at == 0 else found & term
    return found


def _is_member(membership: Membership, value: Column) -> Column:
    inside = _is_inside(value, membership.bounds, membership.type, membership.before)
    if membership.grid is not None:
        inside = _by_bits(whole_place(value, membership.type), membership.grid, inside)
    if membership.nan is not None:
        inside = F.isnan(value) | inside if membership.nan else ~F.isnan(value) & inside
    found = value.isNotNull() & inside
    return value.isNull() | found if membership.null else found


def _has_code(membership: CodeMembership, names: Sequence[str]) -> Column:
    code = code_of([F.col(quoted(name)) for name in names], membership.parts)
    inside = _is_inside(code, list(map(str, membership.bounds)), "bigint", membership.before)
    return inside if membership.grid is None else _by_bits(code, membership.grid, inside)


def _by_bits(place: Column, how: Grid, inside: Column) -> Column:
    bucket = F.shiftright(place - F.lit(how.first), how.shift)
    word = F.get(constant_array(list(map(str, how.words)), "bigint"), F.shiftright(bucket, 6).cast("int"))
    bit = F.call_function("shiftright", word, bucket.bitwiseAND(F.lit(63)).cast("int")).bitwiseAND(F.lit(1))
    return beyond(place, how.first, how.last, how.before, how.after).otherwise((bit == F.lit(1)) & inside)


def _is_inside(value: Column, bounds: Sequence[str], type_: str, before: bool) -> Column:
    """The place that Java's binary search tells is the bound's own, or ``-1 - n`` where ``n`` bounds are below: both are even just where
    the value is behind an odd number of bounds."""
    if not bounds:
        return F.lit(before)
    return place_among(value, bounds, type_).bitwiseAND(F.lit(1)) == F.lit(int(before))
