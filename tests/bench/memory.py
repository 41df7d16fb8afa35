"""The most memory that processes have while something is done, as the kernel keeps it."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

_EVERY = 0.25
"""Seconds between two looks at other processes."""
_OFTEN = 0.01
"""Seconds between two looks at this one."""


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


def most_at(work: Callable[[], Any]) -> str:
    """Where this thread was when the process had the most memory, as looks in between see it; and how much, and how much of it Arrow's."""
    import pyarrow as pa

    from tests.bench.threads import stack

    thread, process, ended = threading.get_ident(), psutil.Process(), threading.Event()
    before, most = process.memory_info().rss, (0, 0, list[str]())

    def look() -> None:
        nonlocal most
        while not ended.wait(_OFTEN):
            now = process.memory_info().rss
            if now > most[0]:
                most = now, pa.total_allocated_bytes(), stack(sys._current_frames()[thread])

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        work()
    finally:
        ended.set()
        looking.join()
    told = f"{most[0] / 2**20:,.0f} MB at most ({before / 2**20:,.0f} before), of which Arrow had {most[1] / 2**20:,.0f}, at"
    return "\n  ".join([told, *most[2]])


@contextmanager
def most_memory_of_trees(trees: Mapping[str, tuple[int, bool]]) -> Iterator[Callable[[], dict[str, float]]]:
    """Of trees of processes that come and go, by name, MB at most of all together, as a look four times a second sees them.

    A tree is the number of its root, and whether that counts, too. Each process has its share of what it has in common with others: what
    servers share counts once. Another process looks, whose time is nobody's.
    """
    looking = subprocess.Popen([sys.executable, __file__, json.dumps(trees)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert looking.stdout is not None
    looking.stdout.readline()  # it has begun

    def told() -> dict[str, float]:
        return {name: float(most) for name, most in json.loads(looking.communicate()[0]).items()}

    try:
        yield told
    finally:
        looking.kill()
        looking.wait()


def _look(trees: Mapping[str, tuple[int, bool]]) -> None:
    """Until nobody is there any more who asks."""
    most = dict.fromkeys(trees, 0)
    print(flush=True)
    while not select.select([sys.stdin], [], [], _EVERY)[0]:
        for name, (root, counts) in trees.items():
            most[name] = max(most[name], sum(map(_share, _processes(root, counts))))
    print(json.dumps({name: round(one / 1024, 1) for name, one in most.items()}))


def _processes(root: int, counts: bool) -> list[int]:
    with suppress(psutil.Error):
        below = psutil.Process(root).children(recursive=True)
        return [*([root] if counts else []), *(one.pid for one in below)]
    return []


def _share(number: int) -> int:
    """kB; 0 where the process has ended, or is another one's."""
    with suppress(OSError):
        lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return 0


if __name__ == "__main__":
    _look(json.loads(sys.argv[1]))
