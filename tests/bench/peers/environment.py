"""A virtual environment for one peer, with the Python that it needs; and the process in it that answers.

Nothing of it is a dependency of ours, or stays: the environment is made in an experiment's folder.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.environments import make_environment

HERE = Path(__file__).parent


class PeerFailed(Exception):
    """The peer cannot answer; the message is its own."""


@dataclass(frozen=True)
class PeerPackage:
    """What to install, and the script beside this file that asks it.

    ``overrides``: requirements of its own that nobody can meet today. ``told``: what people should know of its installation.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    script: str
    overrides: tuple[str, ...] = ()
    told: str = ""


@dataclass
class PeerProcess:
    """A peer's script, running. Asked with a dict, it answers with one: ``wall`` and ``cpu`` are what it measured itself."""

    running: subprocess.Popen[str]

    def ask(self, **question: Any) -> dict[str, Any]:
        """:raises PeerFailed: it says so, or has ended."""
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        try:
            self.running.stdin.write(json.dumps(question) + "\n")
            self.running.stdin.flush()
        except BrokenPipeError as error:
            raise PeerFailed("its process has ended") from error
        # Peers print, too: answers are marked.
        for line in self.running.stdout:
            if line.startswith("answer "):
                found: dict[str, Any] = json.loads(line.removeprefix("answer "))
                if "problem" in found:
                    raise PeerFailed(found["problem"])
                return found
        raise PeerFailed(f"its process ended by {self.running.wait()}")


@contextmanager
def started(package: PeerPackage, folder: Path) -> Iterator[PeerProcess]:
    """:raises NoEnvironment: it cannot be installed."""
    python = _installed(package, folder / package.name)
    own = [str(python), str(HERE / package.script), str(folder)]
    with conversation(own, folder / f"{package.name}.log") as peer:
        yield peer


@contextmanager
def conversation(command: list[str], log: Path) -> Iterator[PeerProcess]:
    """With a script's process, which is ended afterwards; what it says beside its answers goes to a log."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""}
    with log.open("w") as told:
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True, env=os.environ | quiet)
        try:
            yield PeerProcess(running)
        finally:
            running.kill()
            running.communicate()


def _installed(package: PeerPackage, where: Path) -> Path:
    return make_environment(where, package.python, package.requirements, package.overrides)
