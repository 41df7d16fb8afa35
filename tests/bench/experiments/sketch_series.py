"""A series of runs whose thresholds change, run one after the other with sketches that the policy decides about, and plainly (the paper's
Sec. 9.4; `sketch_proofs` computes longer ones): groups of suppliers over TPC-H's lineitem, of which so many pass.

Each run of the one arm stands beside the same run of the other, whose rows it must give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from airflow_lineage_provider import SketchOn
from tests.bench.arms import sorted_rows
from tests.bench.comparison import Comparison
from tests.bench.experiments.sketches import PAGES, SCALES, _collected, _place, _view
from tests.bench.ground import Ground
from tests.bench.readings import Reading
from tests.tpch.data import write_tpch

RUNS = {"small": 12, "full": 200}
TEMPLATES = ("l_quantity", "l_extendedprice", "l_partkey")
"""What is summed."""
TABLE = "by_supplier"
ON = {TABLE: SketchOn(column="l_suppkey")}
PASSING, SPREAD = 0.02, 0.001
"""The share of the groups that the middle threshold lets pass, and how far others are from it: 1,000 of a million, as in the paper."""


def run(ground: Ground) -> Iterator[Comparison]:
    """One series."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        lineitem = ground.spark.read.parquet(str(write_tpch(ground.folder / f"sf{scale}", scale)["lineitem"]))
        rows = lineitem.repartitionByRange(8, "l_suppkey").sortWithinPartitions("l_suppkey")
        rows.write.options(**PAGES).parquet(_place(ground, TABLE))
        _view(ground, TABLE)
        yield _series(ground, f"{RUNS[ground.size]} runs of 3 templates, {PASSING:.1%} pass, adaptive, scale factor {scale}")


def _series(ground: Ground, title: str) -> Comparison:
    sums = {name: _sums(ground, name) for name in TEMPLATES}
    readings = {"plain": Reading(), "adaptive": Reading()}
    told = {"captured": 0.0, "used": 0.0}
    for name, threshold in _thresholds(sums, RUNS[ground.size]):
        sql = f"SELECT l_suppkey, sum({name}) AS total FROM {TABLE} GROUP BY l_suppkey HAVING sum({name}) > {threshold}"
        answers: dict[str, Any] = {}

        def once(arm: str, sql: str = sql, name: str = name, answers: dict[str, Any] = answers) -> None:
            options: Mapping[str, Any] = (
                {"sketches": "auto", "sketch_on": {TABLE: SketchOn(column="l_suppkey")}} if arm == "adaptive" else {}
            )
            made = ground.lineage.run(sql, name=f"{arm}, {name}", **options)
            for use in made.sketches:
                told[use.state] = told.get(use.state, 0) + 1
            answers[arm] = sorted_rows(_collected(made))

        for arm, all_ in readings.items():
            _add(all_, ground.meter.measured(lambda arm=arm, once=once: once(arm)))  # type: ignore[misc]
        if answers["plain"] != answers["adaptive"]:
            raise AssertionError(f"{title}: {sql} has other rows through a sketch")
    return Comparison(title, "plain", {arm: [one] for arm, one in readings.items()}, {"adaptive": told})


def _sums(ground: Ground, name: str) -> list[Any]:
    """The largest first."""
    rows = ground.spark.sql(f"SELECT sum({name}) AS total FROM {TABLE} GROUP BY l_suppkey ORDER BY total DESC").collect()
    return [row.total for row in rows]


def _thresholds(sums: Mapping[str, Sequence[Any]], count: int) -> Iterator[tuple[str, Any]]:
    """Templates, and values at places that are drawn normally around the middle one."""
    random = Random(13)
    for _ in range(count):
        name = random.choice(TEMPLATES)
        groups = len(sums[name])
        place = round(random.gauss(groups * PASSING, groups * SPREAD))
        yield name, sums[name][max(1, min(groups - 1, place))]


def _add(all_: Reading, one: Reading) -> None:
    all_.wall += one.wall
    for name, seconds in one.cpu.items():
        all_.cpu[name] = all_.cpu.get(name, 0.0) + seconds
