"""Whether the model of large stores is still made of what is measured: its constants (``scale.toml``) beside a file of results.

``make bench-scale A=bench/results.json`` prints those that results have; one that is off by more than three tenths fails it.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.results import Results, text
from tests.bench.scale import constants

ROOM = 0.3


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A constant, by its place in the file, and the figure that measures it: ``per`` so many rows, beyond ``beside``.

    ``comparison`` is a regular expression over titles; of several that measure it the median counts.
    """

    constant: str
    experiment: str
    comparison: str
    arm: str
    of: str
    per: float = 1.0
    beside: float = 0.0

    def known(self, all_constants: Mapping[str, Any]) -> float:
        """What the model has."""
        table, _, name = self.constant.partition(".")
        return float(all_constants[table][name])

    def found(self, results: Results) -> float | None:
        """What results have; None where they do not measure it."""
        values = [
            figures[self.of]
            for (experiment, title, arm), figures in results.figures().items()
            if experiment == self.experiment and arm == self.arm and re.fullmatch(self.comparison, title) and self.of in figures
        ]
        return (statistics.median(values) - self.beside) / self.per if values else None


@dataclass(frozen=True)
class Held:
    """A constant beside what was found."""

    measured: Measured
    known: float
    found: float | None

    @property
    def verdict(self) -> str:
        if self.found is None:
            return "not measured"
        return "holds" if abs(self.found - self.known) <= ROOM * self.known else "off"


def measured(all_constants: Mapping[str, Any]) -> list[Measured]:
    """What the file says of its constants."""
    return [Measured(**one) for one in all_constants["measured"]]


def held(results: Results, all_constants: Mapping[str, Any]) -> Iterator[Held]:
    """Every constant that an experiment measures."""
    for one in measured(all_constants):
        yield Held(one, one.known(all_constants), one.found(results))


def main() -> int:
    """The constants beside what was measured; 1 where one is off, or the results measure none.

    :raises SystemExit: the results cannot be read, or are of the small sizes, whose fixed costs are the most of what they measure.
    """
    try:
        results = Results.read(Path(sys.argv[1]))
    except (IndexError, OSError, ValueError) as problem:
        raise SystemExit(f"bench-scale: {problem}") from problem
    if results.size != "full":
        raise SystemExit(f"bench-scale: {sys.argv[1]} has {results.size} sizes; the model is made of full ones")
    found = list(held(results, constants()))
    table = Table("constant", "in the model", "measured", "", "where")
    for one in found:
        where = f"{one.measured.experiment}: {one.measured.comparison}: {one.measured.arm}: {one.measured.of}"
        table.add_row(
            one.measured.constant, _text(one.known), _text(one.found), one.verdict, where, style="red" if one.verdict == "off" else ""
        )
    Console().print(table)
    verdicts = {one.verdict for one in found}
    return 1 if "off" in verdicts or verdicts == {"not measured"} else 0


def _text(value: float | None) -> str:
    return text(value) if value is None or abs(value) >= 1e-3 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
