"""The value of a scalar subquery that may have several rows."""

from __future__ import annotations

from airflow_lineage_provider.plan.expressions import Attribute, Call, Cast, Expression, Literal

_MESSAGE = "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery used as an expression."


def single_value(rows: Attribute, value: Expression) -> Expression:
    """The value, or Spark's error where ``rows`` counts several: only where the value is asked for, as in Spark."""
    several = Call(function=">", arguments=(rows, Literal(value="1", type="bigint")), type="boolean")
    failed = Call(function="raise_error", arguments=(Literal(value=_MESSAGE, type="string"),), type="void")
    return Call(function="if", arguments=(several, Cast(child=failed, type=value.type), value), type=value.type)
