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
def text_of(path: Path) -> str:
    """Most modules need not be parsed: what is looked for is not in their text."""
    return path.read_text(encoding="utf-8")


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
        if SECTIONS.search(text_of(path))
        for line, text in read(path).docstrings
        for found in [SECTIONS.search(text)]
        if found is not None
    ]
    assert not odd, f"write :param x:, :raises X:, :ivar x: or :return: instead: {odd}"


def test_what_docstrings_say_is_raised_exists() -> None:
    """A name of Python, or one that some module of ours defines or imports."""
    saying = [path for path in MODULES if RAISES.search(text_of(path))]
    said = [(path, line, found[1]) for path in saying for line, text in read(path).docstrings for found in RAISES.finditer(text)]
    names = [(path, line, name.strip(" `\n").split(".")[-1]) for path, line, listed in said for name in listed.split(",")]
    assert len({name for _, _, name in names}) > 20
    assert not [f"{path.relative_to(ROOT)}:{line}: {name}" for path, line, name in names if not is_known(name)]


@cache
def is_known(name: str) -> bool:
    mentioning = [path for path in MODULES if name in text_of(path)]
    first = sorted(mentioning, key=lambda path: f"class {name}" not in text_of(path))
    return hasattr(builtins, name) or any(name in read(path).names for path in first)
