"""What is to be reached (``goals.toml``): for each figure the comparisons and arms that measure it, and its bound."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

NOTHING = "nothing tells of"
"""So begins what stands there where a goal is not reached, and nothing says why."""
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
    report: bool = False
    mean: bool = False
    size: str = ""
    paper: str = ""

    def __post_init__(self) -> None:
        """:raises ValueError: it has no bound, or two; or it has one, and is for the report alone."""
        if (self.least is not None) + (self.most is not None) + self.report != 1:
            raise ValueError(f"the goal {self.figure!r} needs either a least or a most, or is for the report alone")

    def reached(self, measured: float) -> bool:
        """Never by what is not a number; always by what is for the report alone."""
        if self.report:
            return True
        return measured >= self.least if self.least is not None else self.most is not None and measured <= self.most

    def measured(self, title: str, figures: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, float]]:
        """The arms of a comparison that measure it, and what they measure."""
        base = figures.get(self.over, {}).get(self.of) if self.over else 1.0
        if base and re.fullmatch(self.comparison, title):
            for arm, own in figures.items():
                if re.fullmatch(self.arm, arm) and self.of in own:
                    value = own[self.of] / base
                    yield arm, 1 / value if self.inverse and value else value


@lru_cache(maxsize=4)
def goals(path: Path = GOALS) -> list[Goal]:
    """What is written down."""
    return [Goal(**one) for one in tomllib.loads(path.read_text(encoding="utf-8"))["goal"]]


def missed(experiment: str, size: str, title: str, figures: Mapping[str, Mapping[str, float]]) -> dict[str, list[Goal]]:
    """The arms of an experiment's comparison that do not reach a goal of this size, each with these goals."""
    found: dict[str, list[Goal]] = {}
    for goal in goals():
        if goal.experiment == experiment and goal.size in ("", size):
            for arm, value in goal.measured(title, figures):
                if not goal.reached(value):
                    found.setdefault(arm, []).append(goal)
    return found
