"""Virtual environments of other Pythons and other releases, made with uv from packages' indexes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


class NoEnvironment(Exception):
    """It cannot be made here; the message says why."""


def make_environment(where: Path, python: str, requirements: Iterable[str], overrides: Iterable[str] = ()) -> Path:
    """A new environment in a folder, with what is required; its Python.

    :param python: its version, as "3.11".
    :param overrides: requirements that take the place of those that packages have.
    :raises NoEnvironment: there is no such Python, or no set of releases that meets all requirements.
    """
    uv, overriding = _uv(), where.with_name(f"{where.name}.overrides")
    overriding.write_text("\n".join(overrides), encoding="utf-8")
    _done([uv, "venv", "--quiet", "--python", _python(python), str(where)], python)
    made = where / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--prerelease", "allow", "--python", str(made), "--overrides", str(overriding)]
    _done([*install, *requirements], python)
    return made


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


def _done(command: list[str], python: str) -> None:
    # Not in this project's folder, whose own settings of uv would override what is required here.
    never = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=never, cwd="/")
    if done.returncode:
        told = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise NoEnvironment(f"does not install with Python {python}: {' '.join(told)[-300:]}")
