"""Several runs and several explanations at the same time: threads of one process, and processes beside each other; one store."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from airflow_lineage_provider import Lineage
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.readings import Reading

EACH = 8
"""Runs, or explanations; as many in every arm."""
WORKERS = {"small": (1, 2, 4), "full": (1, 2, 4, 8)}
ROWS = 1_000
SQL = "SELECT id, team, amount * 2 AS twice FROM bench_at_once WHERE amount >= {least}"


def run(ground: Ground) -> Iterator[Comparison]:
    """As many of each, by one worker after the other, and by several."""
    folder = str(ground.folder / "bench_at_once.parquet")
    ground.spark.range(0, ROWS, 1, 2).selectExpr("id", "id % 7 AS team", "id % 100 AS amount").write.parquet(folder)
    ground.tables("bench_at_once")
    workers = WORKERS[ground.size]
    yield _compared(ground, f"{EACH} runs, by threads of one session", {f"{n} at once": partial(_runs, ground, n) for n in workers})
    made = ground.lineage.run(SQL.format(least=0), name="bench asked at once")
    made.close()
    asked = {f"{n} at once": partial(_explained, ground, made.id, n) for n in workers}
    yield _compared(ground, f"{EACH} explanations, by threads of one process", asked)
    apart = {f"{n} at once": Arm(partial(_apart, ground, made.id, n), lambda found: found[0], lambda found: found[1]) for n in workers}
    yield _told(compared(f"{EACH} explanations, each by a process of its own", apart, ground.meter, ground.repeats))


def _compared(ground: Ground, title: str, does: Mapping[str, Callable[[], list[list[int]]]]) -> Comparison:
    return _told(compared(title, {name: Arm(do) for name, do in does.items()}, ground.meter, ground.repeats))


def _told(found: Comparison) -> Comparison:
    found.facts = {name: {"a second": round(EACH / max(some["wall, s"], 1e-9), 2)} for name, some in found.figures().items()}
    return found


def _pooled(workers: int, do: Callable[[int], list[int]]) -> list[list[int]]:
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(do, range(EACH)))


def _runs(ground: Ground, workers: int) -> list[list[int]]:
    """The rows' numbers of each, which their own condition decides."""

    def record(number: int) -> list[int]:
        made = ground.lineage.run(SQL.format(least=number), name=f"bench at once {number}")
        found = sorted(row["id"] for row in made.result.select("id").collect())
        made.close()
        return found

    return _pooled(workers, record)


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
    asked_run, at = sys.argv[1:]
    with Lineage() as here:
        print(*_behind(here, asked_run, int(at)))
