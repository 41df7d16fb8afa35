"""The fragments that the rows of a result carry (`sketches.capture`), united while Spark keeps these rows (the paper's r7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from airflow_lineage_provider.shown import first_line
from airflow_lineage_provider.sketches.marks import Many, Mark, One
from airflow_lineage_provider.sketches.unions import from_words
from airflow_lineage_provider.spark.executing.lost_executors import lost_executors
from airflow_lineage_provider.spark.executing.run import under_settings
from airflow_lineage_provider.spark.fragment_numbers import fragment_number
from airflow_lineage_provider.spark.frames import quoted
from airflow_lineage_provider.spark.session import PARSER, apply_conf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from airflow_lineage_provider.sketches.numbering import AnyNumbering
    from airflow_lineage_provider.spark.executing.run import Execution


class MarksLost(Exception):
    """What the rows carried cannot be had any more, or may be of other rows than those that were stored."""


def fragments_carried(execution: Execution, marks: Sequence[Mark], how: AnyNumbering) -> frozenset[int]:
    """The fragments of one leaf that stand behind the result.

    :raises MarksLost: the rows are not kept any more, or were made again.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if execution.marked is None:
        raise MarksLost("the run's rows are not kept any more")
    try:
        with under_settings(execution.spark, execution.conf), apply_conf(execution.spark, PARSER):
            found = fragments_in(execution.marked, marks, how)
    except (Py4JError, PySparkException) as problem:
        raise MarksLost(f"what the rows carried could not be read: {first_line(problem)}") from problem
    if lost_executors(execution.spark) - execution.lost_before:
        raise MarksLost("an executor was lost, and with it what its rows carried")
    return found


def fragments_in(frame: DataFrame, marks: Sequence[Mark], how: AnyNumbering) -> frozenset[int]:
    """The fragments that the rows of a frame carry. It is to be read under the default rules for SQL text."""
    return frozenset[int]().union(*(_united(frame, mark, how) for mark in marks))


def _united(frame: DataFrame, mark: Mark, how: AnyNumbering) -> frozenset[int]:
    if isinstance(mark, One):
        return _numbers(frame, _of_row(mark, how))
    columns = [F.col(quoted(one.name)) for one in mark.columns]
    if mark.union == "words":
        (row,) = frame.agg(*map(F.bit_or, columns)).collect()
        return from_words(row)
    return _collected(frame, mark, columns[0])


def _of_row(mark: One, how: AnyNumbering) -> Column:
    if mark.values:
        return fragment_number([one.name for one in mark.values], how)
    assert mark.number is not None
    return F.col(quoted(mark.number.name))


def _collected(frame: DataFrame, mark: Many, sets: Column) -> frozenset[int]:
    """Sets, or sets of sets, laid out."""
    depth = mark.columns[0].type.count("array<")
    laid_out = frame.select(F.explode(sets).alias("one"))
    for _ in range(depth - 1):
        laid_out = laid_out.select(F.explode("one").alias("one"))
    return _numbers(laid_out, F.col("one"))


def _numbers(frame: DataFrame, number: Column) -> frozenset[int]:
    ((found,),) = frame.agg(F.collect_set(number)).collect()
    return frozenset(found)
