"""What recording costs without UDFs: TPC-H's queries and one row, by plain Spark, with lineage off and under each strategy.

With an output, and without: the rows come to the driver then, and the store has them as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.arms import collected, not_recorded, not_recorded_collected, recorded, stored, written
from tests.bench.comparison import Comparison, compared
from tests.bench.ground import Ground
from tests.in_turn import STRATEGIES
from tests.tpch.data import write_tpch
from tests.tpch.workloads import sql

SCALES = {"small": ("0.01",), "full": ("0.1", "1")}
QUERIES = {
    "small": ("q01", "q03", "q06"),
    "full": ("q01", "q03", "q05", "q06", "q07", "q09", "q10", "q12", "q18", "q21"),
}


WITHOUT_OUTPUT = {"small": ("q01",), "full": QUERIES["full"]}
ONE_ROW = "SELECT id, id * 2 AS twice FROM one_row"


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each query and scale factor, or two."""
    ground.spark.range(1).write.parquet(str(ground.folder / "one_row.parquet"))
    ground.tables("one_row")
    yield from _compared(ground, ONE_ROW, "one row")
    for scale in ground.scale_factors or SCALES[ground.size]:
        for name, path in write_tpch(ground.folder / f"sf{scale}", scale).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        for query in QUERIES[ground.size]:
            yield from _compared(ground, sql("tpch", query), f"TPC-H {query}, scale factor {scale}", query in WITHOUT_OUTPUT[ground.size])


def _compared(ground: Ground, text: str, title: str, also_without_output: bool = True) -> Iterator[Comparison]:
    if ground.wants(title):
        yield _with_output(ground, text, title)
    if also_without_output and ground.wants(without := f"{title}, no output"):
        yield _without_output(ground, text, without)


def _with_output(ground: Ground, text: str, title: str) -> Comparison:
    arms = {"plain": written(ground, text), "lineage off": not_recorded(ground, text)}
    arms |= {strategy: recorded(ground, text, strategy) for strategy in STRATEGIES}
    return compared(title, arms, ground.meter, ground.repeats)


def _without_output(ground: Ground, text: str, title: str) -> Comparison:
    arms = {"plain": collected(ground, text), "lineage off": not_recorded_collected(ground, text)}
    arms |= {strategy: stored(ground, text, strategy) for strategy in STRATEGIES}
    return compared(title, arms, ground.meter, ground.repeats)
