"""The queries of the paper's Fig. 9 run through the sketches of their sources, of the columns that the product chooses and of the best of
three numbers of fragments: which part of the sources' rows they read, and what they take.

All tables are clustered by their primary keys. Two sources that are read through an equality of theirs show whether both scans are given
the ranges of the one sketch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_lineage_provider import SketchOn
from airflow_lineage_provider.errors import SketchUnsafe
from tests.bench.arms import sorted_rows
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.experiments.sketches import PAGES, SCALES, _collected, _place
from tests.bench.ground import Ground
from tests.bench.jvm import physical_plans
from tests.tpch.data import KEYS, write_tpch
from tests.tpch.workloads import sql

QUERIES = ("q02", "q03", "q05", "q07", "q08", "q10", "q15", "q17", "q18", "q19", "q20", "q21")
IN_SMALL = ("q03", "q18")
FRAGMENTS = (10_000, 4_000, 400)
EQUALITY = """
    SELECT l_orderkey, l_linenumber, l_quantity, o_totalprice FROM orders JOIN lineitem ON o_orderkey = l_orderkey
    WHERE o_totalprice > {price} AND l_quantity > 10"""
DEAR = {"0.01": 430_000}
"""Some dozens of orders cost more; 500,000 in larger databases."""


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each query, and one for the equality."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        for name, path in write_tpch(ground.folder / f"sf{scale}", scale).items():
            rows = ground.spark.read.parquet(str(path)).repartitionByRange(4, KEYS[name][0]).sortWithinPartitions(*KEYS[name])
            place = _place(ground, f"{name}_{scale.replace('.', '_')}")
            rows.write.options(**PAGES).parquet(place)
            ground.spark.read.parquet(place).createOrReplaceTempView(name)
        for query in QUERIES if not ground.is_small else IN_SMALL:
            if ground.wants(title := f"TPC-H {query} through sketches, scale factor {scale}"):
                yield _of(ground, title, sql("tpch", query))
        if ground.wants(title := f"an equality of two sources, one of them sketched, scale factor {scale}"):
            yield _equality(ground, title, EQUALITY.format(price=DEAR.get(scale, 500_000)))


@dataclass(frozen=True)
class _Read:
    """What a run through sketches reads of its sources: of the whole, and of single ones."""

    share: float
    sketches: tuple[Any, ...]
    fragments: int

    @property
    def ids(self) -> set[str]:
        return {one.sketch for one in self.sketches}


def _of(ground: Ground, title: str, text: str) -> Comparison:
    keys = {table: KEYS[table] for table in KEYS if re.search(rf"\b{table}\b", text)}
    best = _best(ground, title, text, keys)

    def by_policy() -> Any:
        """By what the captures and uses took from which the best were found."""
        return _collected(ground.lineage.run(text, name=title, keys=keys, sketches="auto"))

    arms = {
        "plain": Arm(lambda: _collected(ground.lineage.run(text, name=title, keys=keys)), sorted_rows),
        "through sketches": Arm(
            lambda: _collected(_through(ground, title, text, keys, best)), sorted_rows, parts={"rows read ÷": lambda: _told(best)}
        ),
        "as the policy decides": Arm(by_policy, sorted_rows),
    }
    found = compared(title, arms, ground.meter, ground.repeats)
    found.facts = {"through sketches": {"rows read ÷": best.share, "sources with a sketch": len(best.sketches), "cut into": best.fragments}}
    if not best.sketches:
        found.notes["through sketches"] = "no source has a sketch: all is read"
    return found


def _told(best: _Read) -> str:
    return "; ".join(f"{one.table}: {one.rows or 0:,} of {one.total or 0:,} rows ({one.of} of {one.column})" for one in best.sketches)


def _best(ground: Ground, title: str, text: str, keys: Mapping[str, Sequence[str]]) -> _Read:
    """Of the three numbers of fragments that with which the fewest rows are read; the sketches of the others are dropped."""
    columns: dict[str, str] = {}
    kept: set[str] = set()
    best = _Read(1.0, (), 0)
    for fragments in FRAGMENTS:
        on = {table: SketchOn(column=column, fragments=fragments) for table, column in columns.items()}
        try:
            made = ground.lineage.run(text, name=title, keys=keys, sketches="capture", sketch_on=on)
        except SketchUnsafe:  # one table is read twice, and what is safe of the one place is not of the other
            continue
        _collected(made)
        captured = [one for one in made.sketches if one.state == "captured"]
        columns = columns or {one.table: one.column for one in captured}
        read = _read(ground, title, text, keys, fragments)
        best = min(best, read, key=lambda found: found.share)
        kept |= {one.sketch for one in captured}
        for sketch in kept - best.ids:  # what was read may have been of two captures
            ground.lineage.drop_sketch(sketch)
        kept &= best.ids
    return best


def _read(ground: Ground, title: str, text: str, keys: Mapping[str, Sequence[str]], fragments: int) -> _Read:
    """What the newest sketches leave to be read."""
    made = ground.lineage.run(text, name=title, keys=keys, sketches="use")
    _collected(made)
    used = [one for one in made.sketches if one.state == "used"]
    total = sum(ground.spark.table(one.table).count() for one in made.sketches)
    skipped = sum((one.total or 0) - (one.rows or 0) for one in used)
    return _Read(1 - skipped / total, tuple(used), fragments)


def _through(ground: Ground, title: str, text: str, keys: Mapping[str, Sequence[str]], best: _Read) -> Any:
    made = ground.lineage.run(text, name=title, keys=keys, sketches="use")
    used = {one.sketch for one in made.sketches if one.state == "used"}
    if used != best.ids:
        raise AssertionError(f"{title}: read through {used}, and not {best.ids}: {[one.because for one in made.sketches]}")
    return made


def _equality(ground: Ground, title: str, text: str) -> Comparison:
    """A sketch of orders alone."""
    on = {"orders": SketchOn(column="o_orderkey")}
    for one in ground.lineage.run(text, name=title, sketches="capture", sketch_on=on).sketches:
        if one.table == "lineitem" and one.sketch:
            ground.lineage.drop_sketch(one.sketch)
    ranged: dict[str, float] = {}
    plans: list[str] = []

    def through() -> Any:
        made = ground.lineage.run(text, name=title, sketches="use", sketch_on=on)
        if [one.table for one in made.sketches if one.state == "used"] != ["orders"]:
            raise AssertionError(f"{title}: {made.sketches}")
        rows = _collected(made)
        # Of what read the sources: the result that is given to its reader may be few rows that the driver has.
        plans[:] = [[one for one in physical_plans(ground.spark) if "l_orderkey" in one and "o_orderkey" in one][-1]]
        # (What is pushed to a scan is told in a hundred letters, and the selection above it in all.)
        found = re.findall(r"\b([lo])_orderkey#\d+L? >= \d", plans[0])
        ranged["scans with ranges"] = len(set(found))
        return rows

    arms = {
        "plain": Arm(lambda: _collected(ground.lineage.run(text, name=title)), sorted_rows),
        "through a sketch": Arm(through, sorted_rows, parts={"scans with ranges": lambda: "; ".join(re.findall("Condition.*", plans[0]))}),
    }
    found = compared(title, arms, ground.meter, ground.repeats)
    found.facts = {"through a sketch": ranged}
    return found
