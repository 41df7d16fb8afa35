"""Which source rows a person asks about: the table, the condition, the places where the plan reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.deriving.derive import tables_of
from airflow_lineage_provider.deriving.target import condition_of
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource
from airflow_lineage_provider.sql.predicate_text import parse_expression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.plan.expressions import Expression


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Rows of one source table; ``leaves`` are the places where the plan reads it."""

    table: str
    leaves: tuple[RecordedSource, ...]
    condition: Expression
    text: str


def asked_of(rows: Any, table: str | None, recorded: RecordedPlan, spark: SparkSession | None = None) -> Asked:
    """The table whose rows are meant, and the condition over its columns.

    :raises InvalidTarget: there is no such table, it has not all of the columns, or several have; the message lists the tables.
    """
    tables = tables_of(recorded)
    if isinstance(rows, str):
        parse_expression(rows)  # what is no condition at all is said before any table is looked at
    if table is not None:
        name = _named(table, tables)
        return _asked(rows, name, tables[name], recorded, spark)
    found: list[Asked] = []
    problems: list[InvalidTarget] = []
    for name, leaves in tables.items():
        try:
            found.append(_asked(rows, name, leaves, recorded, spark))
        except InvalidTarget as problem:
            problems.append(problem)
    if len(found) == 1:
        return found[0]
    if not found and len(problems) == 1:
        raise problems[0]
    which = f"{', '.join(one.table for one in found)} all have" if found else "no source table has"
    raise InvalidTarget(f"{which} the columns of the question; name one with table=…. The run's source tables: {_listed(tables)}")


def _named(table: str, tables: Mapping[str, list[RecordedSource]]) -> str:
    exact = [name for name in tables if name == table] or [name for name in tables if name.casefold() == table.casefold()]
    if len(exact) != 1:
        raise InvalidTarget(f"the run has no source table {table!r}; it has {_listed(tables)}")
    return exact[0]


def _listed(tables: Mapping[str, list[RecordedSource]]) -> str:
    return "; ".join(f"{name} ({', '.join(leaves[0].source.columns)})" for name, leaves in tables.items())


def _asked(rows: Any, name: str, leaves: list[RecordedSource], recorded: RecordedPlan, spark: SparkSession | None) -> Asked:
    source = leaves[0].source
    columns = list(zip(source.columns, source.output, strict=True))
    try:
        condition, text = condition_of(rows, columns, recorded, spark)
    except InvalidTarget as problem:
        # The words are those of a question about the result.
        raise InvalidTarget(
            str(problem).replace("column of the result", f"column of {name}").replace("the result has", f"{name} has")
        ) from None
    return Asked(table=name, leaves=tuple(leaves), condition=condition, text=text)
