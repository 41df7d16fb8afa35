"""What capturing sketches with the run costs: TPC-H's queries run plainly, and with fragments carried to their results in the same pass;
how the fragments of a group's rows are united; and how a fragment's number is found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_lineage_provider import SketchOn
from airflow_lineage_provider.plan.expressions import Attribute
from airflow_lineage_provider.sketches.numbering import Numbering, numbering_of_column
from airflow_lineage_provider.sketches.partition import Partition
from airflow_lineage_provider.sketches.unions import Union, is_for, of_numbers
from airflow_lineage_provider.spark.fragment_numbers import fragment_number, with_fragments
from airflow_lineage_provider.sql import ColumnRef, lower_expression
from airflow_lineage_provider.words import SketchesWhen
from tests.bench.arms import sorted_rows
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.tpch.data import KEYS, write_tpch
from tests.tpch.workloads import sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCALES = {"small": ("0.01",), "full": ("1",)}
JOIN = "SELECT c_custkey, c_name, count(*) AS n, sum(o_totalprice) AS total FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY ALL"
LATE: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Q3": ("q03", {"orders": "o_orderkey", "lineitem": "l_orderkey"}),
    "Q10": ("q10", {"customer": "c_custkey", "orders": "o_custkey"}),
    "Q15": ("q15", {"supplier": "s_suppkey", "lineitem": "l_suppkey"}),
    "Q18": ("q18", {"customer": "c_custkey", "orders": "o_orderkey", "lineitem": "l_orderkey"}),
    "a join with a group for each customer": (JOIN, {"customer": "c_custkey", "orders": "o_custkey"}),
}
"""Columns that the groups tell: nothing is collected."""
IN_SMALL = ("Q3", "Q18")
"""Those that a minute has room for."""
GROUPS = {"few groups": "o_orderpriority", "many groups": "o_custkey"}
FRAGMENTS = (1_000, 10_000)
UNIONS: tuple[Union, ...] = ("set", "words")
BITMAP = "bitmap_construct_agg(CAST(fragment AS BIGINT)) AS u"
"""As we do not do it."""
ROWS = {"small": 50_000, "full": 6_000_000}
CUTS = {"small": (400, 10_000), "full": (400, 1_000, 10_000)}
MOST_TREE = {"small": 400, "full": 1_000}
"""A tree with more leaves than a thousand is no code that Java compiles: it is not measured beyond what it takes to say so."""


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each query, way of grouping, and number of cuts."""
    for scale in ground.scale_factors or SCALES[ground.size]:
        for name, path in write_tpch(ground.folder / f"sf{scale}", scale).items():
            ground.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        for name, (query, columns) in ((name, one) for name, one in LATE.items() if name in IN_SMALL or not ground.is_small):
            if ground.wants(title := f"{name}, scale factor {scale}"):
                yield _captured(ground, title, query if query == JOIN else sql("tpch", query), columns)
        if ground.wants(title := f"a join with sets for each customer, scale factor {scale}"):
            yield _captured(ground, title, JOIN, {"orders": "o_orderkey"})
        for name, key in GROUPS.items():
            for fragments in FRAGMENTS if ground.wants("fragments united") else ():
                yield _united(ground, f"{fragments:,} fragments united, {name}, scale factor {scale}", key, fragments)
    for count in CUTS[ground.size] if ground.wants("the number of a fragment") else ():
        yield _numbered(ground, count)


# --- in the same pass ----------------------------------------------------------------------------------------------------


def _captured(ground: Ground, title: str, text: str, columns: Mapping[str, str]) -> Comparison:
    """A run, and one whose rows carry fragments; to the end of the capture."""
    keys = {table: KEYS[table] for table in KEYS if table in text}
    told: dict[str, float] = {}

    def made(sketches: SketchesWhen) -> Any:
        found = ground.lineage.run(text, name=title, strategy="rerun", keys=keys, sketches=sketches, sketch_on=on)
        rows = found.result.collect()
        if sketches == "capture":
            told.update(_told(title, found.sketches, set(columns)))
        found.close()
        return rows

    on = {table: SketchOn(column=column) for table, column in columns.items()}
    arms = {
        "plain": Arm(lambda: made("off"), sorted_rows),
        "captured with the run": Arm(lambda: made("capture"), sorted_rows),
    }
    found = compared(title, arms, ground.meter, ground.repeats)
    found.facts = {"captured with the run": told}
    return found


def _told(title: str, uses: Sequence[Any], columns: set[str]) -> dict[str, float]:
    """How many sketches were captured in the pass: all that are asked for, unless they have too many rows to be kept."""
    asked = [one for one in uses if one.table in columns]
    wrong = [one for one in asked if one.state == "captured" and "own pass" not in one.because]
    wrong += [one for one in asked if one.state != "captured" and "too many to be worth it" not in one.because]
    if wrong:
        raise AssertionError(f"{title}: {wrong[0].because}")
    return {"sketches": float(sum(one.state == "captured" for one in asked))}


# --- unions --------------------------------------------------------------------------------------------------------------


def _united(ground: Ground, title: str, key: str, fragments: int) -> Comparison:
    """A join, grouped; with the fragments of each group united, in each way that has room for them."""
    joined = ground.spark.sql("SELECT * FROM orders JOIN lineitem ON o_orderkey = l_orderkey")
    (last,) = ground.spark.sql("SELECT max(o_orderkey) FROM orders").first() or (0,)
    how = numbering_of_column(Partition(type="bigint", cuts=tuple(range(0, last, -(-last // fragments)))))
    numbered = with_fragments(joined, "o_orderkey", how, "fragment")
    groups = "count(1) AS n", "sum(l_quantity) AS total"

    def grouped(united: Sequence[str]) -> Any:
        made = numbered.selectExpr(key, "l_quantity", "fragment").groupBy(key)
        from pyspark.sql import functions as F

        frame = made.agg(*map(F.expr, (*groups, *united)))
        # What is made is read, and stays where it is.
        frame.write.format("noop").mode("overwrite").save()
        return frame

    def rows(frame: DataFrame) -> list[str]:
        return sorted_rows(frame.select(key, "n", "total").collect())

    arms = {"plain": Arm(partial(grouped, ()), rows), "bitmap": Arm(partial(grouped, (BITMAP,)), rows)}
    arms |= {union: Arm(partial(grouped, _columns(union, fragments)), rows) for union in UNIONS if is_for(union, fragments)}
    return compared(title, arms, ground.meter, ground.repeats)


def _columns(union: Union, fragments: int) -> list[str]:
    number = Attribute(id=0, name="fragment", type="int")
    names = {0: ColumnRef(text="fragment")}
    return [f"{lower_expression(one.call, names, dialect='spark')} AS u{at}" for at, one in enumerate(of_numbers(union, number, fragments))]


# --- numbers -------------------------------------------------------------------------------------------------------------


def _numbered(ground: Ground, count: int) -> Comparison:
    """Values in any order, all numbered by each way; the first time, in which Java compiles it, stands apart."""
    rows, width = ROWS[ground.size], 7
    place = str(ground.folder / f"numbers_{rows}")
    values = ground.spark.range(rows).selectExpr(f"pmod(xxhash64(id), {count * width}) AS v")
    values.write.mode("overwrite").parquet(place)
    frame = ground.spark.read.parquet(place)
    even = numbering_of_column(Partition(type="bigint", cuts=tuple(range(0, count * width, width))))
    first: dict[str, dict[str, float]] = {}

    def summed(number: Callable[[], Any]) -> Any:
        from pyspark.sql import functions as F

        return frame.agg(F.sum(number())).collect()

    arms = {}
    for name, number in _forms(even, count, MOST_TREE[ground.size]).items():
        started = time.perf_counter()
        summed(number)
        first[name] = {"first, s": time.perf_counter() - started}
        arms[name] = Arm(partial(summed, number), sorted_rows)
    found = compared(f"numbers of {count:,} fragments, {rows:,} rows", arms, ground.meter, ground.repeats)
    found.facts = first
    return found


def _forms(even: Numbering, count: int, most_tree: int) -> dict[str, Callable[[], Any]]:
    from dataclasses import replace

    from pyspark.sql import functions as F

    cuts = [int(one) for one in even.cuts]
    forms: dict[str, Callable[[], Any]] = {
        "arithmetic": lambda: fragment_number(["v"], even),
        "search": lambda: fragment_number(["v"], replace(even, widths=None)),
    }
    if count <= most_tree:
        forms["CASE tree"] = lambda: F.expr(_tree(cuts, 0))
        forms["CASE chain"] = lambda: F.expr(
            "CASE " + " ".join(f"WHEN v < {cut} THEN {at}" for at, cut in enumerate(cuts)) + f" ELSE {len(cuts)} END"
        )
    return forms


def _tree(cuts: Sequence[int], first: int) -> str:
    """A balanced tree of CASE."""
    if not cuts:
        return str(first)
    middle = len(cuts) // 2
    return f"CASE WHEN v < {cuts[middle]} THEN {_tree(cuts[:middle], first)} ELSE {_tree(cuts[middle + 1 :], first + middle + 1)} END"
