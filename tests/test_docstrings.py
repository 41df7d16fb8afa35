"""Docstrings are of one dialect: prose, and the fields of reStructuredText (``:param``, ``:raises``, ``:ivar``, ``:return:``)."""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.parsed import parsed

ROOT = Path(__file__).parents[1]
FOLDERS = ("airflow_lineage_provider", "dags", "udfs", "tests")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

SECTIONS = re.compile(r"^ *(Args|Arguments|Parameters|Attributes|Returns|Yields|Raises|Note|Notes)(:| *\n *-{3,})$", re.MULTILINE)
"""Of Google's and NumPy's dialects."""

RAISES = re.compile(r":raises ([^:]+):")


@dataclass(frozen=True)
class Read:
    """What the tests look for in a module: its docstrings, each with its line, and the names that it defines, imports or asks for."""

    docstrings: tuple[tuple[int, str], ...]
    names: frozenset[str]


@cache
def read(path: Path) -> Read:
    found, names = [], set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            found += [] if text is None else [(getattr(node, "lineno", 1), text)]
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
    return Read(tuple(found), frozenset(names))


def test_docstrings_have_fields_and_no_sections() -> None:
    odd = [
        f"{path.relative_to(ROOT)}:{line}: {found[0].strip()}"
        for path in MODULES
        for line, text in read(path).docstrings
        for found in [SECTIONS.search(text)]
        if found is not None
    ]
    assert not odd, f"write :param x:, :raises X:, :ivar x: or :return: instead: {odd}"


def test_what_docstrings_say_is_raised_exists() -> None:
    """A name of Python, or one that some module of ours defines or imports."""
    known = set(vars(builtins)).union(*(read(path).names for path in MODULES))
    said = [(path, line, found[1]) for path in MODULES for line, text in read(path).docstrings for found in RAISES.finditer(text)]
    names = [(path, line, name.strip(" `\n").split(".")[-1]) for path, line, listed in said for name in listed.split(",")]
    assert not [f"{path.relative_to(ROOT)}:{line}: {name}" for path, line, name in names if name not in known]
