"""What recording costs over many shapes of plans: TPC-DS's queries on small tables, where nearly all of it is fixed cost."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial, reduce
from pathlib import Path

from pyspark.errors import PySparkException

from airflow_lineage_provider.errors import LineageError
from tests.bench.arms import recorded, written
from tests.bench.comparison import AnswersDiffer, Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.profiles import profile
from tests.bench.readings import Reading
from tests.tpcds.data import KEYS, Tables, write_tpcds

FOLDER = Path(__file__).parents[2] / "tpcds" / "queries"
SMALL = ("q03", "q42", "q96")
SCALE = "0.01"


def run(ground: Ground) -> Iterator[Comparison]:
    """All queries as one comparison, with the median of their ratios; those that cannot be compared are told."""
    folder = ground.folder / "tpcds"
    folder.mkdir()
    tables = write_tpcds(folder) if ground.is_small else _whole(folder)
    for name, path in tables.items():
        ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
    found: dict[str, Comparison] = {}
    runs: dict[str, Arm] = {}
    notes: dict[str, str] = {}
    for query in SMALL if ground.is_small else sorted(path.stem for path in FOLDER.glob("q*.sql")):
        sql = (FOLDER / f"{query}.sql").read_text(encoding="utf-8")
        arms = {"plain": written(ground, sql), "a run": recorded(ground, sql, "function_materialization")}
        runs[query] = arms["a run"]
        try:
            found[query] = compared(query, arms, ground.meter, ground.repeats)
        except (AnswersDiffer, LineageError, PySparkException) as problem:
            # (Of rows that tie at a limit, Spark takes one time these, another time those; Parquet takes no two columns of a name.)
            notes[query] = f"not compared: {problem}"[:300]
    together = _together(found, notes)
    together.arms = {"a run": Arm(lambda: None, profile=partial(_profiles, ground, found, runs))}
    yield together


def _profiles(ground: Ground, found: dict[str, Comparison], runs: dict[str, Arm]) -> str:
    ratios = sorted(found, key=_ratio_of(found))
    told = {"the median": ratios[len(ratios) // 2], "the worst": ratios[-1]}
    return "\n".join(f"{query}, {which}: {profile(runs[query].do, ground.beside)}" for which, query in told.items())


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
    return Comparison(f"TPC-DS, {len(found)} queries", "plain", readings, {"a run": facts}, notes | {"worst query": worst})


def _ratio_of(found: dict[str, Comparison]) -> Callable[[str], float]:
    ratios = {query: one.figures()["a run"]["wall ÷"] for query, one in found.items()}
    return ratios.__getitem__


def _added(one: Reading, other: Reading) -> Reading:
    cpu = {name: seconds + other.cpu[name] for name, seconds in one.cpu.items()}
    return Reading(one.wall + other.wall, cpu, {name: number + other.counts[name] for name, number in one.counts.items()})
