"""How the cost of a run grows: with the width of rows, the depth of the plan, the UDFs in it, the partitions, and the session's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from airflow_lineage_provider import reasoned_udf
from tests.bench.arms import recorded, written
from tests.bench.comparison import Arm, Comparison, compared, per_factor_of_ten
from tests.bench.ground import Ground

ROWS = 100
GROWTH = "CPU ÷ per factor of ten, beyond plain's"
"""By how much more than plain Spark's the cost of a run grows each time that the size does so."""
WIDTHS = {"small": (1, 10, 100), "full": (1, 10, 100, 1_000)}
DEPTHS = {"small": (2, 10, 50), "full": (2, 10, 50, 200)}
"""From the first filter above the UDF on two segments are stored: of one operator the result is the UDF's segment, too, which is a step."""
UDFS = {"small": (1, 4, 16), "full": (1, 4, 16, 64)}
PARTITIONS = {"small": (1, 10, 50), "full": (1, 10, 100, 1_000, 2_000)}
TABLES = {"small": (1, 50, 200), "full": (1, 100, 1_000, 5_000)}


@reasoned_udf("bigint", name="growth_exam")
def growth_exam(x: int) -> int:
    return x + 1


def run(ground: Ground) -> Iterator[Comparison]:
    """Each with a hundred rows, plain and recorded, in several sizes."""
    growth_exam.register(ground.spark)
    grown = (
        (f"{ROWS} rows, columns", WIDTHS, _of_width),
        (f"{ROWS} rows, operators, one above another", DEPTHS, _of_depth),
        (f"{ROWS} rows, calls of UDFs", UDFS, _of_udfs),
        (f"{ROWS} rows, partitions", PARTITIONS, _of_partitions),
    )
    yield from (_grown(ground, title, sizes[ground.size], query) for title, sizes, query in grown if ground.wants(title))
    if ground.wants("tables and views in the catalog"):
        yield from _beside_tables(ground)


def _grown(ground: Ground, title: str, sizes: Sequence[int], query: Callable[[Ground, int], str]) -> Comparison:
    arms: dict[str, Arm] = {}
    for size in sizes:
        sql = query(ground, size)
        plain, made = written(ground, sql, f"plain {size}"), recorded(ground, sql, "function_materialization")
        arms |= _checked({f"plain, {size:,}": plain, f"recorded, {size:,}": made})
    found = compared(title, arms, ground.meter, ground.repeats)
    cpu = {name: figures["CPU, s"] for name, figures in found.figures().items()}
    for size in sizes[1:]:
        grown = {kind: cpu[f"{kind}, {size:,}"] / cpu[f"{kind}, {sizes[0]:,}"] for kind in ("plain", "recorded")}
        found.facts[f"recorded, {size:,}"] = {GROWTH: per_factor_of_ten(grown["recorded"] / grown["plain"], size / sizes[0])}
    return found


def _beside_tables(ground: Ground) -> Iterator[Comparison]:
    """The same run, the more tables (and as many views) the session's catalog has beside the one that it reads."""
    sql = f"SELECT c0, growth_exam(c0) AS judged FROM {_table(ground, 'beside', 1)}"
    known, first = 0, dict[str, float]()
    for tables in TABLES[ground.size]:
        while known < tables:
            ground.spark.sql(f"CREATE TABLE bench_table_{known} (c0 bigint, c1 string) USING parquet")
            ground.spark.range(1).createOrReplaceTempView(f"bench_view_{known}")
            known += 1
        arms = {"plain": written(ground, sql, "beside"), "recorded": recorded(ground, sql, "function_materialization")}
        found = compared(f"{ROWS} rows, {tables:,} tables and views in the catalog", arms, ground.meter, ground.repeats)
        cpu = {name: figures["CPU, s"] for name, figures in found.figures().items()}
        if first:
            grown = {name: seconds / first[name] for name, seconds in cpu.items()}
            factor = tables / TABLES[ground.size][0]
            found.facts["recorded"] = {GROWTH: per_factor_of_ten(grown["recorded"] / grown["plain"], factor)}
        first = first or cpu
        yield found


def _checked(arms: dict[str, Arm]) -> dict[str, Arm]:
    """The sizes have other rows: each arm says whether it gives those of the first of its size."""
    first = next(iter(arms.values()))
    return {name: Arm(arm.do, partial(_is_like, first, arm)) for name, arm in arms.items()}


def _is_like(first: Arm, arm: Arm, given: Any) -> bool:
    """Both have written by now, if it is not the first."""
    rows = arm.answer(given)
    return len(rows) == ROWS and rows == first.answer(None)


def _table(ground: Ground, name: str, columns: int, partitions: int = 1) -> str:
    where = str(ground.folder / name)
    texts = [f"id * {number + 1} AS c{number}" for number in range(columns)]
    ground.spark.range(0, ROWS, 1, partitions).selectExpr(*texts).write.parquet(where)
    ground.spark.read.parquet(where).createOrReplaceTempView(name)
    return name


def _of_width(ground: Ground, columns: int) -> str:
    return f"SELECT *, growth_exam(c0) AS judged FROM {_table(ground, f'wide_{columns}', columns)}"


def _of_depth(ground: Ground, operators: int) -> str:
    name = _table(ground, f"deep_{operators}", 1)
    # Built step by step, as loops over a DataFrame are: Spark gives up analysing a text of more than 50 nested queries. Nothing is computed
    # on the way: Spark makes one expression of all steps, and its own code generation overflows its stack at 200.
    frame = ground.spark.sql(f"SELECT c0, growth_exam(c0) AS judged FROM {name}")
    for number in range(operators // 2):
        frame = frame.where(f"c0 >= 0 - {number}").selectExpr("c0", "judged")
    frame.createOrReplaceTempView(f"{name}_above")
    return f"SELECT * FROM {name}_above"


def _of_udfs(ground: Ground, calls: int) -> str:
    judged = ", ".join(f"growth_exam(c0 + {number}) AS judged_{number}" for number in range(calls))
    return f"SELECT c0, {judged} FROM {_table(ground, f'called_{calls}', 1)}"


def _of_partitions(ground: Ground, partitions: int) -> str:
    name = _table(ground, f"parted_{partitions}", 1)
    return f"SELECT /*+ REPARTITION({partitions}) */ c0, growth_exam(c0) AS judged FROM {name}"
