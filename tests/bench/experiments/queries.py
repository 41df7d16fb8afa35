"""What recording costs without UDFs: TPC-H's queries, plain and under each strategy, with an output."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.arms import recorded, written
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


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each query and scale factor."""
    for scale in SCALES[ground.size]:
        for name, path in write_tpch(ground.folder / f"sf{scale}", scale).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        for query in QUERIES[ground.size]:
            text = sql("tpch", query)
            arms = {"plain": written(ground, text)}
            arms |= {strategy: recorded(ground, text, strategy) for strategy in STRATEGIES}
            yield compared(f"TPC-H {query}, scale factor {scale}", arms, ground.meter, ground.repeats)
