"""What happens in a round, drawn from a seed: the same seed gives the same round (but for what the machine does in between)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

Workload = Literal["store", "local", "cluster"]
Blow = Literal["driver", "interrupt", "worker", "executor", "backend", "postmaster", "freeze", "disk full"]

BLOWS: dict[Workload, tuple[Blow, ...]] = {
    "store": ("driver", "interrupt", "worker", "backend", "postmaster", "freeze"),
    "local": ("driver", "interrupt", "worker", "backend", "postmaster", "freeze"),
    "cluster": ("driver", "worker", "executor", "backend", "postmaster", "freeze"),
}


@dataclass(frozen=True)
class Plan:
    """A round: so many drivers side by side, and blows at parts of the time that an undisturbed run takes (0 to 1).

    ``in_files``: what the drivers store goes into a folder, however little it is.
    """

    number: int
    workload: Workload
    drivers: int
    blows: tuple[tuple[float, Blow], ...]
    seed: int
    in_files: bool = False

    def __str__(self) -> str:
        told = ", ".join(f"{blow} at {moment:.0%}" for moment, blow in self.blows) or "nothing"
        return f"round {self.number}: {self.drivers} × {self.workload}{', stored in files' if self.in_files else ''}: {told}"


def plans(seed: int, rounds: int, workloads: tuple[Workload, ...], disk: bool = False) -> list[Plan]:
    """The rounds of a seed; with ``disk`` every fourth round of the store fills the disk up. Half of Spark's store in files."""
    made = []
    for number in range(rounds):
        random = Random(f"{seed}:{number}")
        workload = random.choice(workloads)
        drivers = random.choice((1, 2)) if workload != "cluster" else 1
        known: tuple[Blow, ...] = BLOWS[workload]
        blows = sorted((random.uniform(0.02, 1.0), random.choice(known)) for _ in range(random.choice((1, 1, 2))))
        if disk and workload == "store" and number % 4 == 3:
            blows = [(random.uniform(0.02, 0.8), "disk full")]
        given, in_files = random.randrange(1 << 30), workload != "store" and random.random() < 0.5
        made.append(Plan(number, workload, drivers, tuple(blows), given, in_files))
    return made
