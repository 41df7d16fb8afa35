"""The benchmarks' own workings: what they compare, write, draw and refuse. (What they measure is `make bench`.)"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from rich.table import Table

from airflow_lineage_provider.store import Store
from tests.bench import comparison, readings
from tests.bench.compare import differences
from tests.bench.comparison import AnswersDiffer, Arm, Comparison, compared
from tests.bench.elsewhere import MEMORY, elsewhere
from tests.bench.experiments import EXPERIMENTS
from tests.bench.gate import Bounds, bounds, passed_bounds
from tests.bench.goals import Goal, goals
from tests.bench.machine import machine
from tests.bench.memory import most_memory_of_trees
from tests.bench.outcomes import goals_table, outcomes
from tests.bench.peers.environment import HERE, PeerFailed, PeerPackage, conversation, started
from tests.bench.peers.questions import questions
from tests.bench.readings import Meter, Reading
from tests.bench.report import write_report
from tests.bench.results import Results, figure_names, tables
from tests.environments import NoEnvironment

EXAMPLES = [one for one in Path(__file__).parent.rglob("*.py") if "\n    >>> " in one.read_text("utf-8")]
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


@pytest.mark.parametrize(
    ("seconds", "turns"), [((0.2, 0.1, 0.05, 0.05), 3), ((0.05, 0.05), 1), ((0.3, 0.2, 0.1, 0.05, 0.02), 3), ((11.0, 5.0), 0)]
)
def test_turns_that_warm_up(monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, ...], turns: int) -> None:
    """For as long as the baseline becomes quicker, at most three: none of them is measured."""
    done: list[str] = []
    clock = [0.0]
    monkeypatch.setattr(comparison, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def slower_first() -> None:
        clock[0] += seconds[min(done.count("a"), len(seconds) - 1)]
        done.append("a")

    arms = {"a": Arm(slower_first), "b": Arm(lambda: done.append("b"))}
    found = compared("x", arms, Meter(None, None), 1, warm_up=3)
    assert done == ["a", "b"] * (turns + 2)
    assert [len(some) for some in found.readings.values()] == [1, 1]


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


@pytest.mark.processes
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


def test_bounds_that_do_not_hold(tmp_path: Path) -> None:
    held = {"jobs": {"least": 3}, "bytes": {"least": 7, "most": 7}, "CPU, s": 1.5}
    known: Bounds = {
        " / ".join(WHERE): {**held, "CPU ÷": 5.0, "wall ÷": {"least": 2.1}, "JVM calls": 1},
        "growth / x / not run": {"jobs": 1},
    }
    assert list(passed_bounds(_results(), known)) == [
        "asking / one row / slow: CPU ÷ is 6, beyond 5",
        "asking / one row / slow: wall ÷ is 2, below 2.1",
        "asking / one row / slow: no 'JVM calls' was measured",
    ]
    for number, bound in enumerate(("{ lest = 1 }", "{ }", '"1"')):
        path = tmp_path / f"{number}.toml"
        path.write_text(f"[a]\njobs = {bound}\n")
        with pytest.raises(ValueError, match="'jobs' of 'a' needs a least, a most or both"):
            bounds(path)


def test_goals_are_held_against_every_comparison_that_measures_them() -> None:
    at: dict[str, Any] = {"experiment": "asking", "comparison": "one .*", "arm": "slow"}
    wanted = [
        Goal(figure="a", **at, of="CPU ÷", inverse=True, least=0.2),
        Goal(figure="b", **at, of="jobs", most=3),
        Goal(figure="c", **at, of="CPU, s", over="quick", most=5),
        Goal(figure="d", **at, of="jobs", most=3, size="full"),
        Goal(figure="e", experiment="loading", comparison=".*", arm=".*", of="jobs", most=1),
    ]
    found = outcomes(_results(), wanted)
    assert [(one.goal.figure, one.measured and round(one.measured, 3), one.verdict) for one in found] == [
        ("a", 0.167, "not reached"),
        ("b", 3, "reached"),
        ("c", 6.0, "not reached"),
        ("d", None, "not measured"),
        ("e", None, "not measured"),
    ]
    assert [one.where for one in found[3:]] == ["asking, at full size", "loading was not run"]
    assert goals_table(found).row_count == 3


@pytest.mark.long
def test_what_the_meter_itself_takes_is_not_the_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither before the work nor after it, however long the system's processes take to look through."""

    def busy(_: Any) -> float:
        ends = time.process_time() + 0.05
        while time.process_time() < ends:
            pass
        return 0.0

    meter = Meter(None, None)
    monkeypatch.setattr(meter, "_server", psutil.Process())
    monkeypatch.setattr(readings, "seconds_of_tree", lambda one: (busy(one), 0.0))
    monkeypatch.setattr(readings, "_read_by", busy)
    assert meter.measured(lambda: None).cpu["driver"] < 0.02
    assert 0.05 <= meter.measured(lambda: busy(None)).cpu["driver"] < 0.09


_SERVER = """
import os, sys, time
print("ready", flush=True)
for line in sys.stdin:
    session, (heard, said) = None, os.pipe()
    if not (session := os.fork()):
        while time.process_time() < 0.1:
            pass
        os.write(said, b"done")
        os._exit(0)
    os.read(heard, 4), os.close(heard), os.close(said)
    print("done", flush=True)
    os.waitpid(session, 0)
"""


@pytest.mark.processes
def test_seconds_of_sessions_that_end_with_the_work_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever their server notices that they have ended: while it and they are being read, too."""
    meter = Meter(None, None)
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdout.readline()
        monkeypatch.setattr(meter, "_server", psutil.Process(server.pid))
        for _ in range(8):
            with meter.reading() as found:
                server.stdin.write("work\n")
                server.stdin.flush()
                server.stdout.readline()
            assert 0.07 <= found.cpu["PostgreSQL"] <= 0.16
        server.stdin.close()


def test_a_session_that_ends_while_it_is_read_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server was read before it noticed, and the session after: its second is in neither."""
    told = iter([{1: (1.0, 0.0), 2: (1.0, 0.0)}, {1: (1.0, 0.0)}, {1: (1.0, 1.0)}])
    monkeypatch.setattr(readings, "_seconds_by_process", lambda _: next(told))
    assert readings.seconds_of_tree(SimpleNamespace(pid=1)) == (1.0, 1.0)  # type: ignore[arg-type]


def test_a_count_that_a_reading_lacks_is_the_others() -> None:
    some = [Reading(1.0, counts={"files opened": 4}), Reading(1.0), Reading(1.0, counts={"files opened": 6, "jobs": 1})]
    assert Comparison("x", "a", {"a": some}).figures()["a"].items() >= {"files opened": 5.0, "jobs": 1.0}.items()


@pytest.mark.spark
@pytest.mark.processes
def test_what_an_experiment_had_found_is_kept_where_it_is_ended(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-m", "tests.bench", "--only", "arrays", "--repeats", "1", "--out", str(tmp_path)]) as bench:
        until = time.monotonic() + 120
        while not (tmp_path / "arrays.found.json").exists() and time.monotonic() < until:
            time.sleep(0.05)
        bench.terminate()
        assert bench.wait(90) == 128 + 15
    kept = Results.read(tmp_path / "results.json")
    assert kept.failed == {"arrays": "it was ended before it was done"}
    assert kept.experiments["arrays"][0].readings
    assert [one.name for one in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize("bounds_of_it", [{}, {"least": 1.0, "most": 2.0}, {"most": 2.0, "report": True}])
def test_a_goal_has_one_bound(bounds_of_it: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either a least or a most, or is for the report alone"):
        Goal(figure="a", experiment="asking", comparison=".*", arm=".*", of="jobs", **bounds_of_it)


def test_what_is_a_goal_is_measured_by_an_experiment() -> None:
    assert {goal.experiment for goal in goals()} <= set(EXPERIMENTS)


def test_an_arm_that_reads_itself_and_what_cannot_be_compared(tmp_path: Path) -> None:
    given = Arm(lambda: 7.0, reading=lambda wall: Reading(wall, {"peer": 1.0}))
    found = compared("x", {"a": given}, Meter(None, None), 2)
    assert found.readings["a"] == [Reading(7.0, {"peer": 1.0})] * 2
    found.notes = {"another": "answers [wrongly]"}
    results = Results({}, "small", {"asking": [found, Comparison("published", "", {}, notes={"a paper": "so much"})]})
    results.write(tmp_path / "a.json")
    assert Results.read(tmp_path / "a.json") == results
    told = [one for one in tables(results.experiments["asking"], results.cores) if isinstance(one, str)]
    assert told == ["  another: answers \\[wrongly]", "published", "  a paper: so much"]
    write_report(results, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "answers [wrongly]" in page
    assert page.count("data:image") == 1


@pytest.mark.parametrize(
    "path", [one for one in Path(__file__).parent.rglob("*.py") if "\n    >>> " in one.read_text("utf-8")], ids=lambda one: one.stem
)
def test_examples_are_true(path: Path) -> None:
    name = ".".join(path.relative_to(Path(__file__).parents[2]).with_suffix("").parts)
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_what_is_bounded_is_measured_by_an_experiment() -> None:
    assert {where.split(" / ")[0] for where in bounds()} <= set(EXPERIMENTS)
    assert all(Path(__file__).with_name("experiments").joinpath(f"{name}.py").exists() for name in EXPERIMENTS)


def test_the_page_and_the_tables(tmp_path: Path) -> None:
    write_report(_results(), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "it &lt;broke&gt;" in page
    assert "goals are not measured by what was run" in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "http" not in page.replace("http://www.w3.org", "")
    (one,) = _results().experiments["asking"]
    (table,) = tables([one], 2)
    assert isinstance(table, Table)
    assert [column.header for column in table.columns] == ["", "quick", "slow"]
    assert table.row_count == len(figure_names(one))


def test_statements_are_counted_where_the_server_is_this_process_s(store: Store) -> None:
    """An arm in a process of its own opens the store of another by its URL: nobody there knows the server's log."""
    opened = Store.open(store.tcp_url)
    try:
        assert Meter(None, opened).asked(opened.may_derive) == {}
    finally:
        opened.close()
    assert Meter(None, store).asked(store.may_derive)["statements"] >= 1


@pytest.mark.processes
def test_an_arm_of_a_process_of_its_own() -> None:
    """What it has of memory is its own, whatever others had before it; and it is told where it had most."""
    arms = {
        "much": elsewhere("tests.bench.taking", "much", parts=("turns",)),
        "little": elsewhere("tests.bench.taking", "little", once=True),
    }
    held = bytearray(200_000_000)  # of this process
    found = compared("x", arms, Meter(None, None), 1)
    figures = found.figures()
    assert len(held) == 200_000_000
    assert 55 <= figures["much"][MEMORY] <= 100
    assert figures["little"][MEMORY] < 20
    assert figures["little"]["turns"] == 1
    assert figures["much"]["wall, s"] >= 0.3
    told = arms["much"].parts[MEMORY]()
    assert re.match(r"[\d,]+ MB at most", told)
    assert "held  tests.bench.taking" in told
    assert arms["much"].parts["turns"]() == "one of 60,000,000"
    assert arms["much"].profile is not None
    assert "held" in arms["much"].profile()
    with pytest.raises(RuntimeError, match="KeyError"):
        elsewhere("tests.bench.taking", "nothing").answer(None)
    with pytest.raises(AnswersDiffer):
        compared("x", {**arms, "other": elsewhere("tests.bench.taking", "other")}, Meter(None, None), 1)


def test_what_the_readings_are_readings_of() -> None:
    """Told, not guessed: the commit is git's."""
    found = machine()
    assert found["commit"] == "unknown" or re.fullmatch("[0-9a-f]{40,64}", found["commit"])
    assert isinstance(found["changed"], bool)
    assert datetime.fromisoformat(found["date"]).tzinfo is not None
    assert {"cores", "CPU", "memory", "Python", "PySpark", "PostgreSQL", "DuckDB", "Java", "version"} <= set(found)
    assert re.fullmatch(r"\d+[.\d]*", found["PostgreSQL"])


def test_a_busy_machine_is_told(tmp_path: Path) -> None:
    results = _results()
    (one,) = results.experiments["asking"]
    for others, busy in ((0.19, False), (None, False), (1.25, True)):
        one.others = others
        results.write(tmp_path / "a.json")
        assert Results.read(tmp_path / "a.json") == results
        write_report(results, tmp_path / "report.html")
        assert ("busy: others took 1.25" in (tmp_path / "report.html").read_text(encoding="utf-8")) is busy
        (table,) = tables([one], results.cores)
        assert isinstance(table, Table)
        assert ("busy" in str(table.title)) is busy
        goal = Goal(figure="a", experiment="asking", comparison="one .*", arm="slow", of="jobs", most=3)
        assert [found.is_busy for found in outcomes(results, [goal])] == [busy]


def test_every_question_to_peers_has_an_answer_by_hand() -> None:
    """On fewer rows than an experiment has: the row that is asked about is there, and something stands behind every row."""
    duckdb = pytest.importorskip("duckdb")
    orders = "SELECT range AS id, range * 11 % 490 AS customer, range * 37 % 1000 AS amount"
    with duckdb.connect() as database:
        database.execute("CREATE TABLE customers AS SELECT range AS id, 'r' AS region FROM range(500)")
        database.execute(f"CREATE TABLE orders AS {orders} FROM range(20000)")
        database.execute("CREATE TABLE baskets AS SELECT range AS id, [range % 3, 3 + range % 5] AS tags FROM range(20000)")
        for question in questions(500, 20_000):
            keys = {row[0] for row in database.execute(question.sql.replace("explode(", "unnest(")).fetchall()}
            behind = database.execute(question.by_hand(one=False)).fetchall()
            assert question.one in keys
            assert {key for _, key, _ in behind} == keys
            assert database.execute(question.by_hand(one=True)).fetchall()


@pytest.mark.processes
def test_a_conversation_with_a_peer(tmp_path: Path) -> None:
    script = """
from asked import serve

def answering(do, count):
    print("what peers say themselves")
    return lambda: [do] * (6 // count)

serve(answering)
"""
    (tmp_path / "asked.py").write_text((HERE / "asked.py").read_text())
    (tmp_path / "peer.py").write_text(script)
    with conversation([sys.executable, str(tmp_path / "peer.py")], tmp_path / "log") as peer:
        found = peer.ask(do="x", count=2)
        assert found["answer"] == ["x", "x", "x"]
        assert found["wall"] >= 0
        with pytest.raises(PeerFailed, match="ZeroDivisionError"):
            peer.ask(do="x", count=0)
        assert peer.ask(do="y", count=6)["answer"] == ["y"]
        peer.running.kill()
        peer.running.wait()
        with pytest.raises(PeerFailed, match="its process"):
            peer.ask(do="x", count=1)


def test_a_peer_whose_python_is_not_here(tmp_path: Path) -> None:
    with (
        pytest.raises(NoEnvironment, match=r"needs Python 9\.9, which is not on this machine|uv is not there"),
        started(PeerPackage("none", "9.9", ("none",), "none.py"), tmp_path),
    ):
        pass


@pytest.mark.processes
def test_memory_of_processes_that_come_and_go() -> None:
    """Of a tree with its root or without it, while there is one more process in it, which has 60 MB of its own."""
    taking = "import time; held = bytearray(60_000_000); print(flush=True); time.sleep(60)"
    with most_memory_of_trees({"all": (os.getpid(), True), "below": (os.getpid(), False)}) as most:
        with subprocess.Popen([sys.executable, "-c", taking], stdout=subprocess.PIPE) as held:
            assert held.stdout is not None
            held.stdout.readline()
            time.sleep(1)
            held.kill()
        found = most()
    assert found["below"] > 50
    assert found["all"] > found["below"]
