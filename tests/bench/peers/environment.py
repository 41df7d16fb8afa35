"""A virtual environment for one peer, with the Python that it needs; and the process in it that answers.

Nothing of it is a dependency of ours, or stays: the environment is made in an experiment's folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


class NoEnvironment(Exception):
    """The peer cannot be installed here; the message says why."""


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
    uv = _uv()
    overrides = where.with_suffix(".overrides")
    overrides.write_text("\n".join(package.overrides), encoding="utf-8")
    _done([uv, "venv", "--quiet", "--python", _python(package.python), str(where)], package)
    python = where / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--prerelease", "allow", "--python", str(python), "--overrides", str(overrides)]
    _done([*install, *package.requirements], package)
    return python


def _uv() -> str:
    found = shutil.which("uv") or next((str(one) for one in (ROOT / ".tools/bin/uv", ROOT / ".tools/target/bin/uv") if one.exists()), None)
    if found is None:
        raise NoEnvironment("uv is not there to make its environment")
    return found


def _python(version: str) -> str:
    """Of this version, on this machine: none is fetched."""
    if sys.version_info[:2] == tuple(int(part) for part in version.split(".")):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for one in (f"/usr/bin/python{version}", f"/usr/local/bin/python{version}", *map(str, pyenv.glob(f"{version}.*/bin/python"))):
        if Path(one).exists():
            return one
    raise NoEnvironment(f"needs Python {version}, which is not on this machine (this is {sys.version.split()[0]})")


def _done(command: list[str], package: PeerPackage) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"UV_PYTHON_DOWNLOADS": "never"})
    if done.returncode:
        told = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise NoEnvironment(f"does not install with Python {package.python}: {' '.join(told)[-300:]}")
