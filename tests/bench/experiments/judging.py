"""What recording costs where a model judges: a cheap rule and an expensive model, lazy and eager reasons, against plain Spark."""

from __future__ import annotations

from collections.abc import Iterator

from pyarrow import parquet

from airflow_lineage_provider.reasons import ReasonedUdf
from airflow_lineage_provider.words import Reasons
from tests.bench.arms import recorded, sorted_rows, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.judges import applications, cheap_exam, expensive_exam, judging

CHEAP = {"small": 100_000, "full": 1_000_000}
EXPENSIVE = {"small": 2_000, "full": 20_000}
EXPLAINED = {"small": 200, "full": 4_000}
"""Rows that are explained by a larger forest, eagerly and lazily."""
TREES = 50


def run(ground: Ground) -> Iterator[Comparison]:
    """The cheap rule; the expensive model, explained eagerly on a tenth of the rows; and what eager reasons cost beside lazy ones."""
    if ground.wants("a cheap rule"):
        yield _of(ground, cheap_exam(), CHEAP[ground.size], ("lazy", "eager"), "a cheap rule")
    if ground.wants("an expensive model"):
        expensive = expensive_exam()
        yield _of(ground, expensive, EXPENSIVE[ground.size], ("lazy",), "an expensive model")
        yield _of(ground, expensive, EXPENSIVE[ground.size] // 10, ("eager",), "an expensive model")
    if ground.wants(forest := f"a forest of {TREES}"):
        yield _of(ground, expensive_exam(TREES), EXPLAINED[ground.size], ("lazy", "eager"), forest)


def _of(ground: Ground, udf: ReasonedUdf, rows: int, kinds: tuple[Reasons, ...], what: str) -> Comparison:
    applications(ground, rows)
    udf.register(ground.spark)
    text = judging(udf.name)
    arms = {f"{kind} reasons": recorded(ground, text, "function_materialization", kind) for kind in kinds}
    if kinds == ("eager",):
        arms["plain, in reasoning mode"] = _reasoning(ground, udf)
    return compared(f"{what}, {rows:,} rows, {' and '.join(kinds)}", {"plain": written(ground, text)} | arms, ground.meter, ground.repeats)


def _reasoning(ground: Ground, udf: ReasonedUdf) -> Arm:
    """By plain Spark, which writes value and reason of every row: what eager reasons add to their own cost is held against this."""
    ground.spark.udf.register("bench_reasoning", udf.spark_function("reasoning"))
    where = ground.folder / "written" / "reasoning"
    wrote = written(ground, judging("bench_reasoning"), where.name)
    return Arm(
        wrote.do, lambda _: sorted_rows((row["application"], row["judge"]["value"]) for row in parquet.read_table(where).to_pylist())
    )
