"""What a run of the benchmarks found, as a file: the machine, and for each experiment its comparisons with every reading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from tests.bench.comparison import Comparison

FIRST = ("wall, s", "wall ÷", "CPU, s", "CPU ÷")


@dataclass
class Results:
    """``failed``: experiments that ended with an error, and its text; ``parts``: those of which parts were asked for, and
    which."""

    machine: dict[str, Any]
    size: str
    experiments: dict[str, list[Comparison]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)

    @property
    def cores(self) -> int:
        return int(self.machine.get("cores") or 1)

    def figures(self) -> dict[tuple[str, str, str], dict[str, float]]:
        """All figures, by experiment, comparison and arm."""
        return {
            (experiment, one.title, arm): figures
            for experiment, some in self.experiments.items()
            for one in some
            for arm, figures in one.figures().items()
        }

    def write(self, path: Path) -> None:
        """To a JSON file."""
        path.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def to_json(self) -> dict[str, Any]:
        """As a file has it."""
        experiments = {name: [one.to_json() for one in some] for name, some in self.experiments.items()}
        return {"machine": self.machine, "size": self.size, "experiments": experiments, "failed": self.failed, "parts": self.parts}

    @classmethod
    def read(cls, path: Path) -> Results:
        """What `write` wrote.

        :raises ValueError: the file is something else.
        """
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")), str(path))

    @classmethod
    def from_json(cls, found: Any, where: str) -> Results:
        """What `to_json` gave.

        :raises ValueError: it is something else.
        """
        try:
            experiments = {name: [Comparison.from_json(one) for one in some] for name, some in found["experiments"].items()}
            return cls(found["machine"], found["size"], experiments, found["failed"], found.get("parts", {}))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{where} holds no results of the benchmarks: {error!r}") from error


def tables(comparisons: list[Comparison], cores: int) -> Iterator[Table | str]:
    """Each comparison for a terminal: a line for each figure, a column for each arm; then what else is to be said."""
    for one in comparisons:
        repeats = len(next(iter(one.readings.values()), ()))
        busy = f", {busy_told(one)}" if one.is_busy(cores) else ""
        title = f"{one.title} (medians of {repeats}{busy})" if repeats else one.title
        table = Table("", *one.readings, title=escape(title), title_justify="left")
        figures = one.figures()
        for name in figure_names(one):
            table.add_row(name, *(text(some.get(name)) for some in figures.values()))
        yield table if one.readings else escape(title)
        if one.notes:
            yield "\n".join(escape(f"  {name}: {note}") for name, note in one.notes.items())


def busy_told(one: Comparison) -> str:
    """That others worked on the machine, too."""
    return f"busy: others took {text(one.others)} processors meanwhile"


def figure_names(one: Comparison) -> list[str]:
    """The figures of which any of its arms has some, those first that people look at first."""
    figures = one.figures().values()
    names = dict.fromkeys([*FIRST, *(name for some in figures for name in some)])
    return [name for name in names if any(some.get(name) for some in figures)]


def text(value: float | None) -> str:
    """A figure as people read it."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value == int(value) and abs(value) >= 1 else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
