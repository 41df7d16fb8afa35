"""The most memory that processes have while something is done, as the kernel keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


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
