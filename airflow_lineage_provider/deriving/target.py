"""The target of a derivation: which rows of the stored result a person asks about."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.engines import stored_columns
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, SparkRequired, TargetTooLarge
from airflow_lineage_provider.plan.expressions import Attribute, Call, Cast, Expression, Literal, conjunction
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.plan.text import expression_text
from airflow_lineage_provider.recording import RecordedPlan
from airflow_lineage_provider.sql import ColumnRef, PortabilityProblem, lower_expression, parse_predicate

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.deriving.engines import Engines
    from airflow_lineage_provider.deriving.rows import SegmentRows
    from airflow_lineage_provider.store import Materialization, Store

Rows = Sequence[Mapping[str, Any]]


def target_expression(target: str | Rows | pa.Table, recorded: RecordedPlan) -> tuple[Expression, str]:
    """The target as a condition over the result's attributes, and as text.

    :raises InvalidTarget: it does not parse, or names a column that the result does not have.
    """
    return condition_of(target, list(zip(recorded.plan.names, recorded.plan.output, strict=True)), recorded)


def condition_of(target: str | Rows | pa.Table, columns: Sequence[tuple[str, Attribute]], recorded: RecordedPlan) -> tuple[Expression, str]:
    """A predicate or rows as a condition over columns, under the run's settings, and as text.

    :raises InvalidTarget: it does not parse, or names another column.
    """
    sensitive = dict(recorded.plan.conf).get("spark.sql.caseSensitive", "false") == "true"
    if isinstance(target, str):
        return parse_predicate(target, columns, case_sensitive=sensitive), target
    rows = target.to_pylist() if hasattr(target, "to_pylist") else list(target)
    if not rows:
        raise InvalidTarget("the target has no rows; give a predicate, or at least one row")
    condition = _any_of([_row_condition(row, columns) for row in rows])
    return condition, expression_text(condition)


class PredicateTarget:
    """The rows of the result that meet a predicate, or are like the rows that are given."""

    def __init__(self, target: str | Rows | pa.Table, recorded: RecordedPlan, limit: int, total: int | None) -> None:
        """:raises InvalidTarget: it does not parse, or names a column that the result does not have."""
        self._condition, self.asked = target_expression(target, recorded)
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
    numbers = numbers_where(condition, rows, recorded, engines, store, limit + 1)
    known = "" if total is None else f"{total:,} "
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


def _any_of(conditions: list[Expression]) -> Expression:
    """``a OR b OR …`` as a balanced tree: thousands of rows make it no deeper than a dozen levels."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return Call(function="or", arguments=(_any_of(conditions[:half]), _any_of(conditions[half:])), type="boolean")


def _row_condition(row: Mapping[str, Any], columns: Sequence[tuple[str, Attribute]]) -> Expression:
    terms = []
    for name, value in row.items():
        attribute = _column(name, columns)
        literal = Cast(child=literal_of(name, value), type=attribute.type)
        terms.append(Call(function="<=>", arguments=(attribute, literal), type="boolean"))
    condition = conjunction(tuple(terms))
    if condition is None:
        raise InvalidTarget("a target row has no columns; name at least one column and its value")
    return condition


def _column(name: str, columns: Sequence[tuple[str, Attribute]]) -> Attribute:
    exact = [a for known, a in columns if known == name] or [a for known, a in columns if known.casefold() == name.casefold()]
    if len(exact) != 1:
        problem = "more than one column is" if exact else "no column is"
        raise InvalidTarget(f"target row: {problem} named {name!r}; the result has {', '.join(known for known, _ in columns)}")
    return exact[0]


def literal_of(name: str, value: Any) -> Literal:
    """A Python value as Spark reads it; ``name`` is the column's, for the message.

    :raises InvalidTarget: it is of a type that cannot be compared.
    """
    if value is None:
        return Literal(value=None, type="void")
    if isinstance(value, bool):
        return Literal(value=str(value).lower(), type="boolean")
    if isinstance(value, int):
        return Literal(value=str(value), type="bigint" if -(2**63) <= value < 2**63 else f"decimal({len(str(abs(value)))},0)")
    if isinstance(value, float):
        return Literal(value=repr(value), type="double")
    if isinstance(value, decimal.Decimal):
        digits = value.as_tuple()
        scale = max(0, -int(digits.exponent))
        return Literal(value=format(value, "f"), type=f"decimal({max(len(digits.digits), scale)},{scale})")
    if isinstance(value, str):
        return Literal(value=value, type="string")
    if isinstance(value, bytes):
        return Literal(value=value.hex(), type="binary")
    if isinstance(value, datetime.datetime):
        kind = "timestamp" if value.tzinfo else "timestamp_ntz"
        return Literal(value=value.isoformat(sep=" "), type=kind)
    if isinstance(value, datetime.date):
        return Literal(value=value.isoformat(), type="date")
    raise InvalidTarget(
        f"target row: column {name!r} has a {type(value).__name__}, which cannot be compared; leave it out or use a predicate"
    )
