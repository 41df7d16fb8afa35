"""Columns that are not to be shown are of no use for questions either: filters and sorting would tell them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from airflow_lineage_provider.errors import InvalidTarget, PlanError
from airflow_lineage_provider.plan.datatypes import to_arrow
from airflow_lineage_provider.reasons.discretion import Discretion
from airflow_lineage_provider.recording import discretion_of
from airflow_lineage_provider.render.withheld import fields_within

if TYPE_CHECKING:
    from airflow_lineage_provider.recording import RecordedPlan, RecordedSource

SECRET = "the question reads a column whose values are withheld (AIRFLOW_LINEAGE_HIDE, AIRFLOW_LINEAGE_MASK)"


def check_askable(columns: Iterable[str], plan: RecordedPlan) -> None:
    """See that a question does not tell by its answer what is withheld.

    :raises InvalidTarget: it reads such a column of the result, or one with such a field in it.
    """
    if set(columns) & _secret_columns(plan):
        raise InvalidTarget(SECRET)


def check_source_askable(columns: Iterable[tuple[str, str]], table: str, plan: RecordedPlan) -> None:
    """The same of a question about rows of a source table: its columns, each with its type.

    :raises InvalidTarget: it reads a column that is withheld.
    """
    discretion = discretion_of(plan)
    if discretion and any(_is_secret(name, kind, discretion, table) for name, kind in columns):
        raise InvalidTarget(SECRET)


def askable_columns(plan: RecordedPlan) -> list[str]:
    """Those columns of the result that a question may read."""
    secret = _secret_columns(plan)
    return [name for name in plan.plan.names if name not in secret]


def askable_of_source(source: RecordedSource, table: str, plan: RecordedPlan) -> list[str]:
    """Those columns of a source table that a question may read."""
    discretion = discretion_of(plan)
    columns = zip(source.source.columns, source.source.output, strict=True)
    return [name for name, one in columns if not (discretion and _is_secret(name, one.type, discretion, table))]


def _secret_columns(plan: RecordedPlan) -> set[str]:
    discretion = discretion_of(plan)
    if not discretion:
        return set()
    columns = zip(plan.plan.names, plan.plan.output, strict=True)
    return {name for name, one in columns if _is_secret(name, one.type, discretion)}


def _is_secret(name: str, kind: str, discretion: Discretion, table: str = "") -> bool:
    return discretion.withholds(name, table) or any(map(discretion.withholds, _fields(kind)))


def _fields(kind: str) -> list[str]:
    try:
        return list(fields_within(to_arrow(kind)))
    except PlanError:  # a type that Arrow has no like of has no fields either
        return []
