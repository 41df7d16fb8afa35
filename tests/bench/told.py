"""Why a goal is not reached: of each arm that does not, where its time goes, or what the figure is made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tests.bench.comparison import Arm, Comparison
from tests.bench.goals import NOTHING, Goal, missed
from tests.bench.profiles import ALONE, Beside, profile
from tests.bench.readings import Meter
from tests.statements import noted

Kind = Literal["time", "statements", "calls", "parts"]

STATEMENTS = ("statements", "transactions", "connections", "writing transactions", "statements a batch")
_TIME = re.compile(r"wall.*|.*CPU.*|a second|s a batch|.*, ms|jobs|× best of DuckDB.*")
"""Stages stand in a profile: jobs are told by it, too."""
_MOST = 60


@dataclass(frozen=True)
class Told:
    """Tells it: of an experiment at a size, on these processes."""

    experiment: str
    size: str
    beside: Beside = ALONE
    meter: Meter | None = None

    def tell(self, found: Comparison) -> None:
        """Of all arms of a comparison that do not reach a goal. The arms can still be done."""
        for arm, short in missed(self.experiment, self.size, found.title, found.figures()).items():
            asked = {(name, goal.of if kind_of(goal) == "parts" else kind_of(goal)): goal for goal in short for name in _arms(arm, goal)}
            found.profiles[arm] = "\n".join(dict.fromkeys(self._of(found, name, goal) for (name, _), goal in asked.items()))

    def _of(self, found: Comparison, arm: str, goal: Goal) -> str:
        try:
            return self._told(found.arms.get(arm), goal)
        except Exception as problem:  # readings of hours are not lost for it
            return f"{NOTHING} {arm!r}: {type(problem).__name__}: {problem}"

    def _told(self, arm: Arm | None, goal: Goal) -> str:
        if arm is None:
            return f"{NOTHING} it: it cannot be done again"
        if goal.of in arm.parts:
            return f"{goal.of}:\n{arm.parts[goal.of]()}"
        if arm.profile is not None:
            return arm.profile()
        kind = kind_of(goal)
        if kind == "calls" and self.meter is not None:
            return _calls(self.meter, arm.do)
        if kind == "statements" and self.beside.server is not None:
            return self._statements(arm.do)
        return profile(arm.do, self.beside) if kind == "time" and arm.reading is None else f"{NOTHING} it: {goal.of} has no parts"

    def _statements(self, do: Callable[[], Any]) -> str:
        assert self.beside.server is not None
        with noted(self.beside.server) as asked:
            do()
        said, *each = str(asked).splitlines()
        return "\n".join([said, *_cut(each)])


def kind_of(goal: Goal) -> Kind:
    """By what its figure is explained."""
    if goal.of in STATEMENTS:
        return "statements"
    if goal.of == "JVM calls":
        return "calls"
    return "time" if _TIME.fullmatch(goal.of) else "parts"


def _arms(arm: str, goal: Goal) -> list[str]:
    """What is a count is told of what it is divided by, too."""
    return [arm, goal.over] if goal.over and kind_of(goal) != "time" else [arm]


def _calls(meter: Meter, do: Callable[[], Any]) -> str:
    with meter.calls_noted() as noted_calls:
        do()
    return calls_told(noted_calls)


def calls_told(calls: Counter[str]) -> str:
    """The calls into the JVM, the most frequent first."""
    return "\n".join([f"{calls.total()} calls into the JVM", *_cut([f"  {times} {name}" for name, times in calls.most_common()])])


def _cut(lines: list[str]) -> list[str]:
    return [one[:300] for one in lines[:_MOST]] + ([f"  … {len(lines) - _MOST} more"] if len(lines) > _MOST else [])
