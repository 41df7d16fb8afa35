"""Loading rows into the store: its own COPY by both drivers, PostgreSQL's COPY of a text, batched inserts; and Parquet beside them."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg2
import psycopg2.extras
import pyarrow as pa
from pyarrow import csv, parquet

from airflow_lineage_provider.store import Column, RunRecord
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

SIZES = {"small": (10_000, 100_000), "full": (10_000, 100_000, 1_000_000, 10_000_000)}
INSERTED = 100_000
"""Batched inserts of more rows take minutes, and say nothing new."""
TYPES = {"int64": "bigint", "double": "double", "string": "string"}
DDL = "id bigint, income float8, debt bigint, judge text, file bigint, position bigint"


def run(ground: Ground) -> Iterator[Comparison]:
    """A comparison for each number of rows."""
    run_id = ground.lineage.store.begin_run(RunRecord(pipeline="bench load"))
    for rows in SIZES[ground.size]:
        table = _table(rows)
        arms = {
            "raw ADBC": _adbc(ground, table),
            "the store, ADBC": _store(ground, run_id, table, "adbc"),
            "the store, psycopg2": _store(ground, run_id, table, "psycopg2"),
            "raw COPY of a text": _copy(ground, table),
            "Parquet": _parquet(ground, table),
        }
        if rows <= INSERTED:
            arms["batched inserts"] = _inserts(ground, table)
        found = compared(f"loading {rows:,} rows of six columns", arms, ground.meter, ground.repeats)
        found.facts = {name: {"rows a CPU s": round(rows / max(figures["CPU, s"], 1e-9))} for name, figures in found.figures().items()}
        yield found
    ground.lineage.store.fail_run(run_id, "only a benchmark")


def _table(rows: int) -> pa.Table:
    return pa.table({
        "id": pa.array(range(rows), pa.int64()),
        "income": pa.array([float(n) for n in range(rows)]),
        "debt": pa.array([n % 977 for n in range(rows)], pa.int64()),
        "judge": pa.array(["Accept" if n % 3 else "Reject" for n in range(rows)]),
        "file": pa.array([n // 1000 for n in range(rows)], pa.int64()),
        "position": pa.array([n % 1000 for n in range(rows)], pa.int64()),
    })  # fmt: skip


def _store(ground: Ground, run_id: str, table: pa.Table, transport: Any) -> Arm:
    columns = [Column(name=field.name, type=TYPES[str(field.type)]) for field in table.schema]
    names = (f"{transport}_{table.num_rows}_{number}" for number in itertools.count())

    def load() -> str:
        made = ground.lineage.store.create_materialization(run_id, next(names), "segment", columns)
        made.loader(transport).load(0, 0, iter(table.to_batches(50_000)))
        return made.table

    return Arm(load, _count(ground))


def _adbc(ground: Ground, table: pa.Table) -> Arm:
    from adbc_driver_postgresql import dbapi

    def load() -> str:
        with closing(dbapi.connect(ground.lineage.store.url)) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("bench_adbc", table.to_reader(50_000), mode="replace")
            connection.commit()
        return "bench_adbc"

    return Arm(load, _count(ground))


def _copy(ground: Ground, table: pa.Table) -> Arm:
    def load(cursor: Any) -> None:
        text = io.BytesIO()
        csv.write_csv(table, text, csv.WriteOptions(include_header=False))
        text.seek(0)
        cursor.copy_expert("COPY bench_copy FROM STDIN (FORMAT csv)", text)

    return Arm(_into(ground, "bench_copy", load), _count(ground))


def _inserts(ground: Ground, table: pa.Table) -> Arm:
    values = list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def load(cursor: Any) -> None:
        psycopg2.extras.execute_batch(cursor, "INSERT INTO bench_inserts VALUES (%s, %s, %s, %s, %s, %s)", values, 1000)

    return Arm(_into(ground, "bench_inserts", load), _count(ground))


def _into(ground: Ground, name: str, load: Callable[[Any], None]) -> Callable[[], str]:
    def work() -> str:
        with closing(psycopg2.connect(ground.lineage.store.url)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({DDL})")
            load(cursor)
        return name

    return work


def _parquet(ground: Ground, table: pa.Table) -> Arm:
    where = ground.folder / "loaded.parquet"
    return Arm(lambda: parquet.write_table(table, where), lambda _: parquet.read_metadata(where).num_rows)


def _count(ground: Ground) -> Callable[[str], int]:
    def count(name: str) -> int:
        with closing(psycopg2.connect(ground.lineage.store.url)) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {name}")
            return int(cursor.fetchone()[0])

    return count
