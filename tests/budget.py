"""What the suite may cost: `make test` ends within 15 minutes on two processors, and `make quick` within one.

The suite grows with every change, and no single test is too many. So each folder has the seconds that one of its tests takes
(`budget.toml`), and what is collected, counted, may not come to more than the bound (`tests/test_budget.py`): by counts, which are the same
on every machine. Beyond it something has to become cheaper: data that is recorded once a module, a sample of cases that are alike
(`tests.in_turn`), a question that is asked of the oracle in place of Spark. ``python -m tests.budget test suite.xml`` then measures anew,
from the file that ``make test REPORT=suite.xml`` has written.

The bounds are what there is. (Fifteen minutes by three processes are some 2,550 seconds, which `make test` is to come down to; a minute by
two is some 100.)
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from xml.etree import ElementTree

FILE = Path(__file__).with_name("budget.toml")
MOST = 10
"""Modules that are told."""
_NOT_QUICK = frozenset({"spark", "airflow", "postgres", "browser", "processes", "long"})
"""Markers of tests that `make quick` leaves out."""

Counts = Mapping[str, Mapping[str, int]]
"""How many tests there are, by target of the Makefile and by folder."""


@dataclass(frozen=True)
class Bound:
    """Of one target.

    :ivar bound: the seconds that its tests may take together, over all processes.
    :ivar seconds: what a test takes, by folder.
    """

    bound: float
    seconds: Mapping[str, float]

    def of(self, tests: Mapping[str, int]) -> float:
        """What so many tests take.

        >>> Bound(60.0, {"plan": 0.01, "web": 0.5}).of({"plan": 300, "web": 20})
        13.0
        """
        return sum(count * self.seconds[folder] for folder, count in tests.items())


def bounds(text: str) -> dict[str, Bound]:
    return {target: Bound(one["bound"], one["seconds"]) for target, one in tomllib.loads(text).items()}


def counted(tests: Iterable[tuple[str, Iterable[str]]]) -> Counts:
    """Of the names of tests, each with its markers.

    >>> counted([("tests/plan/test_walk.py::test_a", ()), ("tests/web/test_api.py::test_b", ("airflow",)), ("tests/test_words.py::c", ())])
    {'test': {'plan': 1, 'web': 1, 'test_words.py': 1}, 'quick': {'plan': 1, 'test_words.py': 1}}
    """
    every, quick = Counter[str](), Counter[str]()
    for name, markers in tests:
        folder = name.removeprefix("tests/").partition("::")[0].partition("/")[0]
        every[folder] += 1
        quick[folder] += _NOT_QUICK.isdisjoint(markers)
    return {"test": dict(every), "quick": dict(+quick)}


def costliest(seconds: Iterable[tuple[str, float]]) -> list[str]:
    """A line for each of the modules that took longest, and one for all, of the names of tests and what each of their phases took."""
    taken, tests = defaultdict[str, float](float), defaultdict[str, set[str]](set)
    for name, took in seconds:
        module = name.partition("::")[0]
        taken[module] += took
        tests[module].add(name)
    lines = [f"{taken[module]:7.1f} s  {len(tests[module]):6,} tests  {module}" for module in nlargest(MOST, taken, key=taken.__getitem__)]
    return [*lines, f"{sum(taken.values()):7.1f} s  {sum(map(len, tests.values())):6,} tests  in all {len(tests)} modules"]


def measured(report: Path) -> dict[str, float]:
    """What a test takes, by folder, in a report of pytest's (``--junitxml``)."""
    taken, tests = defaultdict[str, float](float), Counter[str]()
    for case in ElementTree.parse(report).iter("testcase"):
        _, first, *further = case.attrib["classname"].split(".")
        folder = first if further and not further[0][0].isupper() else f"{first}.py"
        taken[folder] += float(case.attrib["time"])
        tests[folder] += 1
    return {folder: max(round(taken[folder] / count, 3), 0.001) for folder, count in sorted(tests.items())}


def main(target: str, report: str) -> None:
    """Write what a report says of a target; its bound, and the other target, stay as they are."""
    known = bounds(FILE.read_text(encoding="utf-8"))
    known[target] = Bound(known[target].bound, measured(Path(report)))
    FILE.write_text(written(known), encoding="utf-8")


def written(known: Mapping[str, Bound]) -> str:
    lines = ["# Seconds: of a target, over all processes; and of one test, by folder. `python -m tests.budget` measures (tests/budget.py)."]
    for target, one in known.items():
        lines += ["", f"[{target}]", f"bound = {one.bound}", "", f"[{target}.seconds]"]
        lines += [f"{folder!r} = {seconds}" if "." in folder else f"{folder} = {seconds}" for folder, seconds in one.seconds.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main(*sys.argv[1:])
