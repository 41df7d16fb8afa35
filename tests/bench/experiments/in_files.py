"""Stored rows in files against stored rows in PostgreSQL: what storing them costs, and what one of them costs to explain, without Spark.

A run may have any number of rows: none goes through the driver, or into PostgreSQL, whose memory is that of a run of one row, and the JVM
has what its heap may be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import psycopg2

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.recorded_run import Run
from airflow_lineage_provider.sources.file_uris import local_path
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.elsewhere import Work, elsewhere
from tests.bench.ground import Ground
from tests.bench.ground import ground as ground_of

SIZES = {"small": (10_000, 200_000), "full": (100_000, 1_000_000, 10_000_000, 100_000_000)}
IN_POSTGRESQL = 10_000_000
"""More rows take PostgreSQL minutes, and say nothing new."""
IN_MEMORY = 100_000
"""Of fewer rows a process has no more than without any."""
SCATTERING = 7_368_787
"""Prime: times this, modulo a number of rows, ids are all there once more, as if in any order, and each file has some from everywhere."""
SQL = "SELECT id, amount * 2 AS doubled, team FROM bench_rows WHERE amount >= 0"


def run(ground: Ground) -> Iterator[Comparison]:
    """Six comparisons for each number of rows: storing, the memory of it, and one row by ids that are in order in the files, or in any;
    what it costs to store the latter in the order in which they will be asked for, and one row of them then."""
    for rows in (one for one in SIZES[ground.size] if ground.wants(f"{one:,} rows")):
        places = ("files", "PostgreSQL") if rows <= IN_POSTGRESQL else ("files",)
        repeats = ground.repeats if rows < IN_POSTGRESQL else 1
        source = _source(ground, rows, "id", "bench_rows")
        lineages = {place: _lineage(ground, place) for place in places}
        stored: dict[str, Run] = {}
        arms = {"plain Parquet write": Arm(_plain(ground), _sums_at)}
        arms |= {f"in {place}": Arm(_storing(one, stored, place), partial(_sums, ground.lineage)) for place, one in lineages.items()}
        yield compared(f"storing a result of {rows:,} rows", arms, ground.meter, repeats)
        if rows >= IN_MEMORY:
            ways = ("plain Parquet write", *(f"in {place}" for place in places))
            title = f"memory of storing a result of {rows:,} rows, each in a process of its own"
            yield compared(title, {name: elsewhere(__name__, name, source, once=True) for name in ways}, ground.meter, 1)
        yield _explaining(ground, stored, rows, "bench_rows", "")
        _drop(ground, stored)
        _source(ground, rows, f"id * {SCATTERING} % {rows}", "bench_rows")
        yield from _in_any_order(ground, lineages, rows, repeats)


def _in_any_order(ground: Ground, lineages: dict[str, Lineage], rows: int, repeats: int) -> Iterator[Comparison]:
    plain, declared = dict[str, Run](), dict[str, Run]()
    arms = {f"in {place}": Arm(_storing(one, plain, place), partial(_sums, ground.lineage)) for place, one in lineages.items()}
    for place, one in lineages.items():
        arms[f"in {place}, by id"] = Arm(_storing(one, declared, place, ["id"]), partial(_sums, ground.lineage))
    yield compared(f"storing a result of {rows:,} rows, ids in any order", arms, ground.meter, repeats)
    yield _explaining(ground, plain, rows, "bench_rows", ", ids in any order")
    yield _explaining(ground, declared, rows, "bench_rows", ", ids in any order, by which it is indexed")
    _drop(ground, plain)
    _drop(ground, declared)


def _explaining(ground: Ground, stored: dict[str, Run], rows: int, table: str, how: str) -> Comparison:
    asked = {f"in {name}": Arm(_asking(ground, made, rows, table)) for name, made in stored.items()}
    floor = {"bare look-up in DuckDB": Arm(_floor(ground, stored["files"], rows), lambda found: [_source_row(*row[:3]) for row in found])}
    return compared(f"explaining one of {rows:,} stored rows{how}", floor | asked, ground.meter, ground.repeats)


def _source_row(number: int, doubled: int, team: str) -> dict[str, Any]:
    """What stands behind a row of the result."""
    return {"id": number, "amount": doubled // 2, "team": team}


def _drop(ground: Ground, stored: dict[str, Run]) -> None:
    while stored:
        ground.lineage.drop(stored.popitem()[1].id)


@contextmanager
def alone(way: str, source: str) -> Iterator[Work]:
    """A way of storing, in a process with a session and a store of its own."""
    with ground_of("small", 1) as ground:
        ground.meter.looks_at_trees = True
        ground.spark.read.parquet(source).createOrReplaceTempView("bench_rows")
        if way.startswith("in "):
            do: Callable[[], Any] = _storing(_lineage(ground, way[3:]), {}, way)
            yield Work(do, lambda: _sums(ground.lineage, do()), ground.meter, ground.beside)
        else:
            do = _plain(ground)
            yield Work(do, lambda: _sums_at(do()), ground.meter, ground.beside)


def _source(ground: Ground, rows: int, number: str, table: str) -> str:
    path = str(ground.folder / f"rows_{rows}{'_scattered' if '%' in number else ''}")
    columns = [f"{number} AS id", "id % 1000 AS amount", "concat('team ', id % 977) AS team"]
    ground.spark.range(0, rows, numPartitions=4 if rows < 10**7 else 32).selectExpr(*columns).write.parquet(path)
    ground.spark.read.parquet(path).createOrReplaceTempView(table)
    return path


def _lineage(ground: Ground, place: str) -> Lineage:
    """Its runs put all rows into files, or none."""
    made = Lineage(ground.spark, store=ground.lineage.store, data=str(ground.folder))
    assert made.data is not None
    least = 0 if place == "files" else 2**62
    made.data = replace(made.data, rows=least, bytes=least)
    return made


def _plain(ground: Ground) -> Callable[[], Path]:
    where = ground.folder / "plain"

    def write() -> Path:
        ground.spark.sql(SQL).write.parquet(str(where), mode="overwrite")
        return where

    return write


COLUMNS = ("id", "doubled", "team")
SUMS = "count(*), sum({0}), sum({1}), sum(({0} * 31 + {1}) % 1000003), sum(length({2}) * ({0} % 1009))"
"""Of the three columns of a result: two tables have the same where they have the same rows, but for a wonder."""


def _sums_at(where: Path | str, columns: tuple[str, ...] = COLUMNS) -> list[int]:
    (found,) = duckdb.execute(f"SELECT {SUMS.format(*columns)} FROM read_parquet('{where}/*.parquet')").fetchall()
    return [int(one) for one in found]


def _sums(lineage: Lineage, made: Run) -> list[int]:
    """Of the rows that a run stored, wherever they are."""
    stored = lineage.store.materializations(made.id)["result"]
    if stored.folder is not None:
        return _sums_at(local_path(stored.folder) or stored.folder, ("c0", "c1", "c2"))
    with closing(psycopg2.connect(lineage.store.url)) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {SUMS.format(*COLUMNS)} FROM {stored.table}")
        ((*found,),) = cursor.fetchall()
    return [int(one) for one in found]


def _storing(lineage: Lineage, stored: dict[str, Run], name: str, index: Sequence[str] = ()) -> Callable[[], Run]:
    def store() -> Run:
        if name in stored:
            lineage.drop(stored[name].id)
        stored[name] = lineage.run(SQL, name=f"bench in {name}", strategy="full_materialization", index=index)
        stored[name].close()
        return stored[name]

    return store


def _asking(ground: Ground, made: Run, rows: int, table: str) -> Callable[[], Any]:
    asked, numbers = Lineage(store=ground.lineage.store), _numbers(rows)

    def ask() -> Any:
        found = asked.get_run(made.id).explain(f"id = {next(numbers)}", save=False)
        return found.sources[table].rows.to_pylist()

    return ask


def _floor(ground: Ground, made: Run, rows: int) -> Callable[[], Any]:
    folder = local_path(str(ground.lineage.store.materializations(made.id)["result"].folder))
    numbers = _numbers(rows)
    return lambda: duckdb.execute(f"SELECT * FROM read_parquet('{folder}/*.parquet') WHERE c0 = {next(numbers)}").fetchall()


def _numbers(rows: int) -> Iterator[int]:
    """Rows here and there; the same for every arm."""
    return (at * 7_919 % rows for at in itertools.count(1))
