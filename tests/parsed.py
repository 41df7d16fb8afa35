"""The syntax of modules, parsed once in each process: several rules look at all of them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def parsed(path: Path) -> ast.Module:
    """What a file of Python says. Nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))
