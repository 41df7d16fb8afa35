"""The paper's CDA workload over TPC-H (augmented lineage, section 7.2: figures 10, 11 and 12, table 4).

OpenCV's detectors find persons on pictures of parts, and a trained model tells whether a review is friendly: real models, that need no
download. They are much quicker than the paper's (YOLO and BERT), so that the rest of a query weighs more than there. ``--udf-seconds``
gives every call what it lacks; ``--scale-factor 10`` is the paper's second size.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from airflow_lineage_provider import reasoned_udf
from airflow_lineage_provider.reasons import ReasonedUdf
from tests.bench.arms import asking, recorded, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.tpch.data import write_cda, write_tpch
from tests.tpch.workloads import UDFS, sql

SCALES = {"small": ("0.001",), "full": ("0.01", "0.1", "1")}
QUERIES = {"small": ("q02", "q09"), "full": ("q02", "q03", "q09", "q15", "q16", "q17", "q18", "q19", "q20", "q21")}
TARGETS = (1, 100)


def run(ground: Ground) -> Iterator[Comparison]:
    """For each query and scale factor: running it, and asking about one row of its result, and about a hundred."""
    udfs = [slowed(udf, ground.udf_seconds) if ground.udf_seconds else udf for udf in UDFS]
    for scale in ground.scale_factors or SCALES[ground.size]:
        folder = ground.folder / f"sf{scale}"
        for name, path in write_cda(folder / "cda", write_tpch(folder, scale)).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        for udf in udfs:
            udf.register(ground.spark)
        for query in QUERIES[ground.size]:
            slower = f", calls {ground.udf_seconds:g} s longer" if ground.udf_seconds else ""
            yield from _of(ground, query, f"CDA {query}, scale factor {scale}{slower}")


def slowed(udf: ReasonedUdf, seconds: float) -> ReasonedUdf:
    """The same decisions and reasons, each of which takes so much longer; of its version, too."""

    @reasoned_udf(udf.returns, name=udf.name, version=f"{udf.version}, {seconds} s longer")
    def slow(value: Any) -> Any:
        time.sleep(seconds)
        return udf.main(value)

    @slow.with_reason
    def _(value: Any) -> Any:
        time.sleep(seconds)
        assert udf.main_with_reason is not None
        return udf.main_with_reason(value)

    return slow


def _of(ground: Ground, query: str, title: str) -> Iterator[Comparison]:
    text = sql("cda", query)
    arms: dict[str, Arm] = {"baseline (Rerun)": written(ground, text), "rerun, recorded": recorded(ground, text, "rerun")}
    arms["function_materialization"] = recorded(ground, text, "function_materialization", "eager")
    arms["full_materialization"] = recorded(ground, text, "full_materialization", "eager")
    yield compared(f"{title}: running", arms, ground.meter, ground.repeats)
    rows: list[dict[str, Any]] = [row.asDict() for row in ground.spark.sql(text).collect()]
    for count in TARGETS:
        if count <= len(rows):
            chosen = np.random.default_rng(1).choice(len(rows), count, replace=False)
            yield from asking(ground, f"{title}: asking about {count} of {len(rows):,} rows", text, [rows[at] for at in sorted(chosen)])
