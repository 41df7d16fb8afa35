"""The benchmarks' own workings: what they compare, write, draw and refuse. (What they measure is `make bench`.)"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from tests.bench.compare import differences
from tests.bench.comparison import AnswersDiffer, Arm, Comparison, compared
from tests.bench.experiments import EXPERIMENTS
from tests.bench.gate import bounds, passed_bounds
from tests.bench.readings import Meter, Reading
from tests.bench.report import write_report
from tests.bench.results import Results, figure_names, tables

WHERE = ("asking", "one row", "slow")


def _results(factor: float = 1.0) -> Results:
    quick = [Reading(0.5, {"driver": 0.25, "JVM": 0.0}, {"jobs": 0}), Reading(0.7, {"driver": 0.25, "JVM": 0.0}, {"jobs": 0})]
    slow = [Reading(factor * 1.2, {"driver": 0.5, "JVM": factor}, {"jobs": 3}), Reading(9.9, {"driver": 0.5, "JVM": factor}, {"jobs": 3})]
    one = Comparison("one row", "quick", {"quick": quick, "slow": slow + slow[:1]}, {"slow": {"bytes": 7.0}})
    return Results({"cores": 2}, "small", {"asking": [one]}, {"loading": "it <broke>"})


def test_figures_are_medians_and_ratios_to_the_baseline() -> None:
    figures = _results().figures()[WHERE]
    assert figures["wall, s"] == 1.2
    assert figures["wall ÷"] == 2.0
    assert figures["CPU, s"] == 1.5
    assert figures["CPU ÷"] == 6.0
    assert figures["JVM, CPU s"] == 1.0
    assert (figures["jobs"], figures["bytes"]) == (3, 7.0)


def test_arms_take_turns_after_their_answers_were_compared() -> None:
    done: list[str] = []

    def arm(name: str, gives: int) -> Arm:
        return Arm(lambda: done.append(name) or gives, lambda given: given % 10)  # type: ignore[func-returns-value]

    found = compared("x", {"a": arm("a", 3), "b": arm("b", 13)}, Meter(None, None), 2)
    assert done == ["a", "b", "a", "b", "a", "b"]
    assert [len(some) for some in found.readings.values()] == [2, 2]
    assert found.baseline == "a"
    with pytest.raises(AnswersDiffer, match="x: b gives 4, a 3"):
        compared("x", {"a": arm("a", 3), "b": arm("b", 14)}, Meter(None, None), 2)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    _results().write(tmp_path / "a.json")
    assert Results.read(tmp_path / "a.json") == _results()
    (tmp_path / "b.json").write_text("[]")
    with pytest.raises(ValueError, match=r"b\.json holds no results of the benchmarks"):
        Results.read(tmp_path / "b.json")


def test_what_differs_between_two_results() -> None:
    assert list(differences(_results(), _results(1.05))) == []
    told = {name: (one, other) for where, name, one, other in differences(_results(), _results(2.0)) if where == WHERE}
    assert told["JVM, CPU s"] == (1.0, 2.0)
    assert "driver, CPU s" not in told


def test_files_that_cannot_be_compared(tmp_path: Path) -> None:
    _results().write(tmp_path / "a.json")
    full = _results()
    full.size = "full"
    full.write(tmp_path / "b.json")
    for other, message in (("b.json", "full ones: they cannot be compared"), ("none.json", "No such file")):
        own = [sys.executable, "-m", "tests.bench.compare", str(tmp_path / "a.json"), str(tmp_path / other)]
        done = subprocess.run(own, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert message in done.stderr


def test_bounds_that_do_not_hold() -> None:
    most = {" / ".join(WHERE): {"jobs": 3, "CPU ÷": 5.0, "JVM calls": 1}}
    assert list(passed_bounds(_results(), most)) == [
        "asking / one row / slow: CPU ÷ is 6, beyond 5",
        "asking / one row / slow: no 'JVM calls' was measured",
    ]


def test_what_is_bounded_is_measured_by_an_experiment() -> None:
    assert {where.split(" / ")[0] for where in bounds()} <= set(EXPERIMENTS)
    assert all(Path(__file__).with_name("experiments").joinpath(f"{name}.py").exists() for name in EXPERIMENTS)


def test_the_page_and_the_tables(tmp_path: Path) -> None:
    write_report(_results(), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "it &lt;broke&gt;" in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "http" not in page.replace("http://www.w3.org", "")
    (one,) = _results().experiments["asking"]
    (table,) = tables([one])
    assert isinstance(table, Table)
    assert [column.header for column in table.columns] == ["", "quick", "slow"]
    assert table.row_count == len(figure_names(one))
