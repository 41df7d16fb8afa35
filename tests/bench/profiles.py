"""Where the time of a piece of work goes, as the driver sees it: waiting for the JVM, PostgreSQL or a worker stands where it is waited."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# A sample each millisecond says nothing of work that takes ten.
SECONDS, MOST = 1.0, 50


def profile(work: Callable[[], Any]) -> str:
    """The calls that take time, as a tree; short work is done again and again. Libraries are folded."""
    from pyinstrument import Profiler

    profiler, started, times = Profiler(interval=0.001), time.perf_counter(), 0
    with profiler:
        while not times or (times < MOST and time.perf_counter() - started < SECONDS):
            work()
            times += 1
    # (What comes before the tree names the machine's paths.)
    _, _, tree = profiler.output_text(unicode=True, color=False).partition("\nProfile at ")[2].partition("\n")
    return f"{times} times\n{tree.strip()}\n"
