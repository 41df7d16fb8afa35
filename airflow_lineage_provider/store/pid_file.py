"""PostgreSQL's own note of its server: ``postmaster.pid`` in the data folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from airflow_lineage_provider.store.home_files import read_text


@dataclass(frozen=True)
class PidFile:
    """What it says: the process number in the server's own PID namespace, and its folders as it sees them."""

    pid: int
    data: str
    port: int
    sockets: str


def read_pid_file(home: Path) -> PidFile | None:
    """What the file of a home says; None where there is none, or where it is not written yet, or damaged.

    :raises EnvironmentProblem: the data are not this user's to read.
    """
    lines = (read_text(home / "postgres" / "postmaster.pid") or "").splitlines()
    if len(lines) < 5 or not lines[0].strip().isdecimal() or not lines[3].strip().isdecimal():
        return None
    return PidFile(int(lines[0]), lines[1], int(lines[3]), lines[4])


def is_postmaster(pid: int, home: Path) -> bool:
    """Whether a process of this namespace is the live server of a home, and not a zombie or a stranger that was given its number."""
    import psutil

    try:
        process = psutil.Process(pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE and str(home / "postgres") in process.cmdline())
    except psutil.Error:
        return False
