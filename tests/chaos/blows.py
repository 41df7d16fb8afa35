"""The blows: processes of this world that are killed, interrupted or held, and a disk that is full for a while."""

from __future__ import annotations

import os
import signal
import time
from random import Random

import psutil  # type: ignore[import-untyped]

from tests.chaos.plans import Blow
from tests.chaos.world import World

FROZEN_SECONDS = 1.5


def strike(world: World, blow: Blow, random: Random) -> str:
    """Give one blow; what was hit, for the report."""
    if blow == "disk full":
        return _fill(world)
    if blow == "freeze":
        return _freeze(world)
    victims = sorted(_victims(world, blow), key=lambda one: one.pid)
    if not victims:
        return f"{blow}: nobody is there"
    victim = random.choice(victims)
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
    if blow == "executor":
        return [process for process in others if "CoarseGrainedExecutorBackend" in _command(process)]
    # A driver's own children (Spark's JVM, multiprocessing's helpers) do no work.
    return [process for process in others if _parent(process) not in drivers and "java" not in _command(process)]


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
