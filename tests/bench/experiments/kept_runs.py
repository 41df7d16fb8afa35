"""How what a store costs grows with the runs that it keeps: each with its stored rows in two tables, or in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg2

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.records.run import RunRecord
from airflow_lineage_provider.store import Materialization, Store
from airflow_lineage_provider.store.connection import adbc_connect
from airflow_lineage_provider.store.ids import new_id
from tests.bench.comparison import Arm, Comparison, compared
from tests.bench.ground import Ground

RUNS = {"small": (1, 10, 200), "full": (1, 10, 1_000, 10_000)}
GROWN = "wall ÷ one run kept"
_WARM_UP = 3
SQL = "SELECT team, count(*) AS n FROM bench_kept GROUP BY team"
_SYSTEM = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'"
_CATALOG = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'lineage'::regnamespace AND relkind = 'r'"
_DATA = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relnamespace = 'lineage_data'::regnamespace AND relkind = 'r'"
)


def run(ground: Ground) -> Iterator[Comparison]:
    """Opening the store, finding the newest run, a new connection, another run, and an answer: after so many runs."""
    ground.spark.range(100).selectExpr("id", "id % 7 AS team", "id * 2 AS twice").write.parquet(str(ground.folder / "bench_kept.parquet"))
    ground.tables("bench_kept")
    for where in ("tables", "files"):
        url = _database(ground, where)
        with Store.open(url) as store:
            known = Lineage(ground.spark, store=store).run(SQL, name="bench kept", strategy="full_materialization")
            known.close()
            stored = list(store.materializations(known.id).values())
            before, kept, first = _sizes(url), 1, dict[str, float]()
            again = partial(_keep, store, known.record, stored, in_files=where == "files")
            for runs in RUNS[ground.size]:
                while kept < runs:
                    again()
                    kept += 1
                # What was done for the first time is slow: it would look as if nothing grew.
                title, arms = f"{runs:,} runs kept, rows in {where}", _arms(store, url, known.id, again)
                found = compared(title, arms, ground.meter, ground.repeats, warm_up=_WARM_UP)
                wall = {name: figures["wall, s"] for name, figures in found.figures().items()}
                first = first or wall
                if kept > 1:
                    found.facts = {name: {GROWN: float(f"{seconds / first[name]:.4g}")} for name, seconds in wall.items()}
                    sizes = zip(before.items(), _sizes(url).values(), strict=True)
                    found.facts["opening the store"] |= {what: round((now - then) / (kept - 1)) for (what, then), now in sizes}
                yield found


def _database(ground: Ground, name: str) -> str:
    url = ground.lineage.store.url
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE kept_{name}")
    return url.replace("/lineage?", f"/kept_{name}?")


def _sizes(url: str) -> dict[str, int]:
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        found = {}
        for what, query in (
            ("bytes a run, catalog", _CATALOG),
            ("bytes a run, PostgreSQL's own catalog", _SYSTEM),
            ("bytes a run, tables", _DATA),
        ):
            cursor.execute(query)
            found[what] = int(cursor.fetchone()[0])
        return found


def _keep(store: Store, record: RunRecord, stored: list[Materialization], *, in_files: bool) -> str:
    """A run like another, as if it had stored no rows: they are not what grows here."""
    made = store.begin_run(replace(record, id=new_id()))
    for one in stored:
        folder = f"s3a://bucket/lineage/{made}/{one.name}" if in_files else None
        there = store.create_materialization(made, one.name, one.kind, one.columns, folder=folder)
        if in_files:
            store.enter_files(
                there, {f"part-{number:05}-{made}-c000.zstd.parquet": 10_000_000 for number in range(8)}, dict.fromkeys(range(8), 10**6)
            )
    row = stored[0].columns[-1].name
    store.publish_run(made, row_counts=record.row_counts, timings=record.timings, indexes={one.name: [[row]] for one in stored})
    return made


def _arms(store: Store, url: str, known: str, again: Callable[[], str]) -> dict[str, Arm]:
    asked = Lineage(store=store)

    def opened() -> None:
        Store.open(url).close()

    def connected() -> int:
        with closing(adbc_connect(store.url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return int(cursor.fetchall()[0][0])

    newest = next(one.id for one in store.runs("bench kept", 10) if one.status == "complete")
    behind = sorted(tuple(row.values()) for row in ({"id": n, "team": 3, "twice": 2 * n} for n in range(100) if n % 7 == 3))

    def answered(found: Any) -> bool:
        return sorted(tuple(row.values()) for row in found.sources["bench_kept"].rows.to_pylist()) == behind

    def knows_the_newest(_: None) -> bool:
        with Store.open(url) as again_opened:
            return again_opened.latest_run("bench kept").id == newest

    # They do different things: each says whether what it gave is right.
    return {
        "opening the store": Arm(opened, knows_the_newest),
        "the newest run": Arm(lambda: store.latest_run("bench kept"), lambda found: found.id == newest),
        "a new connection": Arm(connected, lambda found: found == 1),
        "recording and dropping a run": Arm(lambda: _dropped(store, again()), lambda made: _status(store, made) == "dropped"),
        "an answer": Arm(lambda: asked.get_run(known).explain("team = 3", save=False), answered),
    }


def _dropped(store: Store, made: str) -> str:
    store.drop_run(made)
    return made


def _status(store: Store, made: str) -> str | None:
    """Of a run that is among the newest."""
    return next((one.status for one in store.runs("bench kept", 10) if one.id == made), None)
