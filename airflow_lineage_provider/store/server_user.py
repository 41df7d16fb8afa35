"""Which system user runs the embedded PostgreSQL: the caller, or a user of its own when the caller is root (PostgreSQL refuses root)."""

from __future__ import annotations

import fcntl
import logging
import os
import pwd
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from airflow_lineage_provider.errors import EnvironmentProblem

log = logging.getLogger(__name__)

NAME = "airflow-lineage"


class ProcessOptions(TypedDict, total=False):
    """Arguments of `subprocess.run` that choose the user."""

    user: int
    group: int
    extra_groups: Sequence[int]


@dataclass(frozen=True)
class ServerUser:
    """The user that runs the server; nothing is to be changed when it is the caller itself."""

    uid: int
    gid: int

    @property
    def is_caller(self) -> bool:
        """Whether the server runs as the user of this process."""
        return self.uid == os.geteuid()

    def process_options(self) -> ProcessOptions:
        """What `subprocess.run` needs to run as this user."""
        return {} if self.is_caller else {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Give a file or folder to this user."""
        if not self.is_caller:
            os.chown(path, self.uid, self.gid)

    def make_reachable(self, *paths: Path) -> None:
        """Let this user pass through the folders above the paths; only the right to pass is added, names stay hidden."""
        if self.is_caller:
            return
        for path in paths:
            for folder in (path, *path.parents):
                self._let_pass(folder)

    def _let_pass(self, folder: Path) -> None:
        status = folder.stat()
        if status.st_uid != self.uid and not status.st_mode & stat.S_IXOTH:
            log.warning("adding the right to pass (o+x) to %s: the embedded PostgreSQL does not run as root", folder)
            folder.chmod(stat.S_IMODE(status.st_mode) | stat.S_IXOTH)


def server_user() -> ServerUser:
    """The caller, or for root the system user ``airflow-lineage``, made when it is missing.

    :raises EnvironmentProblem: root cannot make the user.
    """
    if os.geteuid() != 0:
        return ServerUser(os.geteuid(), os.getegid())
    entry = _known() or _create()
    return ServerUser(entry.pw_uid, entry.pw_gid)


def owner_of(data: Path) -> ServerUser:
    """The user that owns a data folder, who alone can run its server.

    :raises EnvironmentProblem: it is another user, and the caller is not root.
    """
    status = data.stat()
    if os.geteuid() not in (0, status.st_uid):
        raise EnvironmentProblem(
            f"the embedded store in {data} belongs to user {status.st_uid}, this is user {os.geteuid()}:"
            " set AIRFLOW_LINEAGE_HOME to a folder of your own, or AIRFLOW_LINEAGE_STORE to the URL of a server"
        )
    return ServerUser(status.st_uid, status.st_gid)


def _known() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        return None


def _create() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", NAME]
    with _alone():
        try:
            if _known() is None:
                subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            detail = str(getattr(error, "stderr", None) or error).strip()
            raise EnvironmentProblem(
                f"PostgreSQL does not run as root, and the user {NAME!r} cannot be made ({detail}):"
                f" make it, run as another user, or set AIRFLOW_LINEAGE_STORE to the URL of a server"
            ) from error
        return pwd.getpwnam(NAME)


@contextmanager
def _alone() -> Iterator[None]:
    """One process of this machine at a time. `useradd` in several fails in all but one, and shows the others a number that the user does
    not keep. The lock is on the folder, since the file of the users is replaced.
    """
    folder = os.open("/etc", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
