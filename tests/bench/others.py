"""How much of the machine others took while something was measured: what walls are worth.

The load average does not tell it: it counts what this process and its JVM did a minute ago.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import psutil

from tests.bench.comparison import Comparison
from tests.bench.readings import seconds_of_tree

_WORKING = ("user", "nice", "system", "irq", "softirq", "steal")
_SERVER = "postgres"
_KERNEL = 2
"""The parent of the threads of Linux' own."""


def with_others(comparisons: Iterable[Comparison]) -> Iterator[Comparison]:
    """Each with the processors that others took while it was made."""
    known = iter(comparisons)
    while True:
        began, all_before, own_before = time.perf_counter(), seconds_of_all(), seconds_of_own()
        one = next(known, None)
        if one is None:
            return
        taken = seconds_of_all() - all_before - (seconds_of_own() - own_before)
        one.others = round(max(taken, 0.0) / max(time.perf_counter() - began, 1e-9), 3)
        yield one


def seconds_of_all() -> float:
    """CPU seconds that the processors worked since the machine started, also for other machines on the same one."""
    times = psutil.cpu_times()
    return sum(getattr(times, name, 0.0) for name in _WORKING)


def seconds_of_own() -> float:
    """CPU seconds of this process and of all below it, of PostgreSQL, whose servers are below nobody, and of the kernel, which writes and
    reads for them."""
    own = psutil.Process()
    below = {own.pid, *(one.pid for one in own.children(recursive=True))}
    others = (one for one in psutil.process_iter(["ppid", "name", "cpu_times"]) if one.pid not in below)
    return sum(seconds_of_tree(own)) + sum(map(_for_own, others))


def _for_own(one: psutil.Process) -> float:
    """What a process that is not below this one has done for it: with those of its children that have ended."""
    times = one.info["cpu_times"]
    for_own = one.info["name"] == _SERVER or (psutil.LINUX and one.info["ppid"] == _KERNEL)
    return times.user + times.system + times.children_user + times.children_system if for_own and times else 0.0
