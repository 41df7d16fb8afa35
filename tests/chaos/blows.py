"""The blows: processes of this world that are killed, interrupted or held, and a disk that is full for a while."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from random import Random
from typing import Any

import psutil

from tests.chaos.plans import Blow
from tests.chaos.work import told_in
from tests.chaos.world import World

FROZEN_SECONDS = 1.5


def strike(world: World, blow: Blow, random: Random) -> str:
    """Give one blow; what was hit, for the report."""
    if blow == "disk full":
        return _fill(world)
    if blow == "freeze":
        return _freeze(world)
    if blow == "executor":
        return _strike_executor(world, random)
    victims = _victims(world, blow)
    while blow == "worker" and not victims and _is_anybody_at_work(world):
        time.sleep(0.02)  # Python workers and loaders live for a part of the run alone.
        victims = _victims(world, blow)
    if not victims:
        return f"{blow}: nobody is there"
    victim = random.choice(sorted(victims, key=lambda one: one.pid))
    try:
        victim.send_signal(signal.SIGINT if blow == "interrupt" else signal.SIGKILL)
    except psutil.NoSuchProcess:
        return f"{blow}: gone already"
    return f"{blow}: process {victim.pid}"


def _victims(world: World, blow: Blow) -> list[psutil.Process]:
    drivers = {driver.pid for driver in world.drivers if driver.poll() is None}
    if blow in ("driver", "interrupt"):
        return [process for process in world.processes() if process.pid in drivers]
    if blow in ("backend", "postmaster"):
        postmaster = _postmaster(world)
        if postmaster is None:
            return []
        return [postmaster] if blow == "postmaster" else [one for one in postmaster.children() if "lineage" in _command(one)]
    others = [process for process in world.processes() if process.pid not in drivers]
    # A driver's own children (Spark's JVM, multiprocessing's helpers) do no work.
    return [process for process in others if _parent(process) not in drivers and "java" not in _command(process)]


def _strike_executor(world: World, random: Random) -> str:
    """Kill an executor that has tasks in flight: wait for one, while a driver lives. Only one driver at a time is on a cluster."""
    while _is_anybody_at_work(world):
        busy = {number: tasks for told in told_of_executors(world) for number, tasks in told["tasks"].items() if tasks}
        there = sorted((_executor_id(one), one.pid, one) for one in _executors(world) if _executor_id(one) in busy)
        if there:
            number, _, victim = random.choice(there)
            _signal(victim, signal.SIGKILL)
            return f"executor: {number} (process {victim.pid}), which had {busy[number]} task(s) in flight"
        time.sleep(0.02)
    return "executor: no task was in flight any more"


def _is_anybody_at_work(world: World) -> bool:
    return any(driver.poll() is None for driver in world.drivers)


def told_of_executors(world: World) -> list[dict[str, Any]]:
    """What the drivers that are there told of their executors last."""
    places = [told_in(world.source.parent, driver.pid) for driver in world.drivers if driver.poll() is None]
    return [json.loads(place.read_text()) for place in places if place.exists()]


def _executors(world: World) -> list[psutil.Process]:
    return [process for process in world.processes() if "CoarseGrainedExecutorBackend" in _command(process)]


def _executor_id(process: psutil.Process) -> str:
    found = re.search(r"--executor-id (\d+)", _command(process))
    return found.group(1) if found else ""


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _parent(process: psutil.Process) -> int:
    try:
        return int(process.ppid())
    except psutil.Error:
        return 0


def _postmaster(world: World) -> psutil.Process | None:
    try:
        return psutil.Process(int((world.home / "postgres" / "postmaster.pid").read_text().split()[0]))
    except (OSError, ValueError, IndexError, psutil.Error):
        return None


def _freeze(world: World) -> str:
    """Hold every process of the server for a while: to its clients it is a network that hangs."""
    postmaster = _postmaster(world)
    held = [] if postmaster is None else [postmaster, *postmaster.children()]
    for process in held:
        _signal(process, signal.SIGSTOP)
    time.sleep(FROZEN_SECONDS)
    for process in held:
        _signal(process, signal.SIGCONT)
    return f"freeze: {len(held)} processes for {FROZEN_SECONDS} s"


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


def _fill(world: World) -> str:
    """Fill the disk to its end, and empty it after a while."""
    ballast = world.home / "ballast"
    written = 0
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                written += file.write(bytes(1 << 20))
        except OSError:
            os.fsync(file.fileno())
    time.sleep(2 * FROZEN_SECONDS)
    ballast.unlink()
    return f"disk full: {written >> 20} MB for {2 * FROZEN_SECONDS} s"
