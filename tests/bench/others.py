"""How much of the machine others took while something was measured: what walls are worth.

The load average does not tell it: it counts what this process and its JVM did a minute ago. And what the processors did beside one's own
processes does not either: what a process's children did is lost where it has ended before them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import psutil

from tests.bench.comparison import Comparison

_EVERY = 10.0
"""Seconds between two looks, which take some milliseconds each."""
_SERVER = "postgres"
"""Every PostgreSQL is taken for one's own: the servers of stores are below nobody."""
_KERNEL = 2
"""The parent of the threads of Linux' own, which read and write for everybody."""

_Key = tuple[int, float]
"""A process: its number, and when it began."""


def with_others(comparisons: Iterable[Comparison], every: float = _EVERY) -> Iterator[Comparison]:
    """Each with the processors that others took while it was made."""
    known = iter(comparisons)
    while True:
        began = time.perf_counter()
        with Others().looking(every) as others:
            one = next(known, None)
        if one is None:
            return
        one.others = round(others.seconds / max(time.perf_counter() - began, 1e-9), 3)
        yield one


class Others:
    """The processes that are neither this one, nor below it, nor work for it.

    :ivar seconds: the CPU seconds that they took since the first look. What came and went between two looks is not seen.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._own: set[_Key] = set()
        self._known: dict[_Key, float] | None = None

    @contextmanager
    def looking(self, every: float) -> Iterator[Others]:
        """Look at once, again and again, and at the end."""
        ended = threading.Event()

        def look_again() -> None:
            while not ended.wait(every):
                self.look()

        self.look()
        looks = threading.Thread(target=look_again, name="others", daemon=True)
        looks.start()
        try:
            yield self
        finally:
            ended.set()
            looks.join()
            self.look()

    def look(self) -> None:
        """What they took since the last look."""
        found = {_key(one): one for one in psutil.process_iter(["ppid", "name", "cpu_times", "create_time"]) if one.info["cpu_times"]}
        own = psutil.Process()
        below = {own.pid, *(one.pid for one in own.children(recursive=True))}
        # Whoever was one's own stays it: a JVM whose driver has ended is below nobody.
        self._own |= {key for key, one in found.items() if one.pid in below or _works_for_all(one)}
        seconds = {key: one.info["cpu_times"].user + one.info["cpu_times"].system for key, one in found.items() if key not in self._own}
        if self._known is not None:
            self.seconds += sum(max(now - self._known.get(key, 0.0), 0.0) for key, now in seconds.items())
        self._known = seconds


def _key(one: psutil.Process) -> _Key:
    return one.pid, float(one.info["create_time"] or 0.0)


def _works_for_all(one: psutil.Process) -> bool:
    return one.info["name"] == _SERVER or (psutil.LINUX and _KERNEL in (one.pid, one.info["ppid"]))
