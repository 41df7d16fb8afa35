"""Questions asked one after another, each timed by itself: what they answer, and how long the slowest took."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Timed:
    """``ms`` and ``cpu_ms`` of each question, wall time and this thread's CPU time; ``answers`` of those that are compared."""

    ms: dict[Hashable, float] = field(default_factory=dict)
    cpu_ms: dict[Hashable, float] = field(default_factory=dict)
    answers: dict[Hashable, Any] = field(default_factory=dict)

    def ask(self, name: Hashable, question: Callable[[], Any], answer: Callable[[Any], Any] | None = None) -> None:
        """Ask it; ``answer`` makes of what it gives what is compared, and is not timed. None: it is not compared."""
        cpu, started = time.thread_time(), time.perf_counter()
        given = question()
        self.ms[name], self.cpu_ms[name] = (time.perf_counter() - started) * 1000, (time.thread_time() - cpu) * 1000
        if answer is not None:
            self.answers[name] = answer(given)

    def figures(self) -> dict[str, float]:
        """Medians, 99th percentiles and the slowest of all; ``compared, ms`` is the mean of those that were compared."""
        wall, cpu = np.array([*self.ms.values()]), np.array([*self.cpu_ms.values()])
        compared = [self.ms[name] for name in self.answers]
        return {
            "questions": len(wall),
            "median, ms": float(np.median(wall)),
            "p99, ms": float(np.quantile(wall, 0.99)),
            "most, ms": float(wall.max()),
            "p99, CPU ms": float(np.quantile(cpu, 0.99)),
            "compared, ms": float(np.mean(compared)) if compared else float("nan"),
        }

    def slowest(self, sizes: Mapping[Any, int] | None = None) -> str:
        """The questions that took longest, for a figure that is not what it is to be; ``sizes``: how much each answered."""
        ordered = sorted(self.ms, key=lambda name: -self.ms[name])[:5]
        told = (f"{name}: {self.ms[name]:.3f} ms, CPU {self.cpu_ms[name]:.3f} ms" for name in ordered)
        of = (f", {sizes[name]:,} rows" if sizes is not None and name in sizes else "" for name in ordered)
        return "\n".join(f"  {text}{size}" for text, size in zip(told, of, strict=True))


class Asked:
    """What an arm did last, so that its figures are told when the arms were compared."""

    def __init__(self, ask: Callable[[Timed], None]) -> None:
        self._ask = ask
        self.last = Timed()

    def __call__(self) -> dict[Hashable, Any]:
        self.last = Timed()
        self._ask(self.last)
        return self.last.answers
