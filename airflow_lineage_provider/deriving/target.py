"""The target of a derivation: which rows of the stored result a person asks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, SparkRequired, TargetTooLarge
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.plan.expressions import Attribute, Expression
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sql import parse_predicate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.deriving.links import Numbers
    from airflow_lineage_provider.deriving.rows import RowSource


def target_expression(target: Any, recorded: RecordedPlan, spark: SparkSession | None = None) -> tuple[Expression, str]:
    """The target as a condition over the result's attributes, and as text.

    :raises InvalidTarget: it does not parse, or names a column that the result does not have.
    """
    return condition_of(target, list(zip(recorded.plan.names, recorded.plan.output, strict=True)), recorded, spark)


def target_columns(target: str, recorded: RecordedPlan) -> list[str]:
    """The columns of the result that a predicate reads.

    :raises InvalidTarget: as `target_expression`.
    """
    asked = {one.id for one in references(target_expression(target, recorded)[0])}
    return [name for name, one in zip(recorded.plan.names, recorded.plan.output, strict=True) if one.id in asked]


def condition_of(
    target: Any, columns: Sequence[tuple[str, Attribute]], recorded: RecordedPlan, spark: SparkSession | None = None
) -> tuple[Expression, str]:
    """A predicate (text, or a Spark `Column`) as a condition over columns, under the run's settings, and as text.

    :raises InvalidTarget: it is none, does not parse, names another column, or is longer than the setting allows.
    :raises SparkRequired: it is a `Column`, and there is no session to read it.
    """
    if isinstance(target, str):
        return parse_predicate(_bounded(target), columns, **_meaning(dict(recorded.plan.conf))), target
    if is_column(target):
        from airflow_lineage_provider.spark.rereading.column_condition import condition_of_column

        if spark is None:
            raise SparkRequired("a target that is a Column is read by Spark: give a Spark session, or write the condition as text")
        return condition_of_column(spark, target, columns, dict(recorded.plan.conf))
    raise InvalidTarget(f"{shown(target)} ({type(target).__name__}) is not a predicate")


def is_predicate(target: Any) -> bool:
    """Whether a target is a condition, and not rows."""
    return isinstance(target, str) or is_column(target)


def is_column(target: Any) -> bool:
    """Whether a target is one of Spark's columns. (Whoever has one has imported pyspark.)"""
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "Column" for kind in type(target).__mro__)


def _bounded(target: str) -> str:
    most = settings.target_length()
    if len(target) > most:
        raise InvalidTarget(
            f"the target has {len(target):,} characters, more than {most:,} (setting AIRFLOW_LINEAGE_TARGET_LENGTH); give rows by their "
            "values or positions, or a shorter condition"
        )
    if "\x00" in target or any("\ud800" <= character <= "\udfff" for character in target):
        raise InvalidTarget("the target has NUL or half of a surrogate pair in it, and SQL text cannot (NUL in a string is '\\u0000')")
    return target


def _meaning(conf: Mapping[str, str]) -> dict[str, Any]:
    """What a text means under a run's settings."""
    plain = conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ").upper()
    return {
        "case_sensitive": conf.get("spark.sql.caseSensitive", "false") == "true",
        "time_zone": conf.get("spark.sql.session.timeZone", ""),
        "timestamp_type": "timestamp_ntz" if plain == "TIMESTAMP_NTZ" else "timestamp",
    }


class PredicateTarget:
    """The rows of the result that meet a predicate."""

    def __init__(self, target: Any, recorded: RecordedPlan, limit: int, total: int | None, spark: SparkSession | None) -> None:
        """:raises InvalidTarget: it does not parse, or names a column that the result does not have."""
        self._condition, self.asked = target_expression(target, recorded, spark)
        self._limit, self._total = limit, total

    def condition(self) -> Expression:
        """What every row of the target meets: it goes down the plan where segments are made again."""
        return self._condition

    def numbers(self, rows: RowSource) -> Numbers:
        """The numbers of the rows, ascending.

        :raises EmptyTarget: there is none. :raises TargetTooLarge: there are more than the limit.
        :raises SparkRequired: only Spark can evaluate the condition as the run would have, and there is no session.
        """
        return checked(rows.matching(self._condition, self._limit + 1), self.asked, rows.recorded, self._limit, self._total)


def checked(numbers: Numbers, asked: str, recorded: RecordedPlan, limit: int, total: int | None) -> Numbers:
    """The numbers, ascending.

    :raises EmptyTarget: there is none. :raises TargetTooLarge: there are more than ``limit``.
    """
    import numpy as np

    known, asked = "" if total is None else f"{total:,} ", asked if len(asked) <= 1_000 else f"{asked[:1_000]}…"
    if not len(numbers):
        raise EmptyTarget(f"no row matches {asked}; the result has {known}rows with columns {', '.join(recorded.plan.names)}")
    if len(numbers) > limit:
        raise TargetTooLarge(f"{asked} matches more than {limit:,} of the result's {known}rows; narrow it, or raise max_rows (--max-rows)")
    return np.sort(numbers)
