"""Which source rows a person asks about: the table, what its rows meet or where they stand, the places where the plan reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.answers.keyed_rows import KeyedRows
from airflow_lineage_provider.deriving.target import condition_of, is_predicate
from airflow_lineage_provider.deriving.target_rows import GivenRows, positions_of, positions_text
from airflow_lineage_provider.errors import InvalidTarget
from airflow_lineage_provider.plan.expression_walk import references
from airflow_lineage_provider.recording import RecordedPlan, RecordedSource, listed_tables, named_table, tables_of
from airflow_lineage_provider.sql.predicate_text import parse_expression

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.plan.expressions import Attribute, Expression


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Rows of one source table: those that meet the condition, those like ``given``, those ``at`` positions, or those with ``keys``.

    ``leaves`` are the places where the plan reads the table.
    """

    table: str
    leaves: tuple[RecordedSource, ...]
    text: str
    condition: Expression | None = None
    given: GivenRows | None = None
    at: Sequence[int] = ()
    keys: pa.Table | None = None


def columns_read(asked: Asked) -> list[tuple[str, str]]:
    """The columns of the table that the condition reads, each with its type; of positions there are none."""
    source, read = asked.leaves[0].source, {one.id for one in references(asked.condition)} if asked.condition is not None else set()
    return [(name, a.type) for name, a in zip(source.columns, source.output, strict=True) if a.id in read]


def asked_of(rows: Any, table: str | None, recorded: RecordedPlan, spark: SparkSession | None = None, *, at: Any = None) -> Asked:
    """The table whose rows are meant, and which rows: ``rows`` is a predicate or rows, or None where ``at`` has positions.

    :raises InvalidTarget: there is no such table, it has not all of the columns, or several have; the message lists the tables.
    """
    if (rows is None) == (at is None):
        raise InvalidTarget("name the source rows in exactly one way: a predicate or rows, or positions, at=[0, 3]")
    tables = tables_of(recorded)
    if at is not None:
        return _at(at, table, tables)
    if isinstance(rows, KeyedRows):
        name = named_table(rows.table, tables)
        return Asked(table=name, leaves=tuple(tables[name]), text=f"{rows.keys.num_rows:,} rows of {name}", keys=rows.keys)
    if isinstance(rows, str):
        parse_expression(rows)  # what is no condition at all is said before any table is looked at
    if table is not None:
        name = named_table(table, tables)
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
    raise InvalidTarget(f"{which} the columns of the question; name one with table=…. The run's source tables: {listed_tables(tables)}")


def _at(at: Any, table: str | None, tables: Mapping[str, list[RecordedSource]]) -> Asked:
    positions = positions_of(at)
    if table is None and len(tables) != 1:
        raise InvalidTarget(f"positions are those of one table: name it with table=…. The run's source tables: {listed_tables(tables)}")
    name = next(iter(tables)) if table is None else named_table(table, tables)
    leaves = tables[name]
    if leaves[0].identity.kind == "row_digest":
        raise InvalidTarget(
            f"the rows of {name} have no positions: nothing numbers them; ask by a predicate or by values, or run the pipeline with a key "
            f"of the table, keys={{{name!r}: [column]}}"
        )
    return Asked(table=name, leaves=tuple(leaves), text=positions_text(positions, name), at=positions)


def _asked(rows: Any, name: str, leaves: list[RecordedSource], recorded: RecordedPlan, spark: SparkSession | None) -> Asked:
    source = leaves[0].source
    columns: list[tuple[str, Attribute]] = list(zip(source.columns, source.output, strict=True))
    try:
        if is_predicate(rows):
            condition, text = condition_of(rows, columns, recorded, spark)
            return Asked(table=name, leaves=tuple(leaves), text=text, condition=condition)
        given = GivenRows(rows, columns, recorded)
    except InvalidTarget as problem:
        # The words are those of a question about the result.
        raise InvalidTarget(
            str(problem).replace("column of the result", f"column of {name}").replace("the result has", f"{name} has")
        ) from None
    return Asked(table=name, leaves=tuple(leaves), text=given.asked, given=given)
