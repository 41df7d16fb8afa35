"""Docstrings are of one dialect: prose, and the fields of reStructuredText (``:param``, ``:raises``, ``:ivar``, ``:return:``)."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("airflow_lineage_provider", "dags", "udfs", "tests")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

SECTIONS = re.compile(r"^ *(Args|Arguments|Parameters|Attributes|Returns|Yields|Raises|Note|Notes)(:| *\n *-{3,})$", re.MULTILINE)
"""Of Google's and NumPy's dialects."""

RAISES = re.compile(r":raises ([^:]+):")


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield getattr(node, "lineno", 1), text


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_have_fields_and_no_sections(folder: str) -> None:
    odd = [
        f"{path.relative_to(ROOT)}:{line}: {found[0].strip()}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == folder
        for line, text in docstrings(ast.parse(path.read_text(encoding="utf-8")))
        for found in [SECTIONS.search(text)]
        if found is not None
    ]
    assert not odd, f"write :param x:, :raises X:, :ivar x: or :return: instead: {odd}"


def test_what_docstrings_say_is_raised_exists() -> None:
    """A name of Python, or one that some module of ours defines or imports."""
    known, said = set(vars(builtins)), []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        known |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        known |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        said += [(path, line, found[1]) for line, text in docstrings(tree) for found in RAISES.finditer(text)]
    names = [(path, line, name.strip(" `\n").split(".")[-1]) for path, line, listed in said for name in listed.split(",")]
    assert not [f"{path.relative_to(ROOT)}:{line}: {name}" for path, line, name in names if name not in known]
