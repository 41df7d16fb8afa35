"""The small files of the embedded server's home folder: written whole or not at all, and for nobody else to read, lock or change."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airflow_lineage_provider.errors import EnvironmentProblem, StoreUnavailable
from airflow_lineage_provider.store import forks

log = logging.getLogger(__name__)

_START_LOCK = "postgres.lock"
_LOCK_SECONDS = 180


def make_home(home: Path) -> None:
    """Make the home folder, closed to others, when it is missing."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there as a whole after a crash, or as it was before; only its owner can read it."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_text(path: Path) -> str | None:
    """What a file of the home says, None where there is none.

    :raises EnvironmentProblem: it is not this user's to read.
    """
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise EnvironmentProblem(
            f"this user cannot read {path}: only the owner of the folder can use its embedded store;"
            " set AIRFLOW_LINEAGE_STORE to the URL of a server instead"
        ) from error


def open_private(path: Path) -> int:
    """A descriptor of a file that nobody else can open: whoever can open a file can lock it, and keep everyone out.

    :raises EnvironmentProblem: it is not this user's.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except PermissionError as error:
        raise EnvironmentProblem(
            f"this user cannot use {path}: only the owner of the folder can use its embedded store;"
            " set AIRFLOW_LINEAGE_STORE to the URL of a server instead"
        ) from error
    if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, 0o600)
    return descriptor


def try_lock(descriptor: int) -> bool:
    """Take a file's lock unless another holds it: another process, in whatever namespace, or another host of a shared file system."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


@contextmanager
def starting(home: Path) -> Iterator[None]:
    """Held by the one process that starts, stops or repairs the server.

    :raises StoreUnavailable: another process has held it for minutes.
    """
    make_home(home)
    path = home / _START_LOCK
    with forks.owned_descriptor(open_private(path)) as descriptor:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"another process has been starting or stopping the embedded PostgreSQL for {_LOCK_SECONDS} s: {path}"
                )
            time.sleep(0.05)
        yield
