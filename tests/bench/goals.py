"""What is to be reached (``goals.toml``), and whether it is: for each figure what was measured, in which comparison."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from tests.bench.results import Results, text

GOALS = Path(__file__).with_name("goals.toml")


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A figure of an arm, or of an arm over another one, and the least or the most that it is to be. Fields: see the file."""

    figure: str
    experiment: str
    comparison: str
    arm: str
    of: str
    over: str = ""
    inverse: bool = False
    least: float | None = None
    most: float | None = None
    size: str = ""
    paper: str = ""

    def __post_init__(self) -> None:
        """:raises ValueError: it has no bound, or two."""
        if (self.least is None) == (self.most is None):
            raise ValueError(f"the goal {self.figure!r} needs either a least or a most")

    @property
    def bound(self) -> str:
        """As people read it."""
        return f"≥ {text(self.least)}" if self.least is not None else f"≤ {text(self.most)}"

    def reached(self, measured: float) -> bool:
        """Never by what is not a number."""
        return measured >= self.least if self.least is not None else self.most is not None and measured <= self.most


@dataclass(frozen=True)
class Outcome:
    """A goal held against an arm of a comparison. ``measured`` is None where nothing measured it: ``where`` says why."""

    goal: Goal
    where: str
    measured: float | None
    experiment: str = ""
    title: str = ""

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        return "reached" if self.goal.reached(self.measured) else "not reached"


def goals(path: Path = GOALS) -> list[Goal]:
    """What is written down."""
    return [Goal(**one) for one in tomllib.loads(path.read_text(encoding="utf-8"))["goal"]]


def outcomes(results: Results, wanted: list[Goal]) -> list[Outcome]:
    """Of every goal, for each comparison and arm that measures it; those of experiments that were not run are not measured."""
    return [one for goal in wanted for one in (list(_measured(results, goal)) or [Outcome(goal, _why_not(results, goal), None)])]


def _measured(results: Results, goal: Goal) -> Iterator[Outcome]:
    if goal.size in ("", results.size):
        figures = results.figures()
        for (experiment, title, arm), own in figures.items():
            named = experiment == goal.experiment and re.fullmatch(goal.comparison, title) and re.fullmatch(goal.arm, arm)
            base = figures.get((experiment, title, goal.over), {}).get(goal.of) if goal.over else 1.0
            if named and goal.of in own and base:
                value = own[goal.of] / base
                measured = 1 / value if goal.inverse and value else value
                yield Outcome(goal, f"{experiment}: {title}: {arm}", measured, experiment, title)


def _why_not(results: Results, goal: Goal) -> str:
    if goal.size not in ("", results.size):
        return f"{goal.experiment}, at {goal.size} size"
    return f"{goal.experiment} measured none" if goal.experiment in results.experiments else f"{goal.experiment} was not run"


def goals_table(found: list[Outcome]) -> Table:
    """For a terminal: what was measured; and how many were not."""
    missing = len({one.goal.figure for one in found if one.measured is None})
    table = Table("figure", "goal", "measured", "", "where", title="Goals", title_justify="left", caption_justify="left")
    table.caption = f"{missing} goals not measured by these experiments at this size" if missing else ""
    for one in found:
        if one.measured is not None:
            style = "" if one.verdict == "reached" else "red"
            table.add_row(*map(escape, (one.goal.figure, one.goal.bound, text(one.measured), one.verdict, one.where)), style=style)
    return table
