"""Stored rows in files against stored rows in PostgreSQL: what storing them costs, and what one of them costs to explain, without Spark.

A run may have any number of rows: none goes through the driver, or into PostgreSQL, whose memory is that of a run of one row, and the JVM
has what its heap may be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
from pyarrow import parquet

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.sources.file_uris import local_path
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

SIZES = {"small": (10_000, 200_000), "full": (100_000, 1_000_000, 10_000_000, 100_000_000)}
IN_POSTGRESQL = 10_000_000
"""More rows take PostgreSQL minutes, and say nothing new."""
SQL = "SELECT id, amount * 2 AS doubled, team FROM bench_rows WHERE amount >= 0"


def run(ground: Ground) -> Iterator[Comparison]:
    """Two comparisons for each number of rows; with what each process has of memory at most."""
    ground.meter.looks_at_trees = True
    for rows in SIZES[ground.size]:
        _source(ground, rows)
        places = {"files": _lineage(ground, 0)} | ({"PostgreSQL": _lineage(ground, 2**62)} if rows <= IN_POSTGRESQL else {})
        repeats = ground.repeats if rows < IN_POSTGRESQL else 1
        stored: dict[str, Run] = {}
        arms = {"plain Parquet write": Arm(_plain(ground), _rows_at)}
        arms |= {f"in {name}": Arm(_storing(one, stored, name)) for name, one in places.items()}
        yield compared(f"storing a result of {rows:,} rows", arms, ground.meter, repeats)
        asked = {f"in {name}": Arm(_asking(ground, made, rows), len) for name, made in stored.items()}
        floor = {"bare look-up in DuckDB": Arm(_floor(ground, stored["files"], rows), len)}
        yield compared(f"explaining one of {rows:,} stored rows", floor | asked, ground.meter, ground.repeats)
        for made in stored.values():
            ground.lineage.drop(made.id)


def _source(ground: Ground, rows: int) -> None:
    path = str(ground.folder / f"rows_{rows}")
    columns = ["id", "id % 1000 AS amount", "concat('team ', id % 977) AS team"]
    ground.spark.range(0, rows, numPartitions=4 if rows < 10**7 else 32).selectExpr(*columns).write.parquet(path)
    ground.spark.read.parquet(path).createOrReplaceTempView("bench_rows")


def _lineage(ground: Ground, least: int) -> Lineage:
    """Its runs put so many rows and more into files."""
    made = Lineage(ground.spark, store=ground.lineage.store, data=str(ground.folder))
    assert made.data is not None
    made.data = replace(made.data, rows=least)
    return made


def _plain(ground: Ground) -> Callable[[], Path]:
    where = ground.folder / "plain"

    def write() -> Path:
        ground.spark.sql(SQL).write.parquet(str(where), mode="overwrite")
        return where

    return write


def _rows_at(where: Path) -> int:
    return sum(parquet.read_metadata(path).num_rows for path in where.glob("*.parquet"))


def _storing(lineage: Lineage, stored: dict[str, Run], name: str) -> Callable[[], int]:
    def store() -> int:
        if name in stored:
            lineage.drop(stored[name].id)
        stored[name] = lineage.run(SQL, name=f"bench in {name}", strategy="full_materialization")
        stored[name].close()
        return stored[name].record.row_counts["result"]

    return store


def _asking(ground: Ground, made: Run, rows: int) -> Callable[[], Any]:
    asked, numbers = Lineage(store=ground.lineage.store), _numbers(rows)

    def ask() -> Any:
        found = asked.get_run(made.id).explain(f"id = {next(numbers)}", save=False)
        return found.sources["bench_rows"].rows.to_pylist()

    return ask


def _floor(ground: Ground, made: Run, rows: int) -> Callable[[], Any]:
    folder = local_path(str(ground.lineage.store.materializations(made.id)["result"].folder))
    numbers = _numbers(rows)
    return lambda: duckdb.execute(f"SELECT * FROM read_parquet('{folder}/*.parquet') WHERE c0 = {next(numbers)}").fetchall()


def _numbers(rows: int) -> Iterator[int]:
    """Rows here and there; the same for every arm."""
    return (at * 7_919 % rows for at in itertools.count(1))
