"""How long it takes to say which source rows stand behind one group (Smoke, Sec. 6.3): an index, against whoever looks through the table.

All groups of a zipf table are asked of the index, and some of the others: of the index's map as a program has it that keeps it, and as a
whole question to the run; of DuckDB over the same Parquet file, of PostgreSQL over the same rows, and of Spark. Then the other way round:
which group one source row went into.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import psycopg2

from airflow_lineage_provider.capture.looking_up import LookedUpLineage
from airflow_lineage_provider.capture.recorded import Direction, RecordedMap
from airflow_lineage_provider.deriving.asked_run import AskedRun
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.recorded_run import Run
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground
from tests.bench.timed import Asked, Timed
from tests.bench.zipf import write_zipf

SKEWS = {"small": (0.0, 1.6), "full": (0.0, 0.4, 0.8, 1.6)}
ROWS = {"small": 200_000, "full": 10_000_000}
GROUPS = {"small": 500, "full": 5_000}
COMPARED = {"small": 6, "full": 25}
"""So many groups are asked of all: from the largest to the smallest."""
SOURCE_ROWS = 1_000
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Groups:
    """A run that grouped a table by z; ``z`` of each row of its result, and those that all arms are asked about, with their rows'
    number."""

    run: Run
    file: Path
    z: Sequence[int]
    sizes: Mapping[int, int]
    compared: Sequence[int]

    @classmethod
    def of(cls, ground: Ground, file: Path, title: str) -> _Groups:
        ground.spark.read.parquet(str(file)).createOrReplaceTempView("bench_zipf")
        made = ground.lineage.run("SELECT z, count(*) AS n, sum(v) AS total FROM bench_zipf GROUP BY z", name=title, capture="eager")
        made.close()
        found = made.result_table()
        z, sizes = found.column("z").to_pylist(), dict(zip(*(found.column(name).to_pylist() for name in ("z", "n")), strict=True))
        ordered = sorted(z, key=lambda one: -sizes[one])
        places = np.linspace(0, len(ordered) - 1, COMPARED[ground.size]).astype(int)
        return cls(ground.lineage.get_run(made.id), file, z, sizes, [ordered[at] for at in places])


def run(ground: Ground) -> Iterator[Comparison]:
    """Two comparisons for each skew."""
    rows, groups = ROWS[ground.size], GROUPS[ground.size]
    for skew in SKEWS[ground.size]:
        file = write_zipf(ground.folder / "zipf.parquet", rows, groups, skew)
        asked = _Groups.of(ground, file, f"bench lineage queries {skew}")
        title = f"{groups:,} groups of {rows:,} rows, skew {skew}"
        yield _told(f"rids behind one of {title}", _backward(ground, asked), ground, asked)
        yield _told(f"the group of one of {title}", _forward(asked, rows), ground, asked)
        ground.lineage.drop(asked.run.id)


def _told(title: str, asked: Mapping[str, Asked], ground: Ground, of: _Groups) -> Comparison:
    arms = {name: Arm(one, parts=_parts(one, of)) for name, one in asked.items()}
    found = compared(title, arms, ground.meter, ground.repeats)
    found.facts = {name: one.last.figures() for name, one in asked.items()}
    return found


def _parts(asked: Asked, of: _Groups) -> dict[str, Callable[[], str]]:
    return {name: lambda: asked.last.slowest(of.sizes) for name in ("p99, CPU ms", "p99, ms", "compared, ms")}


# --- backward ----------------------------------------------------------------------------------------------------------


def _backward(ground: Ground, of: _Groups) -> dict[str, Asked]:
    return {
        "DuckDB, over Parquet": Asked(partial(_of_duckdb, of)),
        "index, kept": Asked(partial(_of_map, of)),
        "index, a question": Asked(partial(_of_run, of)),
        "PostgreSQL": Asked(partial(_of_postgresql, of, ground.lineage.store.url)),
        "Spark": Asked(partial(_of_spark, of, ground)),
    }


def _of_map(of: _Groups, timed: Timed) -> None:
    """Every group; rids are ids here, as the table is one file."""

    def ask(captured: LookedUpLineage, one: RecordedMap) -> None:
        for position, z in enumerate(of.z):
            asked = np.array([position])
            timed.ask(z, lambda asked=asked: captured.edges(one, asked, "backward").rid, _digest if z in of.compared else None)  # type: ignore[misc]

    _with_map(of, "backward", ask)


def _with_map(of: _Groups, direction: Direction, ask: Callable[[LookedUpLineage, RecordedMap], None]) -> None:
    """The run's index between its result and its source, whose parts are in memory."""

    def opened(asked: AskedRun) -> None:
        captured = looked_up(asked)
        assert captured is not None
        (one,) = (each for each in captured.maps(("segment", 0), direction) if each.side == "source")
        begins = np.array(one.begins, np.int64)
        captured.edges(one, begins, direction)
        ask(captured, one)

    of.run._asking.answered("asking", None, False, opened)


def _of_run(of: _Groups, timed: Timed) -> None:
    position = {z: at for at, z in enumerate(of.z)}
    for z in of.compared:
        at = [position[z]]
        timed.ask(z, lambda at=at: of.run.backward(at=at, table="bench_zipf", lazy=False).rids, _digest)  # type: ignore[misc]


def _of_duckdb(of: _Groups, timed: Timed) -> None:
    with duckdb.connect() as connection:
        query = f"SELECT id FROM read_parquet('{of.file}') WHERE z = ?"
        for z in of.compared:
            timed.ask(z, lambda z=z: connection.execute(query, [z]).fetchnumpy()["id"], _digest)  # type: ignore[misc]


def _of_postgresql(of: _Groups, url: str, timed: Timed) -> None:
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.bench_zipf') IS NOT NULL AND EXISTS (SELECT FROM pg_description WHERE objoid = "
                       "to_regclass('public.bench_zipf') AND description = %s)", [of.run.id])  # fmt: skip
        if cursor.fetchone() != (True,):
            _copied(of, cursor)
        for z in of.compared:
            timed.ask(z, lambda z=z: _fetched(cursor, z), _digest)  # type: ignore[misc]


def _fetched(cursor: Any, z: int) -> Numbers:
    cursor.execute("SELECT id FROM public.bench_zipf WHERE z = %s", [z])
    return np.array([one for (one,) in cursor.fetchall()], np.int64)


def _copied(of: _Groups, cursor: Any) -> None:
    """The table's rows in PostgreSQL, without an index: one that has z and rids is what is compared with."""
    text = of.file.with_suffix(".csv")
    duckdb.execute(f"COPY (SELECT id, z FROM read_parquet('{of.file}')) TO '{text}' (HEADER false)")
    cursor.execute("DROP TABLE IF EXISTS public.bench_zipf")
    cursor.execute("CREATE TABLE public.bench_zipf (id bigint, z bigint)")
    with text.open() as lines:
        cursor.copy_expert("COPY public.bench_zipf FROM STDIN (FORMAT csv)", lines)
    cursor.execute("COMMENT ON TABLE public.bench_zipf IS %s", [of.run.id])
    cursor.execute("ANALYZE public.bench_zipf")
    text.unlink()


def _of_spark(of: _Groups, ground: Ground, timed: Timed) -> None:
    table = ground.spark.read.parquet(str(of.file))
    for z in of.compared:
        timed.ask(z, lambda z=z: table.where(f"z = {z}").select("id").toArrow().column("id").to_numpy(), _digest)  # type: ignore[misc]


# --- forward -----------------------------------------------------------------------------------------------------------


def _forward(of: _Groups, rows: int) -> dict[str, Asked]:
    every = np.random.default_rng(7).choice(rows, SOURCE_ROWS, replace=False).tolist()
    compared = set(every[: len(of.compared)])

    def of_map(timed: Timed) -> None:
        def ask(captured: LookedUpLineage, one: RecordedMap) -> None:
            for rid in every:
                asked, answer = np.array([rid]), _z_at(of) if rid in compared else None
                timed.ask(rid, lambda asked=asked: captured.edges(one, asked, "forward").rid, answer)  # type: ignore[misc]

        _with_map(of, "forward", ask)

    def of_duckdb(timed: Timed) -> None:
        with duckdb.connect() as connection:
            query = f"SELECT z FROM read_parquet('{of.file}') WHERE id = ?"
            for rid in compared:
                timed.ask(rid, lambda rid=rid: connection.execute(query, [rid]).fetchall(), lambda found: [z for (z,) in found])  # type: ignore[misc]

    return {"DuckDB, over Parquet": Asked(of_duckdb), "index, kept": Asked(of_map)}


def _z_at(of: _Groups) -> Callable[[Numbers], list[int]]:
    return lambda positions: [of.z[at] for at in positions.tolist()]


def _digest(ids: Numbers) -> str:
    """Of rows, whatever their order."""
    return hashlib.sha256(np.sort(np.asarray(ids, np.int64)).tobytes()).hexdigest()
