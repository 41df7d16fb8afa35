"""Code in a Python of its own: what is loaded there, and what comes out the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[1]
NewPython: TypeAlias = Callable[..., str]


def new_python(code: str, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
    """What the code prints, without white space around it; it ends well, within two minutes. Tests take it as a fixture (`tests.conftest`).

    :param variables: environment variables, beside those of this process.
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
