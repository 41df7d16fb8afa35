"""The rounds of a series that have been played, so that it survives being stopped."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.plans import Plan
from tests.chaos.rounds import Outcome


class Done:
    """A file with a line for every round that ended; those with problems are told in it, and are played again."""

    def __init__(self, file: Path) -> None:
        self.file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self._well = {line.removeprefix("well: ") for line in lines if line.startswith("well: ")}

    def __contains__(self, plan: Plan) -> bool:
        return str(plan) in self._well

    def note(self, outcome: Outcome) -> None:
        """Write a round down."""
        self.file.parent.mkdir(exist_ok=True)
        lines = [f"told: {line}" for line in str(outcome).splitlines()]
        if not outcome.problems:
            lines.append(f"well: {outcome.plan}")
        with self.file.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
