"""Arms that most experiments have: a query written by plain Spark, and recorded and written under each strategy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pyarrow import parquet

from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.running.plain import called
from airflow_lineage_provider.words import Reasons, Strategy
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

_WARM_UP = 5


def written(ground: Ground, sql: str, name: str = "plain") -> Arm:
    """By plain Spark."""
    where = ground.folder / "written" / name
    return Arm(lambda: ground.spark.sql(sql).write.mode("overwrite").parquet(str(where)), lambda _: rows_of(where))


def recorded(ground: Ground, sql: str, strategy: Strategy, reasons: Reasons = "lazy") -> Arm:
    """By a run."""
    where = ground.folder / "written" / f"{strategy} {reasons}"

    def run() -> None:
        name = f"bench {strategy} {reasons}"
        ground.lineage.run(sql, name=name, strategy=strategy, reasons=reasons, output=f"{where}+overwrite").close()

    return Arm(run, lambda _: rows_of(where))


def not_recorded(ground: Ground, sql: str) -> Arm:
    """As a task with lineage off does it."""
    where = ground.folder / "written" / "lineage off"
    return Arm(lambda: called(ground.spark, lambda spark: spark.sql(sql), {}, f"{where}+overwrite", "bench off"), lambda _: rows_of(where))


def not_recorded_collected(ground: Ground, sql: str) -> Arm:
    """As a task with lineage off does it, whose function takes the rows itself."""
    return Arm(lambda: called(ground.spark, lambda spark: spark.sql(sql).collect(), {}, None, "bench off").value, sorted_rows)


def collected(ground: Ground, sql: str) -> Arm:
    """By plain Spark, to the driver."""
    return Arm(lambda: ground.spark.sql(sql).collect(), sorted_rows)


def stored(ground: Ground, sql: str, strategy: Strategy) -> Arm:
    """By a run without an output, whose result is collected: the store has it as well."""

    def run() -> Any:
        made = ground.lineage.run(sql, name=f"bench {strategy}", strategy=strategy)
        rows = made.result.collect()
        made.close()
        return rows

    return Arm(run, sorted_rows)


def rows_of(folder: Path) -> list[str]:
    """The rows of Parquet files, in an order of their own."""
    return sorted_rows(parquet.read_table(folder).to_pylist())


def sorted_rows(rows: Any) -> list[str]:
    """Rows as texts, sorted."""
    return sorted(repr(tuple(row.values() if isinstance(row, dict) else row)) for row in rows)


def asking(ground: Ground, title: str, sql: str, target: Any) -> Iterator[Comparison]:
    """A question to a run under each strategy. As in the paper, reasons are made when the pipeline runs, or when it is run again."""
    kinds: dict[Strategy, Reasons] = {"rerun": "lazy", "function_materialization": "eager", "full_materialization": "eager"}
    runs = {str(one): ground.lineage.run(sql, name=f"asked {one}", strategy=one, reasons=kind) for one, kind in kinds.items()}
    arms = {name: _asked(made, target) for name, made in runs.items()}
    # A session that has done more of this is quicker: without it, the first of several sizes would look as if it gained most.
    found = compared(title, arms, ground.meter, ground.repeats, warm_up=_WARM_UP)
    found.facts = {name: {"stored tuples": sum(table.rows or 0 for table in made.stored)} for name, made in runs.items()}
    yield found
    for made in runs.values():
        made.close()
        ground.lineage.drop(made.id)


def _asked(made: Run, target: Any) -> Arm:
    ask = partial(made.explain, target, save=False, max_rows=1_000_000)
    return Arm(ask, answer_of, parts={"stored tuples": partial(stored_tables, made)})


def stored_tables(made: Run) -> str:
    """What a run stored: its tables, with their rows, and why they were stored."""
    tables = sorted(made.stored, key=lambda table: -(table.rows or 0))
    lines = [f"  {table.rows or 0:,} rows of {table.name} ({table.operator}): {table.because}" for table in tables]
    return "\n".join([f"under {made.record.strategy}", *lines])


def answer_of(found: Any) -> Any:
    """The source rows behind the target, and the decisions with their reasons."""
    sources = {name: sorted_rows(one.rows.to_pylist()) for name, one in found.sources.items()}
    # (The first column is the number of the decision.)
    return sources, sorted(str(list(row.values())[1:]) for one in found.reasons.values() for row in one.rows.to_pylist())
