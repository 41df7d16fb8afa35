"""Where the time of the driver's other threads goes, while one of them works: those that it starts, and those that it waits for."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

_EVERY = 0.005
"""Seconds between two looks: as often as Python lets threads take turns."""
LOOKS = "looks at"
"""So begin the names of threads that look at others: what they do is not the work's."""
_OURS = ("airflow_lineage_provider", "tests")
_SHARE, _DEPTH = 0.03, 30
"""What is a smaller part of its thread, or lies deeper, is not told."""


@dataclass
class Called:
    """A function with the seconds in it, and the functions that it called."""

    seconds: float = 0.0
    below: dict[str, Called] = field(default_factory=dict)

    def add(self, stack: list[str], seconds: float) -> None:
        """:param stack: outermost first."""
        self.seconds += seconds
        if stack:
            self.below.setdefault(stack[0], Called()).add(stack[1:], seconds)

    def lines(self, least: float, depth: int = 1) -> Iterator[str]:
        """The tree below, the longest first. What a library calls on the way to something else is left out."""
        for name, one in sorted(self.below.items(), key=lambda item: -item[1].seconds):
            if one.seconds >= least and depth < _DEPTH:
                if one._is_on_the_way(name):
                    yield from one.lines(least, depth)
                else:
                    yield f"{'  ' * depth}{one.seconds:.3f} {name}"
                    yield from one.lines(least, depth + 1)

    def _is_on_the_way(self, name: str) -> bool:
        _, _, module = name.partition("  ")
        return not module.startswith(_OURS) and any(one.seconds > 0.9 * self.seconds for one in self.below.values())


class _Looking(threading.Thread):
    """Looks at all threads again and again, but for itself and the one that profiles itself."""

    def __init__(self) -> None:
        super().__init__(name=f"{LOOKS} threads", daemon=True)
        self._but = threading.get_ident()
        self._ended = threading.Event()
        self._before = {number: stack(frame) for number, frame in sys._current_frames().items()}
        self._moved: set[tuple[int, str]] = set()
        # (By name, too: a number is given again when a thread has ended.)
        self.found: dict[tuple[int, str], Called] = {}

    def run(self) -> None:
        looked = time.perf_counter()
        while not self._ended.wait(_EVERY):
            now = time.perf_counter()
            names = {one.ident: one.name for one in threading.enumerate()}
            for number, frame in sys._current_frames().items():
                if number not in (self._but, self.ident):
                    thread, calls = (number, names.get(number, "a thread")), stack(frame)
                    self.found.setdefault(thread, Called()).add(calls, now - looked)
                    if calls != self._before.get(number):
                        self._moved.add(thread)
            looked = now

    def end(self) -> None:
        self._ended.set()
        self.join()

    def threads(self) -> dict[str, Called]:
        """By name, without numbers: work that is done again starts others. One that was there and stayed where it was has no part."""
        together: dict[str, Called] = {}
        for (number, name), called in self.found.items():
            if (number, name) in self._moved and not name.startswith(LOOKS):
                _join(together.setdefault(re.sub(r"\d+", "n", name), Called()), called)
        return together


@contextmanager
def other_threads() -> Iterator[Callable[[], str]]:
    """Of the threads that are there meanwhile, but for this one: the calls that take time, as trees, after the work."""
    looking = _Looking()
    looking.start()
    try:
        yield lambda: "\n".join(_told(looking))
    finally:
        looking.end()


def _told(looking: _Looking) -> Iterator[str]:
    looking.end()
    for name, called in sorted(looking.threads().items(), key=lambda item: -item[1].seconds):
        yield f"{called.seconds:.3f} thread {name!r}"
        yield from called.lines(_SHARE * called.seconds)


def stack(frame: FrameType | None) -> list[str]:
    """The functions that a thread is in, the outermost first, each with its module."""
    names: list[str] = []
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module != "threading" or not frame.f_code.co_name.startswith(("_bootstrap", "run")):
            names.append(f"{frame.f_code.co_name}  {module}")
        frame = frame.f_back
    return names[::-1]


def _join(into: Called, other: Called) -> None:
    into.seconds += other.seconds
    for name, one in other.below.items():
        _join(into.below.setdefault(name, Called()), one)
