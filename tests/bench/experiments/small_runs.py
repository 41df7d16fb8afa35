"""What a run of ten rows costs: the first of a process (as every Airflow task is one), and those after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import psutil

from airflow_lineage_provider import reasoned_udf
from tests.bench.arms import collected, recorded, stored, written
from tests.bench.comparison import AnswersDiffer, Arm, Comparison, compared
from tests.bench.elsewhere import Work, elsewhere
from tests.bench.ground import Ground
from tests.bench.ground import ground as ground_of
from tests.bench.jvm import physical_plans
from tests.bench.told import calls_told
from tests.in_turn import STRATEGIES

SQL = "SELECT g, short_exam(x) AS verdict FROM ten_rows WHERE x > 2"
WITHOUT = "SELECT g, count(*) AS n, sum(x) AS total FROM ten_rows GROUP BY g"


WORKERS = "Python workers"
_IN_PYTHON = re.compile("Python|InArrow|InPandas")


@reasoned_udf("string", name="short_exam")
def short_exam(x: int) -> str:
    return "high" if x > 5 else "low"


def run(ground: Ground) -> Iterator[Comparison]:
    """The first run; then warm ones, with a UDF and without, with an output and without."""
    spark = ground.spark
    frame = spark.createDataFrame([(number, f"group {number % 3}") for number in range(10)], "x int, g string")
    frame.coalesce(1).write.parquet(str(ground.folder / "ten_rows.parquet"))
    ground.tables("ten_rows")
    short_exam.register(spark)
    # Spark's own start is in what plain Spark does before.
    plain, first = written(ground, SQL), recorded(ground, SQL, "function_materialization")
    with ground.meter.calls_noted() as calls:
        readings = {"plain": [ground.meter.measured(plain.do)]}
        calls.clear()
        readings["first run"] = [ground.meter.measured(first.do)]
    if plain.answer(None) != first.answer(None):
        raise AnswersDiffer("the first run of a process does not give what plain Spark gives")
    # (There is one first run: what it called is noted while it goes on.)
    told = replace(first, parts={"JVM calls": lambda: calls_told(calls)})
    yield Comparison("ten rows, the first run of a process", "plain", readings, arms={"first run": told})
    rows = str(ground.folder / "ten_rows.parquet")
    ways = ("plain", "function_materialization")
    alone_arms = {way: elsewhere(__name__, way, rows, once=True, parts=(WORKERS,)) for way in ways}
    yield compared("ten rows without a UDF, the first run of a process", alone_arms, ground.meter, 1)
    often = replace(ground, repeats=3 * ground.repeats)
    for name, sql in {"with a UDF": SQL, "without": WITHOUT}.items():
        arms: dict[str, Arm] = {"plain": written(ground, sql)}
        yield _told(often, f"ten rows, {name}, written", arms | {one: recorded(ground, sql, one) for one in STRATEGIES})
        arms = {"plain": collected(ground, sql)}
        yield _told(often, f"ten rows, {name}, no output", arms | {one: stored(ground, sql, one) for one in STRATEGIES if one != "rerun"})


@contextmanager
def alone(way: str, rows: str) -> Iterator[Work]:
    """In a process of its own, where nothing has had Spark start a Python worker."""
    with ground_of("small", 1) as ground:
        ground.spark.read.parquet(rows).createOrReplaceTempView("ten_rows")
        arm = written(ground, WITHOUT) if way == "plain" else recorded(ground, WITHOUT, "function_materialization")
        parts = {WORKERS: partial(_workers_told, ground)}
        yield Work(arm.do, lambda: arm.answer(arm.do()), ground.meter, ground.beside, lambda: {WORKERS: len(_workers())}, parts)


def _workers() -> list[psutil.Process]:
    """Python processes below the JVM, which starts them as daemons that fork workers."""
    return [one for one in psutil.Process().children(recursive=True) if one.name().startswith("python") and _below_java(one)]


def _workers_told(ground: Ground) -> str:
    """The workers, and the operators of Spark's plans that have rows go through Python."""
    processes = [f"  {' '.join(one.cmdline()[1:])}" for one in _workers()]
    lines = [
        line.strip() for plan in physical_plans(ground.spark) for line in plan.partition("\n\n")[0].splitlines() if _IN_PYTHON.search(line)
    ]
    return "\n".join([f"{len(processes)} processes", *processes, f"{len(lines)} operators in Python", *(f"  {one}" for one in lines)])


def _below_java(process: psutil.Process) -> bool:
    return any(one.name() == "java" for one in process.parents())


def _told(ground: Ground, title: str, arms: dict[str, Arm]) -> Comparison:
    return compared(title, arms, ground.meter, ground.repeats)
