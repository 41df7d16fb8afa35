"""The paper's CDA workload over TPC-H (augmented lineage, section 7.2: figures 10, 11 and 12, tables 3 and 4).

The paper numbers the ten queries from 1 to 10; here they have TPC-H's numbers (`PAPERS`): its Q9 is TPC-H's Q20.

OpenCV's detectors find persons on pictures of parts, and a trained model tells whether a review is friendly: real models, that need no
download. They are much quicker than the paper's (YOLO and BERT), so that the rest of a query weighs more than there. ``--cost-ratio``
gives every call what it lacks, ``--udf-seconds`` so many seconds; ``--scale-factor 10`` is the paper's second size.

The paper's ratio is 190: what the calls of its expensive UDF take ÷ what the rest of the query does. It prints no seconds of a call, but
that over the medium tables of LFW Full is 497.1 times as fast as Rerun with that UDF, and 2.6 times with the cheap one (section 7.1.4).
Full calls neither, so that Rerun takes 191 times as long with the expensive one; and CDA's UDFs are "comparable" to that one (section 7.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from airflow_lineage_provider.rewrite.pipeline import rewrite
from airflow_lineage_provider.spark.capturing.capture import capture
from tests.bench.arms import asking, recorded, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.udf_costs import cost_of, slowed
from tests.tpch.data import write_cda, write_tpch
from tests.tpch.segments import told
from tests.tpch.workloads import UDFS, sql

SCALES = {"small": ("0.001",), "full": ("0.01", "0.1", "1")}
_CHOSEN = ("q02", "q03", "q09", "q15", "q16", "q17", "q18", "q19", "q20", "q21")
PAPERS = {name: f"Q{at}" for at, name in enumerate(_CHOSEN, 1)}
"""TPC-H's number of each query, and the paper's. That it counts, and does not take TPC-H's numbers, follows from the Q1, Q5, Q7, Q8 and
Q10 of which it speaks, none of which are among the ten; so counted, its Q1, Q3, Q5, Q9 and Q10 give many rows, as it says."""
QUERIES = {"small": ("q02", "q09"), "full": _CHOSEN}
TARGETS = (1, 100)


def run(ground: Ground) -> Iterator[Comparison]:
    """The queries; for each and every scale factor: running it, and asking about one row of its result, and about a hundred."""
    scales = ground.scale_factors or SCALES[ground.size]
    for scale in scales:
        folder = ground.folder / f"sf{scale}"
        for name, path in write_cda(folder / "cda", write_tpch(folder, scale)).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        if scale == scales[0]:
            yield _table_3(ground)
        for query in (one for one in QUERIES[ground.size] if ground.wants(f"CDA {one}, scale factor {scale}")):
            slower, cost = _slower(ground, query)
            for found in _of(ground, query, f"CDA {query}, scale factor {scale}{slower}"):
                found.notes |= {"cost of UDFs": cost} if cost else {}
                yield found


def _table_3(ground: Ground) -> Comparison:
    """What each query calls, and its segments: nothing is measured. (The paper took PostgreSQL's physical plans: its own may differ.)"""
    for udf in UDFS:
        udf.register(ground.spark)
    plans = {query: rewrite(capture(ground.spark.sql(sql("cda", query))).pipeline) for query in QUERIES[ground.size]}
    notes = {f"{PAPERS[query]} (TPC-H's {query.upper().replace('Q0', 'Q')})": told(plan) for query, plan in plans.items()}
    return Comparison("CDA, the queries and their segments (table 3)", "", {}, notes=notes)


def _slower(ground: Ground, query: str) -> tuple[str, str]:
    """Registers the UDFs as they are asked for: how a title tells it, and what the query's calls cost before."""
    seconds, slower, cost = ground.udf_seconds, "", ""
    if ground.cost_ratio:
        found = cost_of(ground, sql("cda", query), UDFS)
        seconds = found.longer(ground.cost_ratio)
        slower, cost = f", calls {ground.cost_ratio:g} times the rest", f"{found}: {seconds:.2g} s longer each"
    elif seconds:
        slower = f", calls {seconds:g} s longer"
    for udf in UDFS:
        (slowed(udf, seconds) if seconds else udf).register(ground.spark)
    return slower, cost


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
