"""What capturing the lineage of a result costs with the run (Smoke, Sec. 6.2): TPC-H by plain Spark, recorded, and recorded and captured.

In each mode: found after the run (defer), collected while it is made (inject), and decided for each segment (auto: by the plan when it is
run first, which is not measured here, by what was measured from then on). All source tables, both directions, to the end of the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_lineage_provider import Capture
from airflow_lineage_provider.answers.captured import CapturedIndex
from airflow_lineage_provider.words import CaptureMode, words
from tests.bench.arms import recorded, rows_of, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.tpch.data import write_tpch
from tests.tpch.workloads import sql

SCALES = {"small": ("0.01",), "full": ("0.1", "1")}
QUERIES = ("q01", "q03", "q05")


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each query and scale factor."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        for name, path in write_tpch(ground.folder / f"sf{scale}", scale).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        for query in QUERIES:
            text = sql("tpch", query)
            arms = {"plain": written(ground, text), "run": recorded(ground, text, "function_materialization")}
            arms |= {f"run and {mode}": _captured(ground, text, f"{query} {scale}", mode) for mode in words(CaptureMode)}
            found = compared(f"TPC-H {query} captured, scale factor {scale}", arms, ground.meter, ground.repeats)
            captured = {f"run and {mode}": _index(ground, f"{query} {scale}", mode) for mode in words(CaptureMode)}
            found.facts = {name: _pairs(index) for name, index in captured.items()}
            found.notes = {name: _ways(index) for name, index in captured.items()}
            yield found


def _captured(ground: Ground, text: str, pipeline: str, mode: CaptureMode) -> Arm:
    where = ground.folder / "written" / f"captured {mode}"

    def run() -> None:
        name = _name(pipeline, mode)
        ground.lineage.run(text, name=name, output=f"{where}+overwrite", capture=Capture(mode=mode)).close()

    return Arm(run, lambda _: rows_of(where), parts={"bytes a pair": lambda: _maps(_index(ground, pipeline, mode))})


def _name(pipeline: str, mode: CaptureMode) -> str:
    return f"bench {pipeline} {mode}"


def _index(ground: Ground, pipeline: str, mode: CaptureMode) -> CapturedIndex:
    index = ground.lineage.get_run(ground.lineage.runs(_name(pipeline, mode))[0].id).index
    assert index is not None
    return index


def _pairs(index: CapturedIndex) -> dict[str, float]:
    """All modes capture the same: so many pairs of rows, in so many bytes."""
    return {"pairs": float(index.edges), "index bytes": float(index.bytes), "bytes a pair": index.bytes / max(index.edges, 1)}


def _maps(index: CapturedIndex) -> str:
    """What the bytes are of, the largest first."""
    ordered = sorted(index.maps, key=lambda one: -one.bytes)
    return "\n".join(f"{one.bytes:,} bytes: {one.edges:,} pairs, {one}" for one in ordered)


def _ways(index: CapturedIndex) -> str:
    """When the rows behind each segment's were found at last, and why then."""
    return "; ".join(f"segment {one.segment}: {one.mode}, {one.because}" for one in index.ways if one.mode != "stored")
