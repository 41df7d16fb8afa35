"""Arms that most experiments have: a query written by plain Spark, and recorded and written under each strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyarrow import parquet

from airflow_lineage_provider.words import Reasons, Strategy
from tests.bench.comparison import Arm
from tests.bench.ground import Ground

STRATEGIES: tuple[Strategy, ...] = ("rerun", "function_materialization", "full_materialization")


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
