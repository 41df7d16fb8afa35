"""Who runs the server of a home folder: a lock that is held for as long as any process of the server lives, and a note of where that is.

The server inherits the lock's descriptor and hands it on to its children. So the lock is held until the last of them is gone, however
they end, and it is seen by other PID namespaces (containers that share the home) and, on network file systems that carry locks, by other
hosts: neither can see the server's process. The note says who holds it, for messages and for `pg_ctl`, which knows processes by numbers.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from airflow_lineage_provider import settings
from airflow_lineage_provider.errors import EnvironmentProblem, StoreInUse
from airflow_lineage_provider.store import forks
from airflow_lineage_provider.store.file_systems import shared_file_system
from airflow_lineage_provider.store.home_files import make_home, open_private, read_text, try_lock, write_whole

log = logging.getLogger(__name__)

HOME_SETTING = "lineage.home"
"""The server's setting that tells its clients where its home is."""
_LOCK = "postgres.alive"
_NOTE = "postgres.owner"


@dataclass(frozen=True)
class Place:
    """Where a server runs: ``boot`` is the kernel's boot, ``namespace`` the PID namespace in it; both empty where the system has none."""

    host: str
    boot: str
    namespace: str
    since: str = ""

    def is_here(self) -> bool:
        """Whether process numbers of that place mean the same processes here."""
        return self._kernel() and self.namespace == here().namespace

    def _kernel(self) -> bool:
        mine = here()
        return self.boot == mine.boot if self.boot and mine.boot else self.host == mine.host

    def __str__(self) -> str:
        where = f"host {self.host!r}"
        if self._kernel() and not self.is_here():
            where = f"another container of this machine, host name {self.host!r} (PID namespace {self.namespace})"
        return f"{where} since {self.since}" if self.since else where


def here() -> Place:
    """Where this process runs."""
    return Place(socket.gethostname(), _boot(), _namespace())


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def noted(home: Path) -> Place | None:
    """Where the server was started last; None when nobody noted it, or the note is damaged."""
    text = read_text(home / _NOTE)
    try:
        return Place(**json.loads(text)) if text else None
    except (ValueError, TypeError):
        log.warning("%s is damaged and is not heeded", home / _NOTE)
        return None


@contextmanager
def life(home: Path) -> Iterator[int | None]:
    """The server's lock, free and taken for the server that is started next: hand the descriptor on. None while a server lives.

    Leaving the block gives up this process's share of the lock, not the server's.
    """
    make_home(home)
    with forks.owned_descriptor(open_private(home / _LOCK)) as descriptor:
        yield descriptor if try_lock(descriptor) else None


def note(home: Path) -> None:
    """Write down that the server, which is about to be started, runs here."""
    now = here()
    text = json.dumps(asdict(Place(now.host, now.boot, now.namespace, datetime.now(UTC).isoformat(timespec="seconds"))))
    write_whole(home / _NOTE, f"{text}\n")


def refuse_shared_file_system(home: Path) -> None:
    """The embedded server does not start on a file system that other hosts share, unless it is allowed to.

    :raises EnvironmentProblem: it lies on one.
    """
    kind = shared_file_system(home)
    if kind is not None and not settings.network_home():
        raise EnvironmentProblem(
            f"{home} lies on a {kind} file system, which other hosts or guests may share: the embedded PostgreSQL does not start there,"
            " since two servers on the same data destroy them. Set AIRFLOW_LINEAGE_HOME to a local folder, or AIRFLOW_LINEAGE_STORE to the"
            " URL of a server. AIRFLOW_LINEAGE_NETWORK_HOME=1 allows it, where the file system carries flock() between its hosts"
        )


def check_certainly_dead(home: Path, pid_file: Path) -> None:
    """With the lock in hand: that the server which wrote a pid file is dead, wherever it ran.

    On a local file system the lock proves it. On a shared one it does as long as it is the same kernel's: mounts may keep locks to
    themselves.

    :raises StoreInUse: this cannot be known here.
    """
    owner = noted(home)
    if shared_file_system(home) is not None and (owner is None or owner.boot != here().boot):
        raise StoreInUse(
            f"a server of {home} was started on {owner or 'a host that is not known'}, and this host cannot know whether it still runs."
            f" Stop it there ('airflow-lineage store stop'); when it is certainly gone, remove {pid_file}"
        )


def in_use(home: Path) -> StoreInUse:
    """The error for a server that lives where it cannot be reached."""
    return StoreInUse(
        f"the embedded PostgreSQL of {home} is run by {noted(home) or 'another process'} and cannot be reached from here, since its socket"
        " is not in the folder or belongs to another host. Stop it there ('airflow-lineage store stop'), give every host a home of its own"
        " (AIRFLOW_LINEAGE_HOME), or let all use one server (AIRFLOW_LINEAGE_STORE)"
    )
