"""What capturing the lineage of a result costs with the run (Smoke, Sec. 6.2, and forward lineage, Sec. 5.3): TPC-H by plain Spark,
recorded, and recorded and captured; and how large the indexes are in each way of writing (forward lineage, table 7 and Sec. 5.4).

In each mode: found after the run (defer), collected while it is made (inject), and decided for each segment (auto: by the plan when it is
run first, which is not measured here, by what was measured from then on). All source tables, both directions, to the end of the capture;
and of the largest table alone, backward. With defer the result is there when the run is: what a person waits for is the arm ``run``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_lineage_provider import Capture, Run
from airflow_lineage_provider.answers.captured import CapturedIndex
from airflow_lineage_provider.capture.recorded import RecordedMap
from airflow_lineage_provider.deriving.asked_run import AskedRun
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.words import CaptureMode, words
from tests.bench.arms import recorded, rows_of, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.index_sizes import compared_sizes, sizes
from tests.tpch.data import write_tpch
from tests.tpch.forward_lineage import SPJ, TABLE_7
from tests.tpch.workloads import sql

SCALES = {"small": ("0.01",), "full": ("0.1", "1")}
QUERIES = {name: sql("tpch", name) for name in ("q01", "q12", "q18")} | {one.query: one.text for one in TABLE_7} | {**SPJ}
SOME = {"small": ("q01", "q03", "q11", "s2"), "full": tuple(sorted(QUERIES))}
LARGEST = {"q11": "partsupp", "q16": "partsupp"}
"""Of most it is lineitem."""


def run(ground: Ground) -> Iterator[Comparison]:
    """Two comparisons for each query and scale factor."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        for name, path in write_tpch(ground.folder / f"sf{scale}", scale).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        for query in (one for one in SOME[ground.size] if ground.wants(f"TPC-H {one} captured, scale factor {scale}")):
            yield _whole(ground, query, scale)
            yield _of_one_table(ground, query, scale)


def _whole(ground: Ground, query: str, scale: str) -> Comparison:
    # Where nothing is aggregated the rows have their source rows' numbers: no mode finds them otherwise.
    modes: Sequence[CaptureMode] = ("auto",) if query in SPJ else words(CaptureMode)
    made = {f"run and {mode}": _Captured(ground, QUERIES[query], f"{query} {scale} {mode}", Capture(mode=mode)) for mode in modes}
    arms = _beside(ground, query) | {name: one.arm for name, one in made.items()}
    found = compared(f"TPC-H {query} captured, scale factor {scale}", arms, ground.meter, ground.repeats)
    found.facts = {name: _pairs(one.index) for name, one in made.items()}
    found.facts["run and auto"] |= compared_sizes(made["run and auto"].sizes())
    found.notes = {name: _ways(one.index) for name, one in made.items()}
    found.notes["shapes"] = _shapes(made["run and auto"].index)
    return found


def _of_one_table(ground: Ground, query: str, scale: str) -> Comparison:
    wanted = Capture(direction="backward", tables=[LARGEST.get(query, "lineitem")])
    made = _Captured(ground, QUERIES[query], f"{query} {scale} one table", wanted)
    arms = _beside(ground, query) | {"run and auto": made.arm}
    found = compared(f"TPC-H {query} captured, one table, one direction, scale factor {scale}", arms, ground.meter, ground.repeats)
    found.facts = {"run and auto": _pairs(made.index)}
    return found


def _beside(ground: Ground, query: str) -> dict[str, Arm]:
    text = QUERIES[query]
    return {"plain": written(ground, text), "run": recorded(ground, text, "function_materialization")}


class _Captured:
    """A query that is run and captured, again and again; ``run`` is the last."""

    def __init__(self, ground: Ground, text: str, name: str, wanted: Capture) -> None:
        self.ground, self.text, self.name, self.wanted = ground, text, f"bench {name}", wanted
        self.where = ground.folder / "written" / f"captured {name.rpartition(' ')[2]}"
        self.arm = Arm(
            self._do, lambda _: rows_of(self.where), parts={"bytes a pair": lambda: _maps(self.index), "as chosen ÷ smallest": self._ways}
        )

    def _do(self) -> None:
        self.ground.lineage.run(self.text, name=self.name, output=f"{self.where}+overwrite", capture=self.wanted).close()

    @property
    def run(self) -> Run:
        return self.ground.lineage.get_run(self.ground.lineage.runs(self.name)[0].id)

    @property
    def index(self) -> CapturedIndex:
        found = self.run.index
        assert found is not None
        assert not found.problem, found.problem
        return found

    def sizes(self) -> list[tuple[RecordedMap, Mapping[str, int]]]:
        """Bytes of each map in each way of writing."""

        def asked(run: AskedRun) -> list[tuple[RecordedMap, Mapping[str, int]]]:
            looked = looked_up(run)
            assert looked is not None
            return [(one, sizes(looked, one)) for one in looked.index.maps]

        return self.run._asking.answered("sizes of indexes of", None, False, asked)

    def _ways(self) -> str:
        """Those of each map, the one that is farthest from the smallest first."""
        known = sorted(self.sizes(), key=lambda one: -one[0].bytes / min(one[1].values()))
        return "\n".join(
            f"{one.bytes:,} bytes as {one.encoding}, {one.direction}: " + ", ".join(f"{name} {size:,}" for name, size in found.items())
            for one, found in known
        )


def _pairs(index: CapturedIndex) -> dict[str, float]:
    """All modes capture the same: so many pairs of rows, and so many rows that may be asked about, in so many bytes."""
    rids = sum(one.shape.rows for one in index.maps if one.shape is not None)
    return {
        "pairs": float(index.edges), "index bytes": float(index.bytes), "bytes a pair": index.bytes / max(index.edges, 1),
        "bytes a rid and edge": index.bytes / max(rids + index.edges, 1),
    }  # fmt: skip


def _maps(index: CapturedIndex) -> str:
    """What the bytes are of, the largest first."""
    ordered = sorted(index.maps, key=lambda one: -one.bytes)
    return "\n".join(f"{one.bytes:,} bytes: {one.edges:,} pairs, {one}" for one in ordered)


def _ways(index: CapturedIndex) -> str:
    """When the rows behind each segment's were found at last, and why then."""
    return "; ".join(f"segment {one.segment}: {one.mode}, {one.because}" for one in index.ways if one.mode != "stored")


def _shapes(index: CapturedIndex) -> str:
    """What the encodings hang on (table 7)."""
    return "; ".join(
        f"segment {one.segment} to {one.to}, {one.direction}: {one.shape.rows:,} rows of {one.shape.size:.2f}, replication "
        f"{one.shape.replication:.2f}, clustering {one.shape.clustering:.2f}, {one.encoding}"
        for one in index.maps
        if one.shape is not None
    )
