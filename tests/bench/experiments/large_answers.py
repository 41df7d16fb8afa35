"""Answers with very many source rows, without Spark: at once and as a stream, against the join by hand in DuckDB; time, and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from airflow_lineage_provider import Lineage
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

SIZES = {"small": ((100_000, 1_000),), "full": ((1_000_000, 10_000), (10_000_000, 10_000))}
"""Source rows, and rows of the result that are asked about: all."""
SQL = "SELECT team, count(*) AS n, sum(amount) AS total FROM bench_large GROUP BY team"


def run(ground: Ground) -> Iterator[Comparison]:
    """One comparison for each size."""
    for rows, targets in SIZES[ground.size]:
        folder = _source(ground, rows, targets)
        made = ground.lineage.run(SQL, name="bench large")
        made.close()
        arms = _arms(Lineage(store=ground.lineage.store), made.id, folder)
        with pytest.MonkeyPatch.context() as patch:
            for limit in ("SOURCE", "TARGET"):
                patch.setenv(f"AIRFLOW_LINEAGE_{limit}_LIMIT", str(rows))
            found = compared(f"{targets:,} rows made of {rows:,}", arms, ground.meter, ground.repeats)
        ground.lineage.drop(made.id)
        yield found


def _source(ground: Ground, rows: int, targets: int) -> Path:
    folder = ground.folder / f"large_{rows}"
    columns = ["id", f"CAST(hash(id) % {targets} AS int) AS team", "id % 1000 AS amount", "concat('row ', id) AS name"]
    ground.spark.range(0, rows, numPartitions=4).selectExpr(*columns).write.parquet(str(folder))
    ground.spark.read.parquet(str(folder)).createOrReplaceTempView("bench_large")
    return folder


def _arms(lineage: Lineage, made: str, folder: Path) -> dict[str, Arm]:
    """Each gives the number of pairs of a row of the result and a row behind it."""

    def by_hand() -> int:
        source = f"read_parquet('{folder}/*.parquet')"
        teams = f"SELECT row_number() OVER (ORDER BY team) AS asked, team FROM (SELECT DISTINCT team FROM {source})"
        joined = duckdb.execute(f"SELECT asked, rows.* FROM ({teams}) JOIN {source} AS rows USING (team)")
        found = joined.to_arrow_table()
        return 0 if found is None else int(found.num_rows)

    def explained() -> int:
        return int(lineage.get_run(made).explain("true", save=False, across=False).target_links.num_rows)

    def backward() -> int:
        return int(lineage.get_run(made).backward("true", "bench_large").links.num_rows)

    def streamed() -> int:
        return sum(len(batch) for batch in lineage.get_run(made).backward_batches("true", table="bench_large"))

    does: dict[str, Callable[[], Any]] = {
        "a join by hand in DuckDB": by_hand,
        "explain": explained,
        "backward": backward,
        "backward_batches": streamed,
    }
    return {name: Arm(do) for name, do in does.items()}
