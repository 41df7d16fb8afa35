"""What became of the core on a combination, and the table of all."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.matrix.combinations import Combination

_ASK = """
import importlib.metadata as found, platform
def of(name):
    try: return found.version(name)
    except found.PackageNotFoundError: return "-"
print(platform.python_version(), of("pyspark"), of("apache-airflow"))
"""


@dataclass(frozen=True)
class Outcome:
    """The tests of a combination.

    :ivar versions: of Python, PySpark and Airflow, as its environment tells them.
    :ivar problem: why there is no outcome; None where the tests ran.
    """

    name: str
    versions: tuple[str, str, str] = ("-", "-", "-")
    passed: int = 0
    failed: tuple[str, ...] = ()
    skipped: int = 0
    seconds: float = 0.0
    problem: str | None = None

    @property
    def is_good(self) -> bool:
        """Tests ran, and none failed."""
        return self.problem is None and not self.failed and self.passed > 0


def versions_of(python: Path) -> tuple[str, str, str]:
    """The releases of Python, PySpark and Airflow that are in an environment."""
    told = subprocess.run([str(python), "-c", _ASK], capture_output=True, text=True, check=True).stdout.split()
    return told[0], told[1], told[2]


def other_releases(combination: Combination, versions: tuple[str, str, str]) -> str | None:
    """What is in the environment and is not the combination's, where anything is: what resolved it may have had rules of its own."""
    names = ("Python", "pyspark", "apache-airflow")
    found = dict(zip(names, versions, strict=True))
    wanted = dict(one.split("==") for one in combination.releases)
    wrong = [f"{name} {found[name]}" for name, release in wanted.items() if found[name] != release]
    wrong += [] if found["Python"].startswith(f"{combination.python}.") else [f"Python {found['Python']}"]
    return f"its environment has {', '.join(wrong)}" if wrong else None


def read_outcome(name: str, versions: tuple[str, str, str], report: Path) -> Outcome:
    """The outcome from pytest's report (JUnit's XML)."""
    if not report.exists():
        return Outcome(name, versions, problem="pytest ended without a report")
    suite = next(ET.parse(report).getroot().iter("testsuite"))
    cases = list(suite.iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    names = tuple(dict.fromkeys(f"{case.get('classname')}::{case.get('name')}" for case in failed))
    passed = len(cases) - len(failed) - skipped
    return Outcome(name, versions, passed, names, skipped, float(suite.get("time", 0)))


def table(outcomes: Sequence[Outcome]) -> str:
    """One line a combination."""
    head = ("combination", "Python", "PySpark", "Airflow", "passed", "failed", "skipped", "seconds")
    lines = [head, *(_line(one) for one in outcomes)]
    widths = [max(len(line[at]) for line in lines if len(line) == len(head) or at < 4) for at in range(len(head))]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip() for line in lines)


def _line(one: Outcome) -> tuple[str, ...]:
    if one.problem is not None:
        return (one.name, *one.versions, f"not run: {one.problem}")
    return (one.name, *one.versions, str(one.passed), str(len(one.failed)), str(one.skipped), f"{one.seconds:.0f}")
