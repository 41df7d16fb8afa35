"""The links of a Markdown document, and the places in it that links can name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Link:
    """``target`` is the file that is meant, ``place`` the heading in it ("" for its top)."""

    text: str
    target: Path
    place: str


def links(path: Path) -> Iterator[Link]:
    """The links of a document to files of this repository."""
    for found in _LINK.finditer(_without_code(path)):
        if not re.match(r"[a-z]+:", found[1]):
            name, _, place = found[1].partition("#")
            yield Link(text=found[1], target=(path.parent / name).resolve() if name else path.resolve(), place=place)


def places(path: Path) -> set[str]:
    """What the headings of a document are called in links, as GitHub does it: in small letters, with hyphens for blanks."""
    headings = re.findall(r"^#+ (.*)$", _without_code(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _without_code(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))
