"""The code of a Markdown document: its blocks and the commands within its text, each with the line where it stands.

A block in ``python`` is run, and so is one without a language, as commands. One in ``text`` is what the code before it prints. A block
after ``<!-- not run: why -->`` is left alone, and so are the languages that are read elsewhere (`NOT_CODE`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("airflow-lineage", "make", "pip", "python", "python3", "export")
KINDS = ("python", "block", "command", "text")
NOT_CODE = ("mermaid",)
"""Pictures: tests/test_package_graph.py."""

_NOT_RUN = re.compile(r"<!-- not run: (.+) -->")


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """``kind`` is ``python`` (a block), ``block`` (of commands), ``text`` (what code prints), ``command`` (within the text) or a language
    that nobody runs; ``not_run`` is the reason that the document gives for leaving it alone."""

    kind: str
    section: str
    line: int
    text: str
    not_run: str = ""

    def commands(self) -> list[str]:
        """The lines of a block of commands, without prompts, comments and empty lines."""
        lines = (line.removeprefix("$ ") for line in self.text.splitlines())
        return [line for line in lines if shlex.split(line, comments=True)]


def documents(root: Path) -> list[Path]:
    """The documents that users read."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def snippets(path: Path) -> list[Snippet]:
    """All of a document, in its order."""
    return sorted([*_blocks(path), *_commands_in_text(path)], key=lambda one: one.line)


def _sections(path: Path) -> Iterator[tuple[int, str, str, bool]]:
    """Each line with its number, its section and whether it is of a block of code; fences are told as of one."""
    section, inside = "", False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = line.startswith("```")
        if line.startswith("## ") and not inside:
            section = line.removeprefix("## ")
        yield number, section, line, inside or fence
        inside ^= fence


def _blocks(path: Path) -> Iterator[Snippet]:
    opened: tuple[int, str, str] | None = None
    lines: list[str] = []
    before = ""
    for number, section, line, code in _sections(path):
        if code and line.startswith("```") and opened is None:
            opened, lines = (number, section, line.removeprefix("```").strip()), []
        elif code and line.startswith("```") and opened is not None:
            start, of, language = opened
            reason = _NOT_RUN.fullmatch(before)
            yield Snippet(kind=language or "block", section=of, line=start, text="\n".join(lines), not_run=reason[1] if reason else "")
            opened = None
        elif code:
            lines.append(line)
        if not code and line.strip():
            before = line


def _commands_in_text(path: Path) -> Iterator[Snippet]:
    text = "\n".join("" if code else line for _, _, line, code in _sections(path))
    sections = {number: section for number, section, _, _ in _sections(path)}
    for found in re.finditer(r"`([^`]+)`", text):
        words = found[1].split()
        if words[0] in PROGRAMS and len(words) > 1:
            number = text.count("\n", 0, found.start()) + 1
            yield Snippet(kind="command", section=sections[number], line=number, text=" ".join(words))
