"""Reasoned UDFs that tasks of SQL name by their module."""

from __future__ import annotations

from airflow_lineage_provider.reasons import reasoned_udf

NOT_ONE = 1


@reasoned_udf("bigint", name="halved")
def halved(number: int) -> int:
    return number // 2


@halved.with_reason
def _(number: int) -> tuple[int, dict[str, int]]:
    return number // 2, {"of": number}
