"""The suite stays within its limits: by counts, and what tests of their folder take."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests import budget


@pytest.mark.parametrize("target", ["test", "quick"])
def test_what_is_collected_is_within_the_bound(target: str, collected: budget.Counts) -> None:
    """Where fewer are collected than there are it says less, and nothing wrong."""
    known = budget.bounds(budget.FILE.read_text(encoding="utf-8"))[target]
    missing = set(collected[target]) - known.seconds.keys()
    assert not missing, f"{budget.FILE.name} does not know what a test of {sorted(missing)} takes: python -m tests.budget measures"
    found = known.of(collected[target])
    assert found <= known.bound, f"`make {target}` would take {found:,.0f} s of its {known.bound:,.0f}: see tests/budget.py"


def test_more_tests_of_a_folder_are_beyond_it(collected: budget.Counts) -> None:
    known = budget.bounds(budget.FILE.read_text(encoding="utf-8"))["test"]
    more = {**collected["test"], "pipeline": collected["test"].get("pipeline", 0) + int(known.bound / known.seconds["pipeline"]) + 1}
    assert known.of(more) > known.bound


def test_the_costliest_are_told_with_what_their_phases_took() -> None:
    seconds = [(f"tests/plan/test_{at}.py::test_a", float(at)) for at in range(12)] + [("tests/plan/test_3.py::test_b", 20.0)] * 2
    lines = budget.costliest(seconds)
    assert len(lines) == budget.MOST + 1
    assert lines[:2] == ["   43.0 s       2 tests  tests/plan/test_3.py", "   11.0 s       1 tests  tests/plan/test_11.py"]
    assert lines[-1] == "  106.0 s      13 tests  in all 12 modules"


def test_a_report_is_measured_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, file = tmp_path / "suite.xml", tmp_path / "budget.toml"
    report.write_text(
        dedent("""\
        <testsuites><testsuite><testcase classname="tests.plan.test_walk" name="a" time="0.5"/>
        <testcase classname="tests.plan.test_walk.TestW" name="b" time="1.5"/><testcase classname="tests.test_words" name="c" time="0.0"/>
        <testcase classname="tests.test_words.TestW" name="d" time="0.0"/></testsuite></testsuites>""")
    )
    file.write_text(budget.written({"test": budget.Bound(9.0, {"plan": 7.0}), "quick": budget.Bound(2.0, {"plan": 0.1})}))
    monkeypatch.setattr(budget, "FILE", file)
    budget.main("test", str(report))
    assert budget.bounds(file.read_text()) == {
        "test": budget.Bound(9.0, {"plan": 1.0, "test_words.py": 0.001}), "quick": budget.Bound(2.0, {"plan": 0.1}),
    }  # fmt: skip
