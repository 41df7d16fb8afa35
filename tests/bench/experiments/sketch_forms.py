"""The predicate by which scattered fragments are read, in several forms: a chain of intervals, a balanced tree of them, few intervals
beside a set of numbers, and as we read; how it grows with the number of fragments; and directories of a partitioned table.

All are conditions over one table, whose rows are in random order or clustered by the column: nothing else of a run is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.sketches.intervals import intervals_of
from airflow_lineage_provider.sketches.numbering import numbering_of_column
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.use import selection
from airflow_lineage_provider.spark.fragment_numbers import fragment_number
from airflow_lineage_provider.spark.selected import selected
from tests.bench.arms import sorted_rows
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.experiments.sketches import PAGES, _place, _view, _written
from tests.bench.ground import Ground
from tests.tpch.data import write_tpch

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FRAGMENTS = 10_000
SCALES = {"small": "0.01", "full": "1"}
"""Of what is read as we read."""
FORMS = {"small": "0.01", "full": "0.1"}
"""Of what is read in all forms: 400 intervals take 35 times what reading everything takes."""
COUNTS: Mapping[str, Sequence[int]] = {"small": (10, 400), "full": (1, 10, 100, 400, 1_000)}
MOST = {"a chain of intervals": 100, "balanced intervals": 400}
"""Of longer chains Spark's stack is too short; more intervals take minutes."""
DIRECTORIES = {"small": 50, "full": 1_000}
KEY = "l_orderkey"


def run(ground: Ground) -> Iterator[Comparison]:
    """By layout; then directories."""
    tables = dict.fromkeys((FORMS[ground.size], SCALES[ground.size]), "")
    for scale in tables:
        lineitem = ground.spark.read.parquet(str(write_tpch(ground.folder / f"sf{scale}", scale)["lineitem"]))
        for layout in ("random order", "clustered"):
            table = _written(ground, lineitem, layout.replace(" ", "_") + "_" + scale.replace(".", "_"), layout == "clustered")
            if scale == FORMS[ground.size]:
                for count in COUNTS[ground.size]:
                    yield _forms(ground, table, f"{count:,} scattered fragments in all forms, {layout}", count)
            if scale == SCALES[ground.size]:
                yield _by_number(ground, table, f"scattered fragments as we read, {layout}")
    yield from _directories(ground, table)


def _cut(ground: Ground, table: str, fragments: int = FRAGMENTS) -> Partition:
    (last,) = ground.spark.table(table).selectExpr(f"max({KEY})").first() or (0,)
    step = -(-last // fragments)
    return Partition(type="bigint", cuts=tuple(range(step, step * fragments, step)))


def _scattered(partition: Partition, count: int) -> frozenset[int]:
    """So many, as far from each other as any."""
    every = partition.ranges // count
    return frozenset(range(every // 2, every * count, every))


def _forms(ground: Ground, table: str, title: str, count: int) -> Comparison:
    partition, frame = _cut(ground, table), ground.spark.table(table)
    inside = _scattered(partition, count)
    arms = {
        name: Arm(partial(_summed, form), sorted_rows)
        for name, form in _conditions(frame, partition, inside).items()
        if count <= MOST.get(name, count)
    }
    return compared(title, arms, ground.meter, ground.repeats)


def _conditions(frame: DataFrame, partition: Partition, inside: frozenset[int]) -> dict[str, Callable[[], DataFrame]]:
    from pyspark.sql import functions as F

    value = F.col(KEY)

    def ranges(most: int) -> list[Column]:
        found = []
        for one in intervals_of(inside, partition.ranges, most):
            low = [value >= partition.cuts[one.first - 1]] if one.first else []
            high = [value < partition.cuts[one.last]] if one.last < partition.ranges - 1 else []
            found.append(reduce(lambda a, b: a & b, [*low, *high]))
        return found

    def numbers() -> Column:
        return fragment_number([KEY], numbering_of_column(partition)).isin(sorted(inside))

    return {
        "as we read": lambda: selected(frame, selection(partition, inside, Attribute(id=0, name=KEY, type="bigint")), KEY),
        "16 intervals and numbers": lambda: frame.where(_balanced(ranges(16)) & numbers()),
        "balanced intervals": lambda: frame.where(_balanced(ranges(len(inside)))),
        "a chain of intervals": lambda: frame.where(reduce(lambda a, b: a | b, ranges(len(inside)))),
    }


def _balanced(terms: Sequence[Column]) -> Column:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _balanced(terms[:middle]) | _balanced(terms[middle:])


def _summed(form: Callable[[], DataFrame]) -> Any:
    return form().selectExpr("count(1)", "sum(l_quantity)").collect()


def _by_number(ground: Ground, table: str, title: str) -> Comparison:
    """By how many there are; beside it reading everything, and what planning takes."""
    partition, frame = _cut(ground, table), ground.spark.table(table)
    asked = {f"{count:,}": _conditions(frame, partition, _scattered(partition, count))["as we read"] for count in COUNTS[ground.size]}
    baseline = "10"
    arms = {name: Arm(partial(_summed, form), lambda _: None) for name, form in asked.items()}
    arms["reading everything"] = Arm(partial(_summed, lambda: frame), lambda _: None)
    found = compared(title, arms, ground.meter, ground.repeats, baseline)
    found.facts = {name: {"planning, CPU ms": _planning(ground, form)} for name, form in asked.items()}
    return found


def _planning(ground: Ground, form: Callable[[], DataFrame], times: int = 10) -> float:
    """CPU milliseconds from nothing to the physical plan, in driver and JVM."""

    def planned() -> None:
        for _ in range(times):
            form()._jdf.queryExecution().executedPlan()

    planned()
    return ground.meter.measured(planned).all_cpu / times * 1_000


def _directories(ground: Ground, table: str) -> Iterator[Comparison]:
    """A table with a directory for each fragment: a value a fragment, by which directories are read."""
    from pyspark.sql import functions as F

    count, name = DIRECTORIES[ground.size], "in_directories"
    how = numbering_of_column(_cut(ground, table, count))
    rows = ground.spark.table(table).withColumn("fragment", fragment_number([KEY], how))
    rows.repartition(F.col("fragment")).write.options(**PAGES).partitionBy("fragment").parquet(_place(ground, name))
    _view(ground, name)
    frame = ground.spark.table(name)
    partition = Partition(type="int", cuts=tuple(range(1, count)))
    for some in (one for one in COUNTS[ground.size] if one * 2 <= count):
        inside = _scattered(partition, some)
        asked = selection(partition, inside, Attribute(id=0, name="fragment", type="int"))
        forms = {
            "as we read": lambda asked=asked: selected(frame, asked, "fragment"),
            "numbers": lambda inside=inside: frame.where(F.col("fragment").isin(sorted(inside))),
        }
        arms = {form: Arm(partial(_summed, do), sorted_rows) for form, do in forms.items()}
        found = compared(f"{some:,} of {count:,} partition directories", arms, ground.meter, ground.repeats)
        found.facts = {form: {"planning, CPU ms": _planning(ground, do)} for form, do in forms.items()}
        yield found
