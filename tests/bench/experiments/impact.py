"""Which rows of a result some source rows are in: looked up in an index, followed by Spark through the operators with a tag, or found by
tracing every row of the result back. Then one source row, followed on through three runs of which each reads what the last one wrote.

Each against the answer worked out by hand in DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.words import CaptureWhen
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

ROWS = {"small": 50_000, "full": 1_000_000}
GROUPS = {"small": 5_000, "full": 100_000}
"""As many as a result may have whose every row is traced back."""
ASKED = {"small": (1, 100, 10_000), "full": (1, 100, 10_000)}
CHAINED = {"small": 20_000, "full": 1_000_000}
"""Rows of the result of each run of a chain."""
BY_TEAM = "SELECT team, sum(amount) AS total, count(*) AS n FROM bench_impact GROUP BY team"
STEPS = (
    "SELECT id, team, amount * 2 AS doubled FROM {read}",
    "SELECT id, concat('team ', team) AS team, doubled + 1 AS more FROM {read}",
    "SELECT team, id, more FROM {read} WHERE more >= 0",
)


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each number of source rows, and one for the chain."""
    rows, groups = ROWS[ground.size], GROUPS[ground.size]
    folder = _sources(ground, "bench_impact", rows, groups)
    captured, traced = (_recorded(ground, BY_TEAM, "bench_impact", when) for when in ("eager", "lazy"))
    cold = Lineage(store=ground.lineage.store)
    for many in ASKED[ground.size]:
        where, by_hand = f"id < {many}", f"SELECT DISTINCT team FROM {folder} WHERE id < {many}"
        asked = {
            "index, without Spark": cold.get_run(captured.id),
            "tagged, by Spark": ground.lineage.get_run(traced.id),
            "every row traced back, without Spark": cold.get_run(traced.id),
        }
        arms = {"by hand in DuckDB": Arm(partial(_by_hand, by_hand), sorted)}
        arms |= {name: Arm(partial(_teams, one, where, lazy="index" not in name), sorted) for name, one in asked.items()}
        title = f"{many:,} of {rows:,} source rows followed to {groups:,} groups"
        yield compared(title, arms, ground.meter, ground.repeats)
    yield _chain(ground, cold)


def _by_hand(query: str) -> list[int]:
    return [one for (one,) in duckdb.execute(query).fetchall()]


def _teams(asked: Run, where: str, *, lazy: bool) -> list[int]:
    found: list[int] = asked.forward(where, "bench_impact", lazy=lazy).rows.column("team").to_pylist()
    return found


def _chain(ground: Ground, cold: Lineage) -> Comparison:
    """One source row in the results of three runs: the ids that are reached in each."""
    rows = CHAINED[ground.size]
    folder = _sources(ground, "bench_chain", rows, rows)
    first = {when: _chained(ground, when) for when in ("eager", "lazy")}
    by_hand = f"SELECT id FROM {folder} WHERE id = 7"
    arms = {
        "by hand in DuckDB": Arm(lambda: [_by_hand(by_hand)] * len(STEPS)),
        "index, without Spark": Arm(_followed(cold.get_run(first["eager"].id))),
        "tagged, by Spark": Arm(_followed(ground.lineage.get_run(first["lazy"].id))),
    }
    return compared(f"a source row followed through {len(STEPS)} runs of {rows:,} rows", arms, ground.meter, ground.repeats)


def _followed(asked: Run) -> Callable[[], list[list[int]]]:
    return lambda: [one.rows.column("id").to_pylist() for one in asked.forward("id = 7", "bench_chain", across=True)]


def _chained(ground: Ground, when: CaptureWhen) -> Run:
    """The first of the runs, each of which reads the files that the one before wrote."""
    read, made = "bench_chain", []
    for at, step in enumerate(STEPS):
        where = ground.folder / f"chain_{when}_{at}"
        made.append(_recorded(ground, step.format(read=read), f"bench chain {when} {at}", when, output=f"{where}+overwrite"))
        read = f"bench_chain_{when}_{at}"
        ground.spark.read.parquet(str(where)).createOrReplaceTempView(read)
    return made[0]


def _recorded(ground: Ground, sql: str, name: str, when: CaptureWhen, **options: Any) -> Run:
    made = ground.lineage.run(sql, name=f"{name} {when}", capture=when, **options)
    made.close()
    return made


def _sources(ground: Ground, name: str, rows: int, groups: int) -> str:
    """A table of files, and how DuckDB reads it; teams are scattered over the rows."""
    folder: Path = ground.folder / name
    columns = ["id", f"CAST((id * 7919) % {groups} AS bigint) AS team", "id % 1000 AS amount"]
    ground.spark.range(0, rows, numPartitions=4).selectExpr(*columns).write.parquet(str(folder))
    ground.spark.read.parquet(str(folder)).createOrReplaceTempView(name)
    return f"read_parquet('{folder}/*.parquet')"
