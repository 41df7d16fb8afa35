"""The target of a derivation: which rows of the stored result a person asks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import settings
from airflow_lineage_provider.deriving.engines import stored_columns
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, SparkRequired, TargetTooLarge
from airflow_lineage_provider.plan.expressions import Attribute, Expression
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.shown import shown
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression, parse_predicate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.deriving.engines import Engines
    from airflow_lineage_provider.deriving.rows import SegmentRows
    from airflow_lineage_provider.store import Materialization, Store


def target_expression(target: Any, recorded: RecordedPlan, spark: SparkSession | None = None) -> tuple[Expression, str]:
    """The target as a condition over the result's attributes, and as text.

    :raises InvalidTarget: it does not parse, or names a column that the result does not have.
    """
    return condition_of(target, list(zip(recorded.plan.names, recorded.plan.output, strict=True)), recorded, spark)


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
    raise InvalidTarget(f"{shown(target)} ({type(target).__name__}) is no predicate")


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
        raise InvalidTarget("the target has a character that is none: NUL, or half of a pair (write '\\u0000' for NUL in a string)")
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

    def numbers(self, rows: SegmentRows, recorded: RecordedPlan, engines: Engines, store: Store) -> list[int]:
        """The numbers of the rows.

        :raises EmptyTarget, TargetTooLarge, SparkRequired: as `matching_rows`.
        """
        return matching_rows(self._condition, self.asked, rows, recorded, engines, store, self._limit, self._total)


def matching_rows(
    condition: Expression,
    asked: str,
    rows: SegmentRows,
    recorded: RecordedPlan,
    engines: Engines,
    store: Store,
    limit: int,
    total: int | None,
) -> list[int]:
    """The numbers of the result's rows that the target matches, ascending. ``total`` is the number of the result's rows, where known.

    :raises EmptyTarget: none does. :raises TargetTooLarge: more than ``limit`` do. :raises SparkRequired: PostgreSQL cannot
        evaluate the condition as Spark would, and there is no session.
    """
    return checked(numbers_where(condition, rows, recorded, engines, store, limit + 1), asked, recorded, limit, total)


def checked(numbers: list[int], asked: str, recorded: RecordedPlan, limit: int, total: int | None) -> list[int]:
    """The numbers, ascending.

    :raises EmptyTarget: there is none. :raises TargetTooLarge: there are more than ``limit``.
    """
    known, asked = "" if total is None else f"{total:,} ", asked if len(asked) <= 1_000 else f"{asked[:1_000]}…"
    if not numbers:
        raise EmptyTarget(f"no row matches {asked}; the result has {known}rows with columns {', '.join(recorded.plan.names)}")
    if len(numbers) > limit:
        raise TargetTooLarge(f"{asked} matches more than {limit:,} of the result's {known}rows; narrow it, or raise the limit")
    return sorted(numbers)


def numbers_where(
    condition: Expression, rows: SegmentRows, recorded: RecordedPlan, engines: Engines, store: Store, limit: int
) -> list[int]:
    """The numbers of at most ``limit`` rows of the result that meet a condition.

    :raises SparkRequired: PostgreSQL cannot evaluate the condition as Spark would, and there is no session.
    """
    if rows.restored is not None and rows.is_restored(0):
        return rows.restored.matching(0, _spark_text(condition, recorded), limit)
    result = rows.materialization(0)
    try:
        return _in_postgres(condition, result, recorded, store, limit)
    except PortabilityProblem as problem:
        if engines.spark is None:
            raise SparkRequired(f"the target needs Spark: {problem}; give a Spark session, or a simpler predicate") from problem
    text = _spark_text(condition, recorded)
    found = engines.spark.filter(result, lambda frame: frame.where(text).select(ROW).orderBy(ROW).limit(limit))
    return [int(number) for number in found.column(0).to_pylist()]


def _spark_text(condition: Expression, recorded: RecordedPlan) -> str:
    names = dict(recorded.materialized[0].columns)
    spelled = {a.id: ColumnRef(text=names[a.id]) for a in recorded.plan.output}
    return lower_expression(condition, spelled, dialect="spark", ansi=recorded.ansi)


def _in_postgres(condition: Expression, result: Materialization, recorded: RecordedPlan, store: Store, limit: int) -> list[int]:
    names = dict(recorded.materialized[0].columns)
    columns = stored_columns(result)
    spelled = {a.id: columns[names[a.id]] for a in recorded.plan.output}
    where = lower_expression(condition, spelled, dialect="postgres", ansi=recorded.ansi)
    rows = store.read(result, columns=[ROW], where=where, order_by=[ROW], limit=limit)
    return [int(number) for number in rows.column(0).to_pylist()]
