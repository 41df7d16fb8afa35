"""Why goals are not reached: what is told of arms that take too long, or count too much."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

from tests.bench import profiles
from tests.bench.comparison import Arm, compared
from tests.bench.goals import NOTHING, goals, missed
from tests.bench.outcomes import outcomes
from tests.bench.profiles import profile
from tests.bench.readings import Meter
from tests.bench.report import write_report
from tests.bench.results import Results
from tests.bench.told import Told, kind_of


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is repeated for a fifth of a second, in place of one."""
    monkeypatch.setattr(profiles, "SECONDS", 0.2)


@pytest.mark.long
def test_an_arm_that_reaches_no_goal_is_profiled(tmp_path: Path) -> None:
    goal = next(one for one in goals() if one.of == "wall, s" and one.most == 0.05 and not one.over)
    title, arm = "1 of 2,000 groups, source: parquet", "again, without Spark"
    assert missed("deriving", "small", title, {arm: {"wall, s": 0.06}}) == {arm: [goal]}
    assert missed("deriving", "small", title, {arm: {"wall, s": 0.04}, "another": {"wall, s": 7.0}}) == {}
    assert missed("deriving", "small", "another", {arm: {"wall, s": 0.06}}) == {}
    assert missed("growth", "small", title, {arm: {"wall, s": 0.06}}) == {}
    found = compared(title, {arm: Arm(lambda: sleeping(0.06)), "another": Arm(lambda: None)}, Meter(None, None), 1)
    Told(goal.experiment, "small").tell(found)
    assert set(found.profiles) == {arm}
    assert "sleeping" in found.profiles[arm]
    results = Results({}, "small", {goal.experiment: [found]})
    results.write(tmp_path / "a.json")
    write_report(Results.read(tmp_path / "a.json"), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("sleeping") >= 1


def test_goals_of_the_other_size_are_not_told_of() -> None:
    title, figures = "2,000 groups of 100,000 decisions", {"asked": {"wall, s": 9.0}}
    assert missed("questions", "small", title, figures) == {}
    assert set(missed("questions", "full", title, figures)) == {"asked"}


def test_a_count_that_reaches_no_goal_is_told_by_its_parts() -> None:
    """Of the arm that it is divided by, too."""
    names = ("function_materialization", "full_materialization")
    parts = {name: {"stored tuples": lambda name=name: f"7 rows of {name}"} for name in names}
    arms = {name: Arm(lambda: 1, parts=parts[name]) for name in names}
    found = compared("CDA q17, scale factor 1: asking about 1 of 5 rows", arms, Meter(None, None), 1)
    found.facts = {name: {"stored tuples": 100.0} for name in names}
    Told("cda", "small").tell(found)
    assert found.profiles["function_materialization"] == "\n".join(f"stored tuples:\n7 rows of {name}" for name in names)


def test_what_cannot_be_told_says_so() -> None:
    def fails() -> int:
        raise ValueError("gone")

    title, facts = "one target, all of it in the store", {"10,000 rows": {"statements": 64.0}}
    for arm, said in ((Arm(lambda: 1), "no parts"), (Arm(lambda: 1, parts={"statements": fails}), "gone")):  # type: ignore[dict-item]
        found = compared(title, {"10,000 rows": arm}, Meter(None, None), 1)
        found.facts = facts
        Told("questions", "small").tell(found)
        assert found.profiles["10,000 rows"].startswith(NOTHING)
        assert said in found.profiles["10,000 rows"]
        results = Results({"cores": 2}, "small", {"questions": [found]})
        (missing,) = [one for one in outcomes(results, goals()) if one.verdict == "not reached"]
        assert missing.is_untold
        found.profiles["10,000 rows"] = "64 statements"
        (missing,) = [one for one in outcomes(results, goals()) if one.verdict == "not reached"]
        assert not missing.is_untold


def test_every_goal_of_what_is_no_time_has_something_that_tells_its_parts() -> None:
    """Times are profiled, statements and calls are noted, whatever the experiment. Others have parts where the figure is made."""
    lacking = []
    for goal in goals():
        if kind_of(goal) == "parts":
            told = [path.read_text(encoding="utf-8") for path in _sources(goal.experiment)]
            if not any("parts" in text and f'"{goal.of}"' in text for text in told):
                lacking.append(goal.figure)
    assert lacking == []


def _sources(experiment: str) -> list[Path]:
    """The experiment's module, and those of the benchmarks' that it imports."""
    own = Path(__file__).with_name("experiments") / f"{experiment}.py"
    named = re.findall(r"^from tests\.bench\.([a-z_.]+) import", own.read_text(encoding="utf-8"), re.MULTILINE)
    return [own, *(Path(__file__).parent.joinpath(*one.split(".")).with_suffix(".py") for one in named)]


def sleeping(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.long
def test_a_profile_has_the_threads_that_are_waited_for() -> None:
    """Those that are started, and those that were there and work now; not those that go on waiting."""
    go, ended = threading.Event(), threading.Event()
    there = [threading.Thread(target=one, daemon=True) for one in (lambda: waking() if go.wait() else None, lambda: ended.wait(30))]
    for one in there:
        one.start()

    def work() -> None:
        go.set()
        started = threading.Thread(target=sleeping, args=(0.3,))
        started.start()
        started.join()
        there[0].join()

    told = profile(work)
    ended.set()
    mine, _, others = told.partition("thread ")
    assert "join" in mine
    assert "sleeping  tests.bench.test_told" in others
    assert "waking" in others
    assert told.count("thread 'Thread-") == 2


def waking() -> None:
    for _ in range(10):
        sleeping(0.02)
        time.sleep(0.01)


@pytest.mark.long
def test_a_profile_has_no_paths_of_the_machine() -> None:
    told = profile(lambda: sleeping(0.3))
    assert re.match(r"\d times\n", told)  # fewer on a busy machine
    assert "sleeping" in told
    assert str(Path.home()) not in told
    assert str(Path(__file__).parent) not in told
