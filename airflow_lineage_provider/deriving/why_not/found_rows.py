"""The source rows that a person asks about, found in their table: by a condition, by values of every type, or by positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_lineage_provider.deriving.target_rows import CANDIDATES, GivenRows, missing_text, refuse_too_many, rows_alike
from airflow_lineage_provider.deriving.why_not.question import Asked
from airflow_lineage_provider.errors import EmptyTarget, InvalidTarget, TargetTooLarge
from airflow_lineage_provider.plan.guarantees import EXACT, Guarantee
from airflow_lineage_provider.tracing.key_index import KeyIndex

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_lineage_provider.spark.rereading.tracing import SparkTracing


def found_rows(asked: Asked, spark: SparkTracing, limit: int) -> pa.Table:
    """The rows, as `spark.rereading.asked_rows` gives them: lineage key, copies, the table's columns.

    :raises EmptyTarget: there is none. :raises TargetTooLarge: there are more than ``limit``. :raises InvalidTarget: a position has no row.
    """
    from airflow_lineage_provider.spark.rereading.asked_rows import asked_rows, count_rows, rows_at

    source = asked.leaves[0]
    if asked.keys is not None:
        raise InvalidTarget("rows by their lineage keys are followed forwards; name those of another question by a predicate or values")
    if len(asked.at) > limit:
        raise TargetTooLarge(f"{len(asked.at):,} positions are more than {limit:,} rows; name fewer, or raise max_rows (--max-rows)")
    if asked.at:
        found = rows_at(spark, source, asked.at)
        if found.num_rows < len(asked.at):
            raise InvalidTarget(f"{missing_text(asked.text)}: {asked.table} has {count_rows(spark, source):,} rows")
        return found
    if asked.given is not None:
        found = _like(asked.given, asked, spark, limit)
    else:
        assert asked.condition is not None
        found = asked_rows(spark, source, asked.condition, limit + 1)
    if not found.num_rows:
        raise EmptyTarget(
            f"no row of {asked.table} matches {asked.text}; it has {count_rows(spark, source):,} rows with columns "
            f"{', '.join(source.source.columns)}"
        )
    if found.num_rows > limit:
        raise TargetTooLarge(f"{asked.text} matches more than {limit:,} rows of {asked.table}; narrow it, or raise max_rows (--max-rows)")
    return found


def worth_of_copies(table: str, copies: pa.ChunkedArray | None) -> Guarantee:
    """What an answer about rows is worth each of which stands for so many (None: for one)."""
    import pyarrow.compute as pc

    if copies is not None and (pc.max(copies).as_py() or 0) > 1:
        return Guarantee(level="superset", cause=f"{table} has rows that nothing tells apart: they are followed together")
    return EXACT


def _like(given: GivenRows, asked: Asked, spark: SparkTracing, limit: int) -> pa.Table:
    """The rows with the given values, each once."""
    import pyarrow as pa

    from airflow_lineage_provider.spark.rereading.asked_rows import asked_rows

    source = asked.leaves[0]
    parts: list[pa.Table] = []
    if given.plain is not None:
        parts.append(asked_rows(spark, source, given.plain, limit + 1))
    for condition, cells in given.compared:
        candidates = asked_rows(spark, source, condition, CANDIDATES)
        refuse_too_many(candidates.num_rows, asked.text)
        first = candidates.num_columns - len(source.source.output)
        columns = {a.id: candidates.column(first + i) for i, a in enumerate(source.source.output)}
        parts.append(candidates.take(pa.array(rows_alike(cells, columns, candidates.num_rows), pa.int64())))
    return _each_once(pa.concat_tables(parts))


def _each_once(rows: pa.Table) -> pa.Table:
    """Rows that are found by several of the given ones, once: their lineage keys tell."""
    import pyarrow as pa

    index = KeyIndex(rows.select([name for name in rows.column_names if name.startswith("key_")]))
    return rows.filter(pa.array(index.earlier == 0)) if index.repeated else rows
