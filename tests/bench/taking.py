"""Works that take memory, for the tests of `elsewhere`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.elsewhere import Work
from tests.bench.readings import Meter

_TAKES = {"much": 60_000_000, "little": 1, "other": 2}


@contextmanager
def alone(way: str) -> Iterator[Work]:
    """Each gives 7, but for the other."""
    size, answer = _TAKES[way], 8 if way == "other" else 7
    yield Work(
        lambda: held(size), lambda: answer, Meter(None, None), counts=lambda: {"turns": 1}, parts={"turns": lambda: f"one of {size:,}"}
    )


def held(size: int) -> int:
    """So many bytes, for a while."""
    taken = bytearray(size)
    time.sleep(0.3)
    return len(taken)
