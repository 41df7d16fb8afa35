"""The code of a Markdown document: its blocks and the commands within its text, each with the line where it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("airflow-lineage", "make", "pip", "python", "python3", "export")


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """``kind`` is ``python`` (a block), ``block`` (of commands) or ``command`` (within the text)."""

    kind: str
    section: str
    line: int
    text: str

    def commands(self) -> list[str]:
        """The lines of a block of commands, without prompts, comments and empty lines."""
        lines = (line.removeprefix("$ ") for line in self.text.splitlines())
        return [line for line in lines if shlex.split(line, comments=True)]


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
    for number, section, line, code in _sections(path):
        if code and line.startswith("```") and opened is None:
            opened, lines = (number, section, line.removeprefix("```").strip()), []
        elif code and line.startswith("```") and opened is not None:
            start, of, language = opened
            yield Snippet(kind=language or "block", section=of, line=start, text="\n".join(lines))
            opened = None
        elif code:
            lines.append(line)


def _commands_in_text(path: Path) -> Iterator[Snippet]:
    text = "\n".join("" if code else line for _, _, line, code in _sections(path))
    sections = {number: section for number, section, _, _ in _sections(path)}
    for found in re.finditer(r"`([^`]+)`", text):
        words = found[1].split()
        if words[0] in PROGRAMS and len(words) > 1:
            number = text.count("\n", 0, found.start()) + 1
            yield Snippet(kind="command", section=sections[number], line=number, text=" ".join(words))
