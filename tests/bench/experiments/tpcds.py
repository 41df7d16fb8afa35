"""What recording costs over many shapes of plans: TPC-DS's queries on small tables, where nearly all of it is fixed cost."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException

from airflow_lineage_provider.errors import LineageError
from tests.bench.arms import recorded, written
from tests.bench.comparison import ENDINGS, AnswersDiffer, Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.profiles import profile
from tests.bench.readings import Reading
from tests.tpcds.data import KEYS, Tables, write_tpcds

TIES = "rows that tie at its limit are others"
FAILS = "plain Spark can write it, the run fails"
_CANNOT = "plain Spark cannot write it either"
DIFFERING = "queries that fail or differ"
ENDED = "ended"
_LIMIT = re.compile(r"\bLIMIT\s+\d+\s*;?\s*$", re.IGNORECASE)
_DOUBLE = re.compile(r"(?<![\w'.])-?\d+\.\d{8,}(?:e[+-]?\d+)?(?![\w'.])")
FOLDER = Path(__file__).parents[2] / "tpcds" / "queries"
SMALL = ("q03", "q42", "q96")
SCALE = "0.01"


def run(ground: Ground) -> Iterator[Comparison]:
    """All queries as one comparison, with the median of their ratios. Those whose rows differ, or that fail, are told and counted."""
    folder = ground.folder / "tpcds"
    folder.mkdir()
    tables = write_tpcds(folder) if ground.is_small else _whole(folder)
    for name, path in tables.items():
        ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
    asked = SMALL if ground.is_small else tuple(sorted(path.stem for path in FOLDER.glob("q*.sql")))
    queries = _Queries()
    try:
        for query in asked:
            _compare(ground, query, queries)
    except ENDINGS as problem:  # what it has is told, all the same
        if not queries.found:
            raise
        ground.meter.ended = problem
        if query not in queries.found:  # whether it is one that differs is not known
            queries.notes.pop(query, None)
    together = _together(queries.found, queries.notes)
    if ground.meter.ended is not None:
        together.notes[ENDED] = f"at {query}, before all {len(asked)} queries were compared"
    told = {DIFFERING: lambda: "\n".join(f"  {query}: {note}" for query, note in queries.notes.items())}
    together.arms = {"a run": Arm(lambda: None, profile=partial(_profiles, ground, queries), parts=told)}
    yield together


@dataclass
class _Queries:
    """Those that were compared, how they are run, and what is to be said of them."""

    found: dict[str, Comparison] = field(default_factory=dict)
    runs: dict[str, Arm] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def _compare(ground: Ground, query: str, queries: _Queries) -> None:
    sql = (FOLDER / f"{query}.sql").read_text(encoding="utf-8")
    arms = {"plain": written(ground, sql), "a run": recorded(ground, sql, "function_materialization")}
    queries.runs[query] = arms["a run"]
    try:
        queries.found[query] = compared(query, arms, ground.meter, ground.repeats)
    except AnswersDiffer as problem:
        queries.notes[query] = str(problem)[:300]
        with suppress(AnswersDiffer, LineageError, PySparkException):
            queries.found[query] = compared(query, _of_whole(ground, sql, arms), ground.meter, ground.repeats)
            queries.notes[query] = f"{TIES}: every row of both is one of the query without its limit"
    except (LineageError, PySparkException) as problem:
        queries.notes[query] = f"{_failing(arms)}: {problem}"[:300]


def _of_whole(ground: Ground, sql: str, arms: dict[str, Arm]) -> dict[str, Arm]:
    """Of rows that tie at a limit, Spark takes one time these, another time those: each arm has as many, all of them rows of the whole."""
    whole = written(ground, _LIMIT.sub("", sql), "whole")
    whole.do()
    known = Counter(map(_short, whole.answer(None)))

    def answer(arm: Arm, given: Any) -> int:
        rows = Counter(map(_short, arm.answer(given)))
        if rows - known:
            raise AnswersDiffer(f"the query without its limit does not give {next(iter(rows - known))}")
        return rows.total()

    return {name: replace(arm, answer=partial(answer, arm)) for name, arm in arms.items()}


def _short(row: str) -> str:
    """A row's text without the last digits of doubles, which change with the order in which they are added.

    >>> _short("(1, 0.30000000000000004, Decimal('2.123456789'))")
    "(1, 0.3, Decimal('2.123456789'))"
    """
    return _DOUBLE.sub(lambda found: f"{float(found[0]):.10g}", row)


def _failing(arms: dict[str, Arm]) -> str:
    """Whose fault it is that a query cannot be compared (Parquet takes no two columns of a name)."""
    try:
        arms["plain"].do()
    except PySparkException:
        return _CANNOT
    return FAILS


def _profiles(ground: Ground, queries: _Queries) -> str:
    ratios = sorted(queries.found, key=_ratio_of(queries.found))
    told = {"the median": ratios[len(ratios) // 2], "the worst": ratios[-1]}
    return "\n".join(f"{query}, {which}:\n{profile(queries.runs[query].do, ground.beside)}" for which, query in told.items())


def _whole(folder: Path) -> Tables:
    generator = Path(sys.executable).with_name("tpcgen-cli")
    options = ["--scale-factor", SCALE, "--output-dir", str(folder)]
    subprocess.run([generator, "tpcds", "parquet", *options], check=True, capture_output=True)
    return {name: folder / f"{name}.parquet" for name in KEYS}


def _together(found: dict[str, Comparison], notes: dict[str, str]) -> Comparison:
    readings = {
        arm: [reduce(_added, turn) for turn in zip(*(one.readings[arm] for one in found.values()), strict=True)]
        for arm in ("plain", "a run")
    }
    ratio = _ratio_of(found)
    worst = max(found, key=ratio)
    facts = {"wall ÷, median query": round(statistics.median(map(ratio, found)), 3), "wall ÷, worst query": ratio(worst)}
    facts[DIFFERING] = sum(query not in found and not note.startswith(_CANNOT) for query, note in notes.items())
    asked = sum((Counter(one.asked.get("a run", {})) for one in found.values()), Counter[str]())
    told = notes | {"worst query": worst}
    return Comparison(f"TPC-DS, {len(found)} queries", "plain", readings, {"a run": facts}, told, asked={"a run": dict(asked)})


def _ratio_of(found: dict[str, Comparison]) -> Callable[[str], float]:
    ratios = {query: one.figures()["a run"]["wall ÷"] for query, one in found.items()}
    return ratios.__getitem__


def _added(one: Reading, other: Reading) -> Reading:
    cpu = {name: seconds + other.cpu[name] for name, seconds in one.cpu.items()}
    return Reading(one.wall + other.wall, cpu, {name: number + other.counts[name] for name, number in one.counts.items()})
