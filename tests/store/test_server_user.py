"""The system user that runs the embedded server for root."""

from __future__ import annotations

import os
import pwd
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from airflow_lineage_provider.errors import EnvironmentProblem
from airflow_lineage_provider.store import server_user


class Users:
    """The users of a machine, and a `useradd` that behaves as shadow's: slow, and an error where the name is there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.calls = 0
        monkeypatch.setattr(pwd, "getpwnam", self.getpwnam)
        monkeypatch.setattr(subprocess, "run", self.run)

    def getpwnam(self, name: str) -> pwd.struct_passwd:
        number = 990 + self.names.index(name) if name in self.names else None
        if number is None:
            raise KeyError(name)
        return pwd.struct_passwd((name, "x", number, number, "", "/", "/"))

    def run(self, command: Sequence[str], **_: Any) -> None:
        self.calls += 1
        before = command[-1] in self.names
        time.sleep(0.05)
        if before or command[-1] in self.names:
            raise subprocess.CalledProcessError(9, command, stderr=f"useradd: user '{command[-1]}' already exists\n")
        self.names.append(command[-1])


def test_several_processes_of_a_new_machine_make_one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Users(monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    together = threading.Barrier(4)

    def asked(_: int) -> int:
        together.wait()
        return server_user.server_user().uid

    # Threads stand for processes: a lock of a file that was opened twice keeps them apart just the same.
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(asked, range(4))) == {990}
    assert users.calls == 1


def test_a_user_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(command: Sequence[str], **_: Any) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="useradd: cannot open /etc/passwd\n")

    monkeypatch.setattr(subprocess, "run", refused)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(server_user, "NAME", "nobody-of-this-name")
    with pytest.raises(EnvironmentProblem, match=r"cannot open /etc/passwd\).*make it, run as another user"):
        server_user.server_user()
