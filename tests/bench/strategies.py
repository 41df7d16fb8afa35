"""What each strategy costs at run time and gives back when a row is asked about; and what pushing the target down is worth."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from rich.table import Table

from airflow_lineage_provider.deriving.target import target_expression
from airflow_lineage_provider.plan.expressions import TRUE, Expression
from airflow_lineage_provider.spark.rereading.restore import restore
from airflow_lineage_provider.store.kept_udfs import UdfsOfRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_lineage_provider import Lineage
    from airflow_lineage_provider.recorded_run import Run
    from airflow_lineage_provider.words import Strategy

RUNS: tuple[Strategy, ...] = ("rerun", "function_materialization", "full_materialization")
REGIONS = 40
ROWS = 500
"""Few: every strategy runs several times, and a minute is enough for ratios."""


def pipeline(udf: str, rows: int) -> Callable[[SparkSession], DataFrame]:
    """A join, an expensive UDF above it, and an aggregation."""
    sql = f"""
        SELECT region, {udf}(income, debt, amount) AS judge, count(*) AS applications
        FROM applications a JOIN regions r ON r.application = a.application WHERE a.application < {rows} GROUP BY 1, 2"""
    return lambda spark: spark.sql(sql)


def make_regions(spark: SparkSession, folder: Any, rows: int) -> None:
    spark.range(rows).selectExpr("id AS application", f"pmod(hash(id, 7), {REGIONS}) AS region").coalesce(2).write.parquet(
        str(folder / "regions")
    )
    spark.read.parquet(str(folder / "regions")).createOrReplaceTempView("regions")


def compared(lineage: Lineage, udf: str, rows: int, repeats: int) -> Table:
    """Run time against plain Spark, and the time of one derivation against that under function materialization."""
    spark = lineage.spark
    assert spark is not None
    query = pipeline(udf, rows)
    plain: list[float] = []
    seconds: dict[str, list[float]] = {strategy: [] for strategy in RUNS}
    stored: dict[str, int] = {}
    answers: dict[str, float] = {}
    for _ in range(repeats):  # alternating, so that a machine that slows down slows all of them
        plain.append(_timed(lambda: query(spark).collect()))
        for strategy in RUNS:
            started = time.perf_counter()
            run = lineage.run(query, name=f"bench {strategy}", strategy=strategy)
            seconds[strategy].append(time.perf_counter() - started)
            run.close()
            stored[strategy] = sum(one.bytes for one in run.stored)
            answers[strategy] = min(answers.get(strategy, 1e9), _timed(functools.partial(_ask, run)))
    base, fm = statistics.median(plain), answers["function_materialization"]
    title = f"strategies, {rows:,} rows, join, expensive UDF, aggregation; {repeats} alternating runs"
    table = Table("strategy", "run s", "÷ plain", "stored", "one target s", "÷ FM", title=title)
    for strategy in RUNS:
        middle = statistics.median(seconds[strategy])
        answer = answers[strategy]
        cells = (f"{middle:.2f}", f"{middle / base:.2f}", f"{stored[strategy] / 1024:,.0f} kB", f"{answer:.2f}", f"{answer / fm:.1f}")
        table.add_row(strategy.replace("_", " "), *cells)
    return table


def _ask(run: Run) -> None:
    run.explain("region = 7 AND judge = 'Reject'", save=False)


def push_down(lineage: Lineage, udf: str, rows: int) -> Table:
    """Making again what one target needs, against making everything again."""
    run = lineage.run(pipeline(udf, rows), name="bench push-down", strategy="rerun")
    condition, _ = target_expression("region = 7", run.plan)
    everything, one = _made_again(lineage, run, TRUE), _made_again(lineage, run, condition)
    run.close()
    table = Table("made again", "s", "rows judged", "÷ everything", title=f"push-down of one target ({rows:,} rows, {REGIONS} regions)")
    for label, (seconds, judged) in (("everything", everything), ("region = 7", one)):
        table.add_row(label, f"{seconds:.2f}", f"{judged:,}", f"{seconds / everything[0]:.2f}")
    return table


def _made_again(lineage: Lineage, run: Run, condition: Expression) -> tuple[float, int]:
    assert lineage.spark is not None
    recorded, started = run.plan, time.perf_counter()
    (judged,) = (segment.number for segment in recorded.plan.segments if segment.functions)
    with ExitStack() as stack:
        stored = lineage.store.materializations(run.id)
        made = restore(lineage.spark, lineage.store, recorded, stored, UdfsOfRun(lineage.store, run.record), condition, stack)
        counts = {number: frame.count() for number, frame in made.frames.items()}
        return time.perf_counter() - started, counts[judged]


def _timed(function: Callable[[], Any]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started
