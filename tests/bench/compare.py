"""Two files of results side by side (``make bench-compare A=… B=…``): the figures that differ by more than a tenth."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.results import Results, text

WORTH_TELLING = 0.1


def differences(a: Results, b: Results) -> Iterator[tuple[tuple[str, str, str], str, float, float]]:
    """(experiment, comparison, arm), figure, in a, in b: of what both measured, where one is a tenth more than the other."""
    found = b.figures()
    for where, figures in a.figures().items():
        for name, one in figures.items():
            other = found.get(where, {}).get(name)
            if other is not None and abs(other - one) > WORTH_TELLING * max(abs(one), abs(other)):
                yield where, name, one, other


def main() -> None:
    """:raises SystemExit: a file cannot be read, or two runs have other sizes."""
    try:
        a, b = (Results.read(Path(path)) for path in sys.argv[1:])
    except (OSError, ValueError) as problem:
        raise SystemExit(f"bench-compare: {problem}") from problem
    if a.size != b.size:
        raise SystemExit(f"bench-compare: {sys.argv[1]} has {a.size} sizes, {sys.argv[2]} {b.size} ones: they cannot be compared")
    console = Console()
    for name in dict.fromkeys([*a.machine, *b.machine]):
        if a.machine.get(name) != b.machine.get(name):
            console.print(f"{name}: {a.machine.get(name)} (A), {b.machine.get(name)} (B)", markup=False)
    table = Table("experiment", "comparison", "arm", "figure", "A", "B", "B ÷ A")
    for (experiment, title, arm), name, one, other in differences(a, b):
        table.add_row(experiment, title, arm, name, text(one), text(other), f"{other / one:.2f}" if one else "")
    console.print(table if table.row_count else "no figure differs by more than a tenth")
    for name in sorted(set(a.experiments) ^ set(b.experiments)):
        console.print(f"{name}: only in {'A' if name in a.experiments else 'B'}")


if __name__ == "__main__":
    main()
