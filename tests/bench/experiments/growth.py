"""How the cost of a run grows: with the width of rows, the depth of the plan, the UDFs in it, the partitions, and the session's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_lineage_provider import reasoned_udf
from tests.bench.arms import recorded, written
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

ROWS = 100
WIDTHS = {"small": (1, 10, 100), "full": (1, 10, 100, 1_000)}
DEPTHS = {"small": (1, 10, 50), "full": (1, 10, 50, 200)}
UDFS = {"small": (1, 4, 16), "full": (1, 4, 16, 64)}
PARTITIONS = {"small": (1, 10, 50), "full": (1, 10, 100, 1_000, 2_000)}
TABLES = {"small": (1, 50, 200), "full": (1, 100, 1_000, 5_000)}


@reasoned_udf("bigint", name="growth_exam")
def growth_exam(x: int) -> int:
    return x + 1


def run(ground: Ground) -> Iterator[Comparison]:
    """Each with a hundred rows, plain and recorded, in several sizes."""
    growth_exam.register(ground.spark)
    yield _grown(ground, "columns", WIDTHS[ground.size], _of_width)
    yield _grown(ground, "operators, one above another", DEPTHS[ground.size], _of_depth)
    yield _grown(ground, "calls of UDFs", UDFS[ground.size], _of_udfs)
    yield _grown(ground, "partitions", PARTITIONS[ground.size], _of_partitions)
    yield from _beside_tables(ground)


def _grown(ground: Ground, what: str, sizes: Sequence[int], query: Callable[[Ground, int], str]) -> Comparison:
    arms: dict[str, Arm] = {}
    for size in sizes:
        sql = query(ground, size)
        plain, made = written(ground, sql, f"plain {size}"), recorded(ground, sql, "function_materialization")
        arms |= {f"plain, {size:,}": _counted(plain), f"recorded, {size:,}": _counted(made)}
    return compared(f"{ROWS} rows, {what}", arms, ground.meter, ground.repeats)


def _beside_tables(ground: Ground) -> Iterator[Comparison]:
    """The same run, the more tables (and as many views) the session's catalog has beside the one that it reads."""
    sql = f"SELECT c0, growth_exam(c0) AS judged FROM {_table(ground, 'beside', 1)}"
    known = 0
    for tables in TABLES[ground.size]:
        while known < tables:
            ground.spark.sql(f"CREATE TABLE bench_table_{known} (c0 bigint, c1 string) USING parquet")
            ground.spark.range(1).createOrReplaceTempView(f"bench_view_{known}")
            known += 1
        arms = {"plain": written(ground, sql, "beside"), "recorded": recorded(ground, sql, "function_materialization")}
        yield compared(f"{ROWS} rows, {tables:,} tables and views in the catalog", arms, ground.meter, ground.repeats)


def _counted(arm: Arm) -> Arm:
    """The sizes have other columns, and as many rows."""
    return Arm(arm.do, lambda given: len(arm.answer(given)))


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
