"""The page that says what was measured: of several results, whichever sizes they have; and of a profile its few lines that say most."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bench import profiles
from tests.bench.comparison import Comparison
from tests.bench.goals import Goal, goals
from tests.bench.kept_results import KEPT, read_kept, write_kept
from tests.bench.measured import PAGE, judged, layers, merged, page
from tests.bench.outcomes import outcomes
from tests.bench.profile_lines import profile_lines
from tests.bench.profiles import profile
from tests.bench.readings import Reading
from tests.bench.results import Results
from tests.readme.links import links
from tests.readme.snippets import snippets

AT: dict[str, Any] = {"experiment": "asking", "arm": "slow", "of": "jobs"}


def _results(
    size: str, jobs: dict[str, int], *, date: str = "2026-01-02T03:04:05", failed: str = "", experiment: str = "asking"
) -> Results:
    found = [Comparison(title, "slow", {"slow": [Reading(1.0, counts={"jobs": count})]}, others=1.25) for title, count in jobs.items()]
    machine = {
        "cores": 2,
        "CPU": "a | b",
        "memory": "24 GB",
        "system": "Linux",
        "Python": "3.11",
        "commit": "0123456789abcdef",
        "date": date,
    }
    return Results(machine, size, {experiment: found}, {experiment: failed} if failed else {})


def _row(told: str, figure: str) -> list[str]:
    (line,) = [line for line in told.splitlines() if line.startswith(f"| {figure} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_goal_is_reached_where_all_that_measures_it_reaches_it() -> None:
    wanted = [
        Goal(figure="few", **AT, comparison="one .*", most=3, paper="2"),
        Goal(figure="some", **AT, comparison=".* row", most=4),
        Goal(figure="many", **AT, comparison=".*", least=4),
        Goal(figure="told", **AT, comparison="one .*", report=True),
        Goal(figure="not there", **AT, comparison="no .*", most=3),
        Goal(figure="not run", **AT | {"experiment": "loading"}, comparison=".*", most=3),
    ]
    results = _results("full", {"one row": 3, "another row": 5, "a third row": 4})
    results.experiments["asking"][0].profiles = {"slow": "3 jobs:\n  one[0](x)\n  two"}
    told = page([results], wanted)
    assert (
        "Of 6 goals of the benchmarks 1 are reached, 2 are not, 1 figures are told without a goal, and 2 goals were not measured." in told
    )
    assert _row(told, "few") == ["few", "≤ 3", "3 *busy*", "2", "asking, full"]
    assert _row(told, "some")[1:3] == ["≤ 4", "3 to 5 (2 of 3 reach it) *busy*"]
    assert _row(told, "many")[1:3] == ["≥ 4", "5 to 3 (2 of 3 reach it) *busy*"]
    assert _row(told, "told")[1:3] == ["to be told", "3 *busy*"]
    assert "- asking measured none: not there\n- loading was not run: not run\n" in told
    assert "- some:\n  - asking: another row: slow\n  - nothing tells why\n" in told
    assert "- many:\n  - asking: one row: slow\n  - 3 jobs:\n  - one[0]\\(x)\n  - two\n" in told
    assert told.index("## Not reached") < told.index("| some |") < told.index("## Reached") < told.index("| few |")


def test_full_sizes_count_before_small_ones_and_the_newest_of_equal_ones() -> None:
    both = Goal(figure="both", **AT, comparison="one .*", most=9)
    small = Goal(figure="small alone", **AT, comparison="two .*", most=9)
    given = [
        _results("full", {"one row": 4}, date="2026-01-03"),
        _results("full", {"one row": 5}, date="2026-01-01"),
        _results("small", {"one row": 6, "two rows": 7}, date="2026-01-05"),
        _results("small", {"other": 1}, experiment="loading"),
    ]
    measured, lacking = judged(merged(given), [both, small])
    assert [(one.goal.figure, one.size, one.measured) for one in measured] == [("both", "full", "4"), ("small alone", "small", "7")]
    assert lacking == {}
    assert list(merged(given)) == [("asking", "full"), ("loading", "small"), ("asking", "small")]


@pytest.mark.parametrize(("whole", "commit"), [(True, "0123456789abcdef"), (True, "fedcba"), (False, "fedcba")])
def test_what_newer_results_of_parts_lack_is_that_of_older_ones(whole: bool, commit: str) -> None:
    """And of those of the same commit (other scale factors, say); not of those before the experiment was measured whole again."""
    older, newer = _results("full", {"one": 1, "two": 2}), _results("full", {"two": 3, "three": 4}, date="2026-02-01")
    newer.machine["commit"] = commit
    newer.parts = {} if whole else {"asking": "t.*"}
    found = merged([newer, older])["asking", "full"]
    left = [["one"]] if not whole or newer.machine["commit"] == older.machine["commit"] else []
    assert [[one.title for one in layer.experiments["asking"]] for layer in found] == [*left, ["two", "three"]]
    few = Goal(figure="few", **AT, comparison="one|two", most=3)
    assert judged({("asking", "full"): found}, [few])[0][0].measured == ("1 to 3" if left else "3")
    assert page([newer, older], [few]).count("| asking | full |") == len(found)
    assert page([newer], [few]).count("| of it: t.\\* |") == (not whole)


def test_what_was_run_and_whether_it_came_to_its_end() -> None:
    failed = 'Traceback (most recent call last):\n  File "x", line 1\n    raise\nDiskFull: no <space>\nHINT: none\n'
    told = page([_results("small", {"one": 1}, failed=failed), _results("full", {}, experiment="loading", failed="it was ended")], goals())
    assert "| asking | small | `0123456789` | 2026-01-02 03:04 | 1.25 | not to its end: DiskFull: no &lt;space> |" in told
    assert "| loading | full | `0123456789` | 2026-01-02 03:04 |  | not to its end: it was ended |" in told
    assert told.count("Measured on 2 cores of a | b, 24 GB, Linux; Python 3.11.") == 1


@pytest.mark.processes
def test_the_page_is_one_of_the_documents(tmp_path: Path) -> None:
    """Every goal is on it, once; its tables are tables; it has no snippet; its links are the documents'."""
    for number, one in enumerate([_results("full", {"one": 1}), _results("small", {"views, x": 1}, experiment="web")]):
        one.write(tmp_path / f"{number}.json")
    own = [sys.executable, "-m", "tests.bench.measured", *map(str, sorted(tmp_path.glob("*.json"))), "--out", str(tmp_path / "measured.md")]
    own += ["--kept", str(tmp_path / "kept")]
    subprocess.run(own, check=True, cwd=PAGE.parents[1])
    told = (tmp_path / "measured.md").read_text(encoding="utf-8")
    assert snippets(tmp_path / "measured.md") == []
    assert all((PAGE.parent / one.text).exists() for one in links(tmp_path / "measured.md"))
    assert len({line.count("|") - line.count("\\|") for line in told.splitlines() if line.startswith("| ")}) <= 2
    found = outcomes(_results("full", {"one": 1}), goals())
    assert all(one.goal.figure.replace("<", "&lt;") in told for one in found)


def test_what_was_measured_before_is_kept_and_the_page_is_the_same(tmp_path: Path) -> None:
    """Of medians, of the arms that goals are about, and of the lines of profiles that say most; also when it is written again and again."""
    wanted = [
        Goal(figure="few", **AT, comparison="one .*", most=3),
        Goal(figure="ratio", experiment="asking", comparison="one .*", arm="slow", of="wall, s", over="quick", most=2),
        Goal(figure="many", **AT, comparison="one .*", most=2),
        Goal(figure="loaded", experiment="loading", comparison="a load", arm="slow", of="jobs", least=1),
    ]
    results = _results("full", {"one row": 3, "no goal's": 9})
    (asked, _) = results.experiments["asking"]
    asked.readings = {
        "slow": [Reading(wall, {"driver": 0.5}, {"jobs": jobs}, {"JVM": 70.0}) for wall, jobs in ((9.0, 1), (8.0, 3), (1.0, 7))],
        "quick": [Reading(2.0), Reading(3.0)], "no goal's": [Reading(1.0)],
    }  # fmt: skip
    asked.profiles = {"slow": PROFILE, "quick": "nobody asks"}
    write_kept(tmp_path / "kept", [results], wanted)
    (known,) = read_kept(tmp_path / "kept")
    (one,) = known.experiments["asking"]
    assert (list(one.readings), one.others) == (["slow", "quick"], 1.25)
    assert page([known], wanted) == page([results], wanted)
    assert _row(page([known], wanted), "ratio")[2] == "3.2 *busy*"
    further = _results("full", {"a load": 1}, experiment="loading")
    for _ in range(2):
        write_kept(tmp_path / "kept", layers([*read_kept(tmp_path / "kept"), further]), wanted)
    assert page(read_kept(tmp_path / "kept"), wanted) == page([results, further], wanted)
    assert len((tmp_path / "kept").read_text(encoding="utf-8").splitlines()) == 4
    assert read_kept(tmp_path / "none") == []
    (tmp_path / "odd").write_text("[{}]", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no results"):
        read_kept(tmp_path / "odd")


def test_the_page_is_what_the_kept_results_give() -> None:
    """Nobody has written on it, or left goals out that are new."""
    assert PAGE.read_text(encoding="utf-8") == page(read_kept(KEPT), goals())


@pytest.mark.processes
@pytest.mark.parametrize("given", [[], ["none.json"]])
def test_nothing_to_tell_of(given: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.bench.measured", *given], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "none.json" in done.stderr or "required: results" in done.stderr


def waiting(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.long
def test_the_lines_of_a_profile_that_say_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "SECONDS", 0.1)

    def work() -> None:
        waiting(0.15)
        waiting_longer()

    def waiting_longer() -> None:
        time.sleep(0.3)

    first, second, *_ = profile_lines(profile(work))
    assert re.fullmatch(r"\d\d % of the driver's time: `waiting_longer` of `tests/bench/test_measured\.py`, in `sleep`", first)
    assert re.fullmatch(r"\d\d % of the driver's time: `waiting` of `tests/bench/test_measured\.py`, in `sleep`", second)
    assert int(first[:2]) > int(second[:2]) > 20


PROFILE = """3 times
1.000 profile  tests/bench/profiles.py:38
└─ 1.000 Lineage.run  airflow_lineage_provider/pipeline.py:9
   ├─ 0.700 kept  airflow_lineage_provider/store/keep.py:9
   │  ├─ 0.500 sending  tests/bench/readings.py:133
   │  │     [5 frames hidden]  py4j
   │  │        0.450 socket.recv_into  <built-in>
   │  └─ 0.100 [self]  airflow_lineage_provider/store/keep.py
   └─ 0.200 called  lib/of/others.py:9

0.900 thread 'Thread-n'
  0.900 run  py4j.clientserver
0.300 thread 'lineage-store'
  0.300 _run  airflow_lineage_provider.store
    0.200 connect  psycopg2
  0.100 other  airflow_lineage_provider.store

stage 1, 4 tasks: run 0.2 s: save at x.py
stage 2, 4 tasks: run 0.1 s: save at x.py
stage 3, 4 tasks: run 0.1 s: save at x.py
JVM thread 'main': at 5 of 5 looks
  5 java.io.FileInputStream.readBytes ← org.apache.spark.api.python.PythonGatewayServer$.main
JVM thread 'reader for /a/machine's/python': at 2 of 5 looks
  1 java.io.FileInputStream.readBytes ← org.apache.spark.util.RedirectThread.run
  1 java.util.zip.Inflater.inflate ← org.apache.parquet.Read

PostgreSQL: 12.0 ms
  7.0 ms, 3 times: COMMIT
  3.0 ms, 3 times: BEGIN
  2.0 ms, 3 times: SELECT 1
"""


def test_what_is_left_of_a_whole_profile() -> None:
    assert profile_lines(f"7 statements\n  12 3/45 BEGIN\n{PROFILE}") == [
        "7 statements",
        "BEGIN",
        "70 % of the driver's time: `kept` of `store/keep.py`, in `socket.recv_into`",
        "30 % of the driver's time: `Lineage.run` of `pipeline.py`, in `called`",
        "0 % of the driver's time: `profile` of `tests/bench/profiles.py`",
        "0.300 thread 'lineage-store': connect  psycopg2",
        "stage 1, 4 tasks: run 0.2 s: save at x.py",
        "stage 2, 4 tasks: run 0.1 s: save at x.py",
        "JVM thread 'reader for machine's/python': at 2 of 5 looks, 1 java.util.zip.Inflater.inflate ← org.apache.parquet.Read",
        "PostgreSQL: 12.0 ms",
        "7.0 ms, 3 times: COMMIT",
        "3.0 ms, 3 times: BEGIN",
    ]
    assert profile_lines("\n".join(map(str, range(20)))) == [*map(str, range(8)), "… 12 lines more"]
