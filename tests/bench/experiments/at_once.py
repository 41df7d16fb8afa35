"""Several runs and several explanations at the same time: threads of one process, and processes beside each other; one store.

Runs by processes are Airflow's: each has a session and a JVM of its own, which are there, and warm, before what is measured.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import psutil

from airflow_lineage_provider import Lineage
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import QUIET, Ground
from tests.bench.peers.asked import serve
from tests.bench.peers.environment import PeerProcess, conversation
from tests.bench.readings import Reading, seconds_of_tree
from tests.local_session import local_session

EACH = 8
"""Runs, or explanations; as many in every arm."""
WORKERS = {"small": (1, 2, 4), "full": (1, 2, 4, 8)}
ROWS = 1_000
RECORDING = "recording"
_GIVEN_AND_READ = (lambda found: found[0], lambda found: found[1])
SQL = "SELECT id, team, amount * 2 AS twice FROM bench_at_once WHERE amount >= {least}"


def run(ground: Ground) -> Iterator[Comparison]:
    """As many of each, by one worker after the other, and by several."""
    folder = str(ground.folder / "bench_at_once.parquet")
    ground.spark.range(0, ROWS, 1, 2).selectExpr("id", "id % 7 AS team", "id % 100 AS amount").write.parquet(folder)
    ground.tables("bench_at_once")
    workers = WORKERS[ground.size]
    yield _compared(ground, f"{EACH} runs, by threads of one session", {f"{n} at once": partial(_runs, ground, n) for n in workers})
    with ExitStack() as stack:
        sessions = [stack.enter_context(_session(ground, number)) for number in range(max(workers))]
        for one in sessions:  # as warm as one that has done all of the runs
            one.ask(numbers=list(range(EACH)))
        own = {f"{n} at once": Arm(partial(_runs_apart, ground, sessions[:n]), *_GIVEN_AND_READ) for n in workers}
        yield _told(compared(f"{EACH} runs, by processes with sessions of their own", own, ground.meter, ground.repeats))
    made = ground.lineage.run(SQL.format(least=0), name="bench asked at once")
    made.close()
    asked = {f"{n} at once": partial(_explained, ground, made.id, n) for n in workers}
    yield _compared(ground, f"{EACH} explanations, by threads of one process", asked)
    apart = {f"{n} at once": Arm(partial(_apart, ground, made.id, n), *_GIVEN_AND_READ) for n in workers}
    yield _told(compared(f"{EACH} explanations, each by a process of its own", apart, ground.meter, ground.repeats))


def _compared(ground: Ground, title: str, does: Mapping[str, Callable[[], list[list[int]]]]) -> Comparison:
    return _told(compared(title, {name: Arm(do) for name, do in does.items()}, ground.meter, ground.repeats))


def _told(found: Comparison) -> Comparison:
    found.facts = {name: {"a second": round(EACH / max(some["wall, s"], 1e-9), 2)} for name, some in found.figures().items()}
    # Whoever works for others is known by what it takes alone: with so many processors two can be so much quicker than one, and no more.
    used = [f"{name}: {some['CPU, s'] / max(some['wall, s'], 1e-9):.2f} processors at work" for name, some in found.figures().items()]
    told = "\n".join([*used, f"the machine has {os.cpu_count()}"])
    found.arms = {name: replace(arm, parts={"a second": lambda: told}) for name, arm in found.arms.items()}
    return found


def _pooled(workers: int, do: Callable[[int], list[int]]) -> list[list[int]]:
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(do, range(EACH)))


def _runs(ground: Ground, workers: int) -> list[list[int]]:
    return _pooled(workers, partial(_recorded, ground.lineage))


def _recorded(lineage: Lineage, number: int) -> list[int]:
    """The numbers of a run's rows, which its own condition decides."""
    made = lineage.run(SQL.format(least=number), name=f"bench at once {number}")
    found = sorted(row["id"] for row in made.result.select("id").collect())
    made.close()
    return found


def _session(ground: Ground, number: int) -> AbstractContextManager[PeerProcess]:
    """A process that records runs as it is asked, with a session of its own over the same file and store."""
    own = [sys.executable, "-m", __name__, RECORDING, ground.lineage.store.url, str(ground.folder), str(number)]
    return conversation(own, ground.folder / f"session {number}.log")


def _recording(store: str, folder: Path, number: str) -> None:
    spark = local_session("lineage bench, at once", {**QUIET, "spark.sql.warehouse.dir": str(folder / f"warehouse {number}")})
    spark.read.parquet(str(folder / "bench_at_once.parquet")).createOrReplaceTempView("bench_at_once")
    with Lineage(spark, store=store) as lineage:

        def answering(numbers: list[int]) -> Callable[[], list[list[int]]]:
            found = [_recorded(lineage, one) for one in numbers]
            return lambda: found

        serve(answering)


def _runs_apart(ground: Ground, sessions: Sequence[PeerProcess]) -> tuple[list[list[int]], Reading]:
    """Each has as many of the runs; with what PostgreSQL took, and the processes, their JVMs and workers."""
    shares = [list(range(EACH))[at :: len(sessions)] for at in range(len(sessions))]
    own = [psutil.Process(one.running.pid) for one in sessions]

    def ask(at: int) -> list[tuple[int, list[int]]]:
        return list(zip(shares[at], sessions[at].ask(numbers=shares[at])["answer"], strict=True))

    with ThreadPoolExecutor(len(sessions)) as pool, ground.meter.reading() as read:
        before = sum(sum(seconds_of_tree(one)) for one in own)
        started = time.perf_counter()
        answers = [one for some in pool.map(ask, range(len(sessions))) for one in some]
        wall = time.perf_counter() - started
        taken = sum(sum(seconds_of_tree(one)) for one in own) - before
    return [rows for _, rows in sorted(answers)], Reading(wall, {"PostgreSQL": read.cpu["PostgreSQL"], "processes": taken})


def _behind(lineage: Lineage, made: str, number: int) -> list[int]:
    rows = lineage.get_run(made).explain(f"id < {number + 1}", across=False).sources["bench_at_once"].rows
    return sorted(rows.column("id").to_pylist())


def _explained(ground: Ground, made: str, workers: int) -> list[list[int]]:
    asked = Lineage(store=ground.lineage.store)

    def ask(number: int) -> list[int]:
        return _behind(asked, made, number)

    return _pooled(workers, ask)


def _apart(ground: Ground, made: str, workers: int) -> tuple[list[list[int]], Reading]:
    """With what the processes took, which are not this one's: their starts and imports are the most of it."""
    own = [sys.executable, "-m", __name__, made]
    known = os.environ | {"AIRFLOW_LINEAGE_STORE": ground.lineage.store.url}

    def ask(number: int) -> list[int]:
        return list(map(int, subprocess.run([*own, str(number)], check=True, capture_output=True, text=True, env=known).stdout.split()))

    before, started = _of_ended_children(), time.perf_counter()
    found = _pooled(workers, ask)
    return found, Reading(time.perf_counter() - started, {"processes": _of_ended_children() - before})


def _of_ended_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    if sys.argv[1] == RECORDING:
        _recording(sys.argv[2], Path(sys.argv[3]), sys.argv[4])
    else:
        asked_run, at = sys.argv[1:]
        with Lineage() as here:
            print(*_behind(here, asked_run, int(at)))
