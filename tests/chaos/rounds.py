"""A round: drivers, blows, checks."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.chaos.blows import strike
from tests.chaos.checks import check_next_run, problems
from tests.chaos.plans import Plan, Workload
from tests.chaos.work import told_in
from tests.chaos.world import World

HANGING = 180
"""Seconds after which a driver that lives on hangs, where an undisturbed one takes less than a fifth of that."""


@dataclass(frozen=True)
class Outcome:
    """What was hit in a round, how the drivers ended (exit codes), and what is wrong afterwards.

    ``retried`` says what Spark made of lost executors: whether the run went on, with other ones.
    """

    plan: Plan
    hit: tuple[str, ...]
    codes: tuple[int | None, ...]
    problems: tuple[str, ...]
    retried: str = ""

    def __str__(self) -> str:
        told = f"{self.plan} → {'; '.join(self.hit)}; drivers ended with {', '.join(map(str, self.codes))}{self.retried}"
        return "\n    ".join([told, *self.problems]) if self.problems else f"{told}: all as after a clean run"


def undisturbed(world: World, workload: Workload) -> float:
    """The seconds that a driver takes when nobody disturbs it, and the server is there: the first one makes it.

    :raises AssertionError: it does not even work then.
    """
    wrong = [*check_next_run(world, workload, 5 * HANGING, in_files=workload != "store"), *problems(world, workload)]
    assert not wrong, "\n".join(wrong)
    started = time.monotonic()
    driver = world.start(workload)
    assert _ended(driver, 5 * HANGING), "an undisturbed driver hangs"
    assert driver.returncode == 0, f"an undisturbed driver ended with {driver.returncode}"
    return time.monotonic() - started


def play(world: World, plan: Plan, seconds: float, tell: Callable[[str], None] = lambda _: None) -> Outcome:
    """Play a round; ``seconds`` is what an undisturbed run takes."""
    random = Random(plan.seed)
    started = time.monotonic()
    drivers = [world.start(plan.workload, in_files=plan.in_files) for _ in range(plan.drivers)]
    hit = []
    for moment, blow in plan.blows:
        time.sleep(max(0.0, started + moment * seconds - time.monotonic()))
        hit.append(strike(world, blow, random))
        tell(hit[-1])
    timeout = max(HANGING, 5 * seconds)
    wrong = [f"driver {driver.pid} hangs" for driver in drivers if not _ended(driver, timeout)]
    world_wrong = [] if wrong else problems(world, plan.workload)
    world.end()
    retried = _retried(world, drivers)
    wrong += [*world_wrong, *check_next_run(world, plan.workload, timeout, in_files=plan.in_files), *problems(world, plan.workload)]
    return Outcome(plan, tuple(hit), tuple(driver.poll() for driver in drivers), tuple(dict.fromkeys(wrong)), retried)


def _retried(world: World, drivers: Sequence[subprocess.Popen[str]]) -> str:
    """What became of runs that lost executors: Spark gives their tasks to others, and the run is none the wiser."""
    found = []
    for driver in drivers:
        place = told_in(world.source.parent, driver.pid)
        told = json.loads(place.read_text()) if place.exists() else {"lost": 0}
        if told["lost"]:
            ended = "the run survived" if driver.returncode == 0 else "the run did not survive"
            found.append(f", {told['lost']} executor(s) and {told['failed']} task(s) lost: {ended}")
    return "".join(found)


def _ended(driver: subprocess.Popen[str], timeout: float) -> bool:
    try:
        driver.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return False
    return True
