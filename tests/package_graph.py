"""The picture of the package's parts in docs/architecture.md, drawn from the imports.

``python -m tests.package_graph`` (``make docs``) draws it anew; `tests.test_architecture` fails when it is not what the code says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.test_architecture import LATE, PACKAGE, ROOT, imports, modules, part

DOCUMENT = ROOT.parent / "docs" / "architecture.md"
BEGIN, END = "```mermaid\n", "```\n"

Edges = Mapping[tuple[str, str], bool]
"""Which part imports which, and whether any of these imports runs when the part is loaded."""


@cache
def edges() -> Edges:
    """All imports between parts but those for type checkers; the package's own ``__init__`` names everything and is left out."""
    found: dict[tuple[str, str], bool] = {}
    for path in modules():
        for name, when in imports(path):
            own, other = part(path), name.removeprefix(f"{PACKAGE}.").split(".")[0]
            ours = name.startswith(f"{PACKAGE}.") and when != "typed"
            if ours and own != other and not own.startswith("_") and not other.startswith("_"):
                found[own, other] = found.get((own, other), False) or when == "loaded"
    return found


def without_detours(given: Edges) -> Edges:
    """The same order of parts with the fewest arrows: none where a longer way says as much. `LATE` imports are not of that order."""
    ordered = {edge: at_load for edge, at_load in given.items() if edge not in LATE}
    return {edge: at_load for edge, at_load in ordered.items() if edge[1] not in set(_reached(edge[0], ordered, edge))}


def _reached(start: str, given: Edges, without: tuple[str, str]) -> Iterator[str]:
    waiting, seen = [start], {start}
    while waiting:
        here = waiting.pop()
        for edge in given:
            if edge[0] == here and edge[1] not in seen and edge != without:
                seen.add(edge[1])
                waiting.append(edge[1])
                yield edge[1]


def mermaid() -> str:
    """The picture: folders are boxes, single modules rounded; a dotted arrow is an import that is only made in functions."""
    arrows = without_detours(edges())
    parts = sorted({name for edge in edges() for name in edge})
    nodes = [f"    {name}[{name}/]" if (ROOT / name).is_dir() else f"    {name}({name}.py)" for name in parts]
    return "\n".join(["graph TD", *nodes, *(f"    {a} {'-->' if arrows[a, b] else '-.->'} {b}" for a, b in sorted(arrows)), ""])


def drawn(document: Path = DOCUMENT) -> str:
    """The picture as the document has it."""
    text = document.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END, text.index(BEGIN) + len(BEGIN))]


def draw(document: Path = DOCUMENT) -> None:
    """Put the picture into the document."""
    text = document.read_text(encoding="utf-8")
    document.write_text(text.replace(BEGIN + drawn(document) + END, BEGIN + mermaid() + END), encoding="utf-8")


if __name__ == "__main__":
    draw()
