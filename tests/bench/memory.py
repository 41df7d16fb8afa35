"""The most memory that processes have while something is done, as the kernel keeps it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_EVERY = 0.25
"""Seconds between two looks."""


@contextmanager
def most_memory(processes: Mapping[str, int]) -> Iterator[Callable[[], dict[str, float]]]:
    """Of each process, by its name, MB at most since the beginning; of one that the system tells nothing of there is none."""
    marked = [name for name, number in processes.items() if _begun(number)]
    yield lambda: {name: round(most / 1024, 1) for name in marked if (most := _most(processes[name]))}


def _begun(number: int) -> bool:
    """Whether the mark of the highest begins anew."""
    with suppress(OSError):
        Path(f"/proc/{number}/clear_refs").write_text("5")
        return True
    return False


def _most(number: int) -> int:
    """kB; 0 where the process has ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{number}/status").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
    return 0


@contextmanager
def most_memory_of_trees(trees: Mapping[str, Callable[[], list[psutil.Process]]]) -> Iterator[Callable[[], dict[str, float]]]:
    """Of groups of processes that come and go, by name, MB at most of all together, as a look four times a second sees them.

    Each has its share of what it has in common with others: what servers share counts once.
    """
    most, done = dict.fromkeys(trees, 0.0), threading.Event()

    def look() -> None:
        while not done.wait(_EVERY):
            for name, processes in trees.items():
                most[name] = max(most[name], sum(map(_share, processes())))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield lambda: {name: round(one / 1024, 1) for name, one in most.items()}
    finally:
        done.set()
        looking.join()


def _share(process: psutil.Process) -> int:
    """kB; 0 where the process has ended, or is another one's."""
    with suppress(OSError):
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return 0
