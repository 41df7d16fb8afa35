"""The combinations are what the documents and the requirements say; what became of one is read and shown rightly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_lineage_provider.spark.environment import _works
from tests.environments import ROOT, NoEnvironment
from tests.lacking import LACKING, lacking
from tests.matrix import __main__ as matrix
from tests.matrix.combinations import COMBINATIONS, Combination, chosen
from tests.matrix.outcome import Outcome, other_releases, read_outcome, table

VERSIONS = ("3.11.2", "4.1.4", "-")
CASES = {"a": "", "b": "<failure>no</failure>", "c": "<error>no</error>", "d": "<skipped/>"}


def test_the_core_is_there() -> None:
    assert {path for one in COMBINATIONS for path in one.tests if not (ROOT / "tests" / path).exists()} == set()


def test_what_is_lacking_names_tests() -> None:
    for one in LACKING:
        path, function = re.fullmatch(r"(.*)::(\w+).*", one.tests.replace("\\", "")).groups()  # type: ignore[union-attr]
        assert f"def {function}(" in (ROOT / "tests" / path).read_text(encoding="utf-8")


def test_tests_are_left_out_before_the_release_that_they_need() -> None:
    name = "tests/spark/test_worker_daemon.py::test_a_library_that_starts_a_thread"
    told = [lacking(name, version) is None for version in ("4.0.5", "4.1.4", "4.2.0", "4.10.0", "5.0.0")]
    assert told == [False, False, True, True, True]
    assert lacking("tests/spark/test_worker_daemon.py::test_workers_are_born_with_what_they_need", "4.0.5") is None


def test_all_or_those_that_are_named() -> None:
    assert chosen([]) == COMBINATIONS
    assert [one.name for one in chosen(["python-3.13", "pyspark-4.1"])] == ["python-3.13", "pyspark-4.1"]
    with pytest.raises(ValueError, match=r"no combination pyspark-2; there are pyspark-4\.0"):
        chosen(["pyspark-4.1", "pyspark-2"])


def test_every_release_of_spark_that_is_let_in_is_tested() -> None:
    """And no other one is."""
    pyspark = {one.partition("==")[2] for combination in COMBINATIONS for one in combination.releases if one.startswith("pyspark==")}
    assert all(map(_works, pyspark))
    minors = [tuple(int(part) for part in version.split(".")[:2]) for version in pyspark]
    assert not _works("3.5" if min(minors) == (4, 0) else f"{min(minors)[0]}.{min(minors)[1] - 1}")
    assert not _works(f"{max(minors)[0]}.{max(minors)[1] + 1}")


def test_the_reference_says_what_is_tested() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    rows = [
        tuple(cell.strip(" `") for cell in line.strip("|").split("|"))
        for line in text.splitlines()
        if re.match(r"\| `\w+-3?[\d.]+` \|", line)
    ]
    assert [(name, python, releases) for name, python, releases in rows] == [
        (one.name, one.python, ", ".join(release.replace("==", " ") for release in one.releases)) for one in COMBINATIONS
    ]


def test_an_outcome_is_read_from_the_report(tmp_path: Path) -> None:
    cases = "".join(f'<testcase classname="tests.x" name="{name}" time="1">{told}</testcase>' for name, told in CASES.items())
    report = tmp_path / "report.xml"
    report.write_text(f'<testsuites><testsuite name="pytest" tests="4" time="61.4">{cases}</testsuite></testsuites>')
    found = read_outcome("one", VERSIONS, report)
    assert found == Outcome("one", VERSIONS, 1, ("tests.x::b", "tests.x::c"), 1, 61.4)
    assert not found.is_good


def test_what_is_no_good_outcome(tmp_path: Path) -> None:
    assert Outcome("one", VERSIONS, 1).is_good
    assert not Outcome("one", VERSIONS, 0, (), 3).is_good
    assert not Outcome("one", problem="no Python").is_good
    assert not read_outcome("one", VERSIONS, tmp_path / "none.xml").is_good


def test_an_environment_of_other_releases_is_no_outcome() -> None:
    (one,) = chosen(["airflow-3.3"])
    assert other_releases(one, ("3.11.2", "4.2.0", "3.3.2")) is None
    assert other_releases(one, ("3.11.2", "4.3.0", "3.3.2")) == "its environment has pyspark 4.3.0"
    assert other_releases(one, ("3.12.1", "4.2.0", "-")) == "its environment has apache-airflow -, Python 3.12.1"


def test_the_table() -> None:
    assert table([Outcome("one", VERSIONS, 7, ("a::b",), 1, 61.4), Outcome("other", problem="no Python 3.13")]).splitlines() == [
        "combination  Python  PySpark  Airflow  passed  failed  skipped  seconds",
        "one          3.11.2  4.1.4    -        7       1       1        61",
        "other        -       -        -        not run: no Python 3.13",
    ]


def test_a_combination_that_cannot_be_made_fails_the_matrix(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def none(one: Combination) -> Path:
        raise NoEnvironment(f"needs Python {one.python}")

    monkeypatch.setattr(matrix, "prepared", none)
    assert matrix.main(["python-3.13"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "python-3.13  -       -        -        not run: needs Python 3.13"
    with pytest.raises(SystemExit, match="2"):
        matrix.main(["pyspark-2"])


def test_stopped_by_hand_it_says_what_it_knows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(wanted: tuple[Combination, ...], processes: str) -> Iterator[Outcome]:
        yield Outcome(wanted[0].name, VERSIONS, 7, (), 1, 61.4)
        raise KeyboardInterrupt

    monkeypatch.setattr(matrix, "_outcomes", stopped)
    assert matrix.main(["pyspark-4.1", "python-3.13"]) == 130
    told = capsys.readouterr().out.splitlines()
    assert told[-2].split() == ["pyspark-4.1", *VERSIONS, "7", "0", "1", "61"]
    assert told[-1] == "stopped; not run to the end: python-3.13"
