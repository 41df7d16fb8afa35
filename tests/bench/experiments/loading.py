"""Loading rows into the store: its own COPY by both drivers, PostgreSQL's COPY of a text, batched inserts; and Parquet beside them.

Then the indexes: made after the load, as the store does, or there while rows come. And the same rows from Spark's executors.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import psycopg2.extras
import pyarrow as pa
from pyarrow import csv, parquet

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.store import Column, RunRecord
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.table_parts import table_parts

SIZES = {"small": (10_000, 100_000), "full": (10_000, 100_000, 1_000_000, 10_000_000)}
INSERTED = 100_000
"""Batched inserts of more rows take minutes, and say nothing new."""
TYPES = {"int64": "bigint", "double": "double", "string": "string"}
_WRITTEN: dict[str, str | Path] = {}
"""The table or file that each arm wrote last."""
SUMS = "count(*), sum({0}), sum({1}), sum({2}), sum(length({3}) * ({0} % 1009)), sum({4} * 31 + {5}), sum(({0} * 7 + {2}) % 1000003)"
"""Of the six columns: two tables have the same where they have the same rows, but for a wonder."""
DDL = "id bigint, income float8, debt bigint, judge text, file bigint, position bigint"


def run(ground: Ground) -> Iterator[Comparison]:
    """Three comparisons for each number of rows."""
    run_id = ground.lineage.store.begin_run(RunRecord(pipeline="bench load"))
    for rows in SIZES[ground.size]:
        table = _table(rows)
        arms = {
            "raw ADBC": _adbc(ground, table),
            "the store": _store(ground, run_id, table, "auto"),
            "the store, ADBC": _store(ground, run_id, table, "adbc"),
            "the store, psycopg2": _store(ground, run_id, table, "psycopg2"),
            "raw COPY of a text": _copy(ground, table),
            "Parquet": _parquet(ground, table),
        }
        if rows <= INSERTED:
            arms["batched inserts"] = _inserts(ground, table)
        found = compared(f"loading {rows:,} rows of six columns", arms, ground.meter, ground.repeats)
        found.facts = {name: _speeds(table, figures) | _size(ground, name) for name, figures in found.figures().items()}
        quickest = found.facts["raw ADBC"]["rows a CPU s"]
        for facts in found.facts.values():
            facts["rows a CPU s ÷"] = round(facts["rows a CPU s"] / quickest, 3)
        yield found
        yield _indexing(ground, table)
        yield _through_spark(ground, table)
    ground.lineage.store.fail_run(run_id, "only a benchmark")


_NAMES = {"auto": "the store", "adbc": "the store, ADBC", "psycopg2": "the store, psycopg2"}


def _speeds(table: pa.Table, figures: Mapping[str, float]) -> dict[str, float]:
    wall = max(figures["wall, s"], 1e-9)
    return {
        "rows a s": round(table.num_rows / wall),
        "bytes a s": round(table.nbytes / wall),
        "rows a CPU s": round(table.num_rows / max(figures["CPU, s"], 1e-9)),
    }


def _size(ground: Ground, arm: str) -> dict[str, float]:
    """Of what an arm wrote last, on disk."""
    table = _WRITTEN[arm]
    if isinstance(table, Path):
        files = [table] if table.is_file() else list(table.glob("*.parquet"))
        return {"bytes on disk": sum(one.stat().st_size for one in files)}
    return {"bytes on disk": _asked(ground, f"SELECT pg_total_relation_size('{table}'::regclass)")}


def _indexing(ground: Ground, table: pa.Table) -> Comparison:
    """What an index costs by itself, and beside a load."""
    rows = table.num_rows
    _copy(ground, table, "bench_loaded").do()
    arms = {
        "load, no index": _copy(ground, table, "bench_indexed"),
        "index one column of loaded rows": Arm(_indexed(ground, "id"), partial(_sums, ground)),
        "index two columns of loaded rows": Arm(_indexed(ground, "file, position"), partial(_sums, ground)),
        "load into an indexed table": _copy(ground, table, "bench_indexed", "CREATE INDEX ON bench_indexed (id)"),
    }
    found = compared(f"indexing {rows:,} rows", arms, ground.meter, ground.repeats)
    for name, columns in (("index one column of loaded rows", "id"), ("index two columns of loaded rows", "file, position")):
        _indexed(ground, columns)()
        found.facts[name] = {"bytes on disk": _asked(ground, "SELECT pg_indexes_size('bench_loaded'::regclass)")}
    return found


def _indexed(ground: Ground, columns: str) -> Callable[[], str]:
    def index() -> str:
        with closing(psycopg2.connect(ground.lineage.store.url)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS bench_index; CREATE INDEX bench_index ON bench_loaded ({columns})")
        return "bench_loaded"

    return index


def _through_spark(ground: Ground, table: pa.Table) -> Comparison:
    """A result stored by a run, where it stores so many rows by itself and all in PostgreSQL, against Spark's own writer."""
    path = ground.folder / "loading_source.parquet"
    parquet.write_table(table, path)
    ground.spark.read.parquet(str(path)).createOrReplaceTempView("bench_loading")
    sql, where = "SELECT * FROM bench_loading WHERE id >= 0", ground.folder / "loading_written"

    def write() -> Path:
        ground.spark.sql(sql).write.mode("overwrite").parquet(str(where))
        _WRITTEN["Parquet by Spark"] = where
        return where

    def recorded(name: str, lineage: Lineage) -> Arm:
        def record() -> Path | str:
            stored = lineage.run(sql, name="bench loading", strategy="full_materialization")
            stored.close()
            result = lineage.store.materializations(stored.id)["result"]
            folder = Path(local_path(result.folder) or "") if result.folder is not None else None
            _WRITTEN[name] = folder or result.table
            return folder or result.table

        columns = tuple(f"c{number}" for number in range(len(COLUMNS)))
        return Arm(record, lambda at: _sums_at(at, columns) if isinstance(at, Path) else _sums(ground, at))

    in_store = Lineage(ground.spark, store=ground.lineage.store, data="store")
    arms = {"Parquet by Spark": Arm(write, _sums_at), "a run": recorded("a run", ground.lineage)}
    arms["a run, into PostgreSQL"] = recorded("a run, into PostgreSQL", in_store)
    found = compared(f"{table.num_rows:,} rows through Spark", arms, ground.meter, ground.repeats)
    found.facts = {name: _speeds(table, figures) | _size(ground, name) for name, figures in found.figures().items()}
    for facts in found.facts.values():
        facts["bytes on disk ÷"] = round(facts["bytes on disk"] / found.facts["Parquet by Spark"]["bytes on disk"], 3)
    found.arms = {name: replace(arm, parts={"bytes on disk ÷": partial(_files, ground, name)}) for name, arm in arms.items()}
    return found


def _files(ground: Ground, arm: str) -> str:
    """What an arm wrote last: the bytes of each column, and of each index."""
    where = _WRITTEN[arm]
    if not isinstance(where, Path):
        return table_parts(ground.lineage.store.url, where)
    query = "SELECT path_in_schema, any_value(compression), sum(total_compressed_size) FROM parquet_metadata(?) GROUP BY 1"
    found = duckdb.execute(query, [f"{where}/*.parquet"]).fetchall()
    return "\n".join(f"  {column}: {size:,} B, {compression}" for column, compression, size in found)


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
        _WRITTEN[_NAMES[transport]] = made.table
        return made.table

    return Arm(load, partial(_sums, ground))


def _adbc(ground: Ground, table: pa.Table) -> Arm:
    from adbc_driver_postgresql import dbapi

    def load() -> str:
        with closing(dbapi.connect(ground.lineage.store.url)) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("bench_adbc", table.to_reader(50_000), mode="replace")
            connection.commit()
        _WRITTEN["raw ADBC"] = "bench_adbc"
        return "bench_adbc"

    return Arm(load, partial(_sums, ground))


def _copy(ground: Ground, table: pa.Table, into: str = "bench_copy", before: str = "") -> Arm:
    def load(cursor: Any) -> None:
        text = io.BytesIO()
        csv.write_csv(table, text, csv.WriteOptions(include_header=False))
        text.seek(0)
        cursor.copy_expert(f"COPY {into} FROM STDIN (FORMAT csv)", text)

    _WRITTEN["raw COPY of a text"] = "bench_copy"
    return Arm(_into(ground, into, load, before), partial(_sums, ground))


def _inserts(ground: Ground, table: pa.Table) -> Arm:
    values = list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def load(cursor: Any) -> None:
        psycopg2.extras.execute_batch(cursor, "INSERT INTO bench_inserts VALUES (%s, %s, %s, %s, %s, %s)", values, 1000)

    _WRITTEN["batched inserts"] = "bench_inserts"
    return Arm(_into(ground, "bench_inserts", load), partial(_sums, ground))


def _into(ground: Ground, name: str, load: Callable[[Any], None], before: str = "") -> Callable[[], str]:
    def work() -> str:
        with closing(psycopg2.connect(ground.lineage.store.url)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({DDL}); {before}")
            load(cursor)
        return name

    return work


def _parquet(ground: Ground, table: pa.Table) -> Arm:
    where = ground.folder / "loaded.parquet"
    _WRITTEN["Parquet"] = where
    return Arm(lambda: parquet.write_table(table, where), lambda _: _sums_at(where))


COLUMNS = ("id", "income", "debt", "judge", "file", "position")


def _sums(ground: Ground, table: str, columns: tuple[str, ...] = COLUMNS) -> list[int]:
    return [int(one) for one in _row(ground, f"SELECT {SUMS.format(*columns)} FROM {table}")]


def _sums_at(where: Path, columns: tuple[str, ...] = COLUMNS) -> list[int]:
    at = where if where.is_file() else f"{where}/*.parquet"
    (found,) = duckdb.execute(f"SELECT {SUMS.format(*columns)} FROM read_parquet('{at}')").fetchall()
    return [int(one) for one in found]


def _asked(ground: Ground, query: str) -> int:
    return int(_row(ground, query)[0])


def _row(ground: Ground, query: str) -> tuple[Any, ...]:
    with closing(psycopg2.connect(ground.lineage.store.url)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        (row,) = cursor.fetchall()
        return tuple(row)
