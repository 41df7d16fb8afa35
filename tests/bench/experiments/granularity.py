"""Lineage of a granularity (forward lineage by roBDDs, Sec. 5.5): of TPC-H queries which years, weeks and ways of shipping stand behind
each row of the result, in place of which lines: what capturing costs, how many bytes it takes, and how long it takes to ask.

The lines are captured, too, and read for each question: both give the same values, for every row of the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import mean

import pytest

from airflow_lineage_provider import Capture, CaptureTable
from airflow_lineage_provider.recorded_run import Run
from tests.bench.arms import rows_of, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.timed import Asked, Timed
from tests.tpch.data import write_tpch
from tests.tpch.workloads import sql

SCALES = {"small": ("0.01",), "full": ("1",)}
QUERIES = {"small": ("q05", "q06"), "full": ("q05", "q06", "q07", "q09", "q15")}
VALUES = ("year(l_shipdate)", "weekofyear(l_shipdate)", "l_shipmode")
WAYS = {"lines": CaptureTable(), "values": CaptureTable(granularity=[*VALUES])}
PAPER = {"q05": 394, "q06": 364, "q07": 334, "q09": 402, "q15": 91}
"""Values behind a row of the result, in the mean (table 8)."""


def run(ground: Ground) -> Iterator[Comparison]:
    """Two comparisons for each query."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        for name, path in write_tpch(ground.folder / f"sf{scale}", scale).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AIRFLOW_LINEAGE_SOURCE_LIMIT", "10000000")
            for query in QUERIES[ground.size]:
                yield from _of(ground, query, scale)


def _of(ground: Ground, query: str, scale: str) -> Iterator[Comparison]:
    text, runs = sql("tpch", query), dict[str, Run]()

    def captured(name: str, way: CaptureTable) -> Arm:
        where = ground.folder / "written" / name

        def do() -> None:
            wanted = Capture(direction="backward", tables={"lineitem": way})
            made = ground.lineage.run(text, name=f"bench {query} {name}", output=f"{where}+overwrite", capture=wanted)
            made.close()
            assert made.index is not None
            assert not made.index.problem, made.index.problem
            runs[name] = ground.lineage.get_run(made.id)

        return Arm(do, lambda _: rows_of(where), parts={"index bytes": lambda: str(runs[name].index)})

    arms = {"plain": written(ground, text)} | {name: captured(name, way) for name, way in WAYS.items()}
    found = compared(f"TPC-H {query} captured by lines and by values, scale factor {scale}", arms, ground.meter, ground.repeats)
    found.facts = {name: _bytes(one) for name, one in runs.items()}
    yield found
    asked = {name: Asked(partial(_every_row, one)) for name, one in runs.items()}
    found = compared(
        f"TPC-H {query}, the values behind each row, scale factor {scale}",
        {name: Arm(one) for name, one in asked.items()},
        ground.meter,
        ground.repeats,
    )
    found.facts = {name: one.last.figures() | {"values a row": mean(map(len, one.last.answers.values()))} for name, one in asked.items()}
    found.notes["in the paper"] = f"{PAPER[query]} values a row, at scale factor 1"
    yield found


def _bytes(run: Run) -> dict[str, float]:
    assert run.index is not None
    return {"index bytes": float(run.index.bytes), "pairs": float(run.index.edges)}


def _every_row(run: Run, timed: Timed) -> None:
    """What stands behind each row: the different values."""
    for at in range(run.summary.rows or 0):
        ask = partial(_values, run, at)
        timed.ask(at, ask, lambda found: sorted(found))


def _values(run: Run, at: int) -> list[str]:
    found = run.backward(at=[at], table="lineitem", lazy=False).aggregate(VALUES, [])
    return [repr([str(one) for one in row.values()]) for row in found.to_pylist()]
