"""Whether goals are reached: for each what was measured, in which comparison."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.markup import escape
from rich.table import Table

from tests.bench.goals import NOTHING, Goal
from tests.bench.results import Results, text


@dataclass(frozen=True)
class Outcome:
    """A goal held against an arm of a comparison. ``measured`` is None where nothing measured it: ``where`` says why.

    ``profile``: where it is not reached, where the time goes. ``is_busy``: others took much of the machine.
    """

    goal: Goal
    where: str
    measured: float | None
    experiment: str = ""
    title: str = ""
    profile: str = ""
    is_busy: bool = False

    @property
    def bound(self) -> str:
        """The goal's, as people read it."""
        if self.goal.report:
            return "to be told"
        return f"≥ {text(self.goal.least)}" if self.goal.least is not None else f"≤ {text(self.goal.most)}"

    @property
    def is_untold(self) -> bool:
        """Whether it is not reached, and nothing says why."""
        return self.verdict == "not reached" and (not self.profile or NOTHING in self.profile)

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        if self.goal.report:
            return "told"
        return "reached" if self.goal.reached(self.measured) else "not reached"


def outcomes(results: Results, wanted: list[Goal]) -> list[Outcome]:
    """Of every goal, for each comparison and arm that measures it; those of experiments that were not run are not measured."""
    return [one for goal in wanted for one in (list(_measured(results, goal)) or [Outcome(goal, _why_not(results, goal), None)])]


def _measured(results: Results, goal: Goal) -> Iterator[Outcome]:
    found = [*_each(results, goal)]
    yield from _in_the_mean(found) if goal.mean else found


def _in_the_mean(found: Sequence[Outcome]) -> Iterator[Outcome]:
    """By arm: told by the comparison in which it is farthest from the goal."""
    arms: dict[str, list[Outcome]] = {}
    for one in found:
        arms.setdefault(one.where.rpartition(": ")[2], []).append(one)
    for arm, some in arms.items():
        worst = (min if some[0].goal.least is not None else max)(some, key=lambda one: one.measured or 0.0)
        where = f"{worst.experiment}: {arm}, in the mean of {len(some)} comparisons, the worst {text(worst.measured)}: {worst.title}"
        mean = statistics.mean(one.measured or 0.0 for one in some)
        yield replace(worst, where=where, measured=float(f"{mean:.4g}"), is_busy=any(one.is_busy for one in some))


def _each(results: Results, goal: Goal) -> Iterator[Outcome]:
    if goal.size in ("", results.size):
        for one in results.experiments.get(goal.experiment, ()):
            for arm, value in goal.measured(one.title, one.figures()):
                where, profile = f"{goal.experiment}: {one.title}: {arm}", one.profiles.get(arm, "")
                yield Outcome(goal, where, value, goal.experiment, one.title, profile, one.is_busy(results.cores))


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
            style = "red" if one.verdict == "not reached" else ""
            verdict = ", ".join([one.verdict, *(["busy"] if one.is_busy else []), *(["nothing tells why"] if one.is_untold else [])])
            table.add_row(*map(escape, (one.goal.figure, one.bound, text(one.measured), verdict, one.where)), style=style)
    return table
