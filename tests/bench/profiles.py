"""Where the time of a piece of work goes: in the driver's threads, in Spark's stages and the JVM's threads, in PostgreSQL's statements."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.bench.jvm import jvm_time
from tests.bench.threads import other_threads
from tests.statements import Asked, noted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_lineage_provider.store.embedded import Server

# A sample each millisecond says nothing of work that takes ten.
SECONDS, MOST = 1.0, 50
_STATEMENTS = 15


@dataclass(frozen=True)
class Beside:
    """What has a part in a work beside the driver: a session, and an embedded server."""

    spark: SparkSession | None = None
    server: Server | None = None


ALONE = Beside()
"""Nothing has."""


def profile(work: Callable[[], Any], beside: Beside = ALONE) -> str:
    """The calls that take time, as trees; short work is done again and again. Libraries are folded."""
    from pyinstrument import Profiler

    profiler, started, times = Profiler(interval=0.001), time.perf_counter(), 0
    with ExitStack() as stack:
        asked = stack.enter_context(noted(beside.server, timed=True)) if beside.server is not None else Asked()
        in_jvm = stack.enter_context(jvm_time(beside.spark)) if beside.spark is not None else str
        others = stack.enter_context(other_threads())
        with profiler:
            while not times or (times < MOST and time.perf_counter() - started < SECONDS):
                work()
                times += 1
        told = [others(), in_jvm()]
    # (What comes before the tree names the machine's paths.)
    _, _, tree = profiler.output_text(unicode=True, color=False).partition("\nProfile at ")[2].partition("\n")
    return "\n\n".join(one for one in (f"{times} times\n{tree.strip()}", *told, "\n".join(_of_postgresql(asked))) if one) + "\n"


def _of_postgresql(asked: Asked) -> Iterator[str]:
    """Its statements, the longest first: what equal ones took together."""
    took: dict[str, list[float]] = defaultdict(list)
    for one in asked.statements:
        took[one.text[:200]].append(one.milliseconds)
    if took:
        yield f"PostgreSQL: {sum(map(sum, took.values())):.1f} ms"
    for text, some in sorted(took.items(), key=lambda item: -sum(item[1]))[:_STATEMENTS]:
        yield f"  {sum(some):.1f} ms, {len(some)} times: {text}"
