"""What must be so after a round, whatever happened in it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.sources.file_uris import local_path
from airflow_lineage_provider.store import Materialization, Store
from airflow_lineage_provider.store.staging import staging_name
from tests.answers import guarantees_of
from tests.chaos.plans import Workload
from tests.chaos.work import OUTPUT, PIPELINE, SOURCE_ROWS, expected, expected_of_query
from tests.chaos.world import World

PATIENCE = 30
"""Seconds after which what a killed process leaves (connections, children) must be gone."""
FILES = {
    "digest.key", "log", "postgres", "postgres.alive", "postgres.lock", "postgres.log", "postgres.owner", "postgres.password",
    "postgres.port", "run", "runs",
}  # fmt: skip


def problems(world: World, workload: Workload, patience: float = PATIENCE) -> list[str]:
    """What is not as after an undisturbed run, for people; nothing when all is well."""
    found = [*_processes(world, patience)]
    started = time.monotonic()
    with Store.open() as store:
        if time.monotonic() - started > PATIENCE:
            found.append(f"opening the store took {time.monotonic() - started:.0f} s")
        _until(lambda: not list(_running(store)), patience)
        found += _running(store)
        found += _rows(store, workload)
        found += left_over(store, world.data, patience)
    return [*found, *_files(world)]


def left_over(store: Store, data: Path, patience: float = PATIENCE) -> list[str]:
    """What the store, and the folder of what is stored in files, have beside the rows of complete runs, and what these lack."""
    _until(lambda: not list(_locks(store)), patience)
    return [*_tables(store), *_staging(store), *_locks(store), *_folders(store, data)]


def check_next_run(world: World, workload: Workload, timeout: float, *, in_files: bool = False) -> list[str]:
    """An undisturbed run after a round gives what it always gives, and can be explained."""
    driver = world.start(workload, in_files=in_files)
    try:
        out, _ = driver.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return [f"the next run, driver {driver.pid}, hangs"]
    if driver.returncode or "complete" not in out:
        log = (world.source.parent / f"driver-{len(world.drivers) - 1}.log").read_text()
        return [f"the next run ended with {driver.returncode}: {log[-1500:]}"]
    run_id = out.split()[-1]
    found = []
    with Store.open() as store:
        rows = _query(store, f"SELECT count(*), sum({_value(workload)}) FROM {OUTPUT}")
        if rows != [_of(workload)]:
            found.append(f"the next run's output has {rows}, not {_of(workload)}")
        if workload != "store":
            stored = {one.in_files for one in store.materializations(run_id).values()}
            if stored != {in_files}:
                found.append(f"the next run stored {'not all' if in_files else 'some'} of its rows in files")
            with Lineage(store=store) as lineage:
                answer = lineage.get_run(run_id).explain(f"y = {2 * (SOURCE_ROWS - 1)}", save=False)
            if answer.sources["numbers"].column("x").to_pylist() != [SOURCE_ROWS - 1] or guarantees_of(answer)["numbers"].level != "exact":
                found.append(f"the next run is explained by {answer.sources['numbers'].to_pylist()} ({guarantees_of(answer)})")
    return found


def _processes(world: World, patience: float) -> Iterator[str]:
    _until(lambda: not world.processes(), patience)
    for process in world.processes():
        yield f"process {process.pid} is still there: {' '.join(process.cmdline())[:200]}"


def _running(store: Store) -> Iterator[str]:
    from airflow_lineage_provider.store import lifecycle

    lifecycle.tidy(store._engine, None)  # what opening the store does
    for record in store.runs(PIPELINE, 10_000):
        if record.status not in ("complete", "failed"):
            yield f"run {record.id} is {record.status}, and nobody runs it"
        elif record.finished is None or (record.status == "failed" and not record.error):
            yield f"the record of run {record.id} ({record.status}) does not say when, or why"


def _tables(store: Store) -> Iterator[str]:
    """The tables of complete runs are there, and no others: neither of failed runs nor half-written outputs."""
    there = {row[0] for row in _query(store, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'lineage_data'")}
    complete = "SELECT m.table_name FROM lineage.materializations m JOIN lineage.runs r ON r.id = m.run_id WHERE r.status = 'complete'"
    wanted = {row[0] for row in _query(store, f"{complete} AND m.folder IS NULL")}
    yield from (f"table {name} belongs to no complete run" for name in sorted(there - wanted))
    yield from (f"table {name} of a complete run is gone" for name in sorted(wanted - there))
    orphans = "SELECT count(*) FROM lineage.materializations m JOIN lineage.runs r ON r.id = m.run_id WHERE r.status <> 'complete'"
    if _query(store, orphans) != [(0,)]:
        yield "materializations of runs that are not complete are in the catalog"


def _staging(store: Store) -> Iterator[str]:
    with staging_name(store.url, "public"):  # what the next writer does
        pass
    for (name,) in _query(store, "SELECT tablename::text FROM pg_tables WHERE tablename LIKE 'lineage_staging%'"):
        yield f"the staging table {name} was left in the user's database"


def _folders(store: Store, data: Path) -> Iterator[str]:
    """The folders of complete runs are there with their very files; no others, and nothing of a write that did not end."""
    wanted = "SELECT m.folder, m.files FROM lineage.materializations m JOIN lineage.runs r ON r.id = m.run_id WHERE r.status = 'complete'"
    known = {local_path(row[0]): json.loads(row[1] or "{}") for row in _query(store, f"{wanted} AND m.folder IS NOT NULL")}
    for run in sorted(set(data.iterdir()) - {path.parent for path in known if path is not None}):
        yield f"folder {run} belongs to no complete run"
    for path, files in known.items():
        there = {one.name: one.stat().st_size for one in (path.iterdir() if path is not None and path.is_dir() else ())}
        # Spark writes checksums and a mark of its own beside them.
        extra = [name for name in there if name not in files and name != "_SUCCESS" and not name.endswith(".crc")]
        if extra or not files or any(there.get(name) != size for name, size in files.items()):
            yield f"folder {path} of a complete run has {there}; its record says {files}"


def _rows(store: Store, workload: Workload) -> Iterator[str]:
    """Whatever is complete is whole."""
    for record in store.runs(PIPELINE, 10_000):
        if record.status != "complete":
            continue
        for name, made in store.materializations(record.id).items():
            table = _stored(store, made)
            column = "x" if "x" in table.column_names else "y"
            found = (table.num_rows, sum(table.column(column).to_pylist()))
            known = expected() if workload == "store" else expected_of_query()
            if made.rows != table.num_rows or (name == "result" and found != known):
                yield f"{name} of the complete run {record.id} has {found}, not {known}; its record says {made.rows} rows"
    there = _query(store, f"SELECT to_regclass('{OUTPUT}') IS NOT NULL")
    if there == [(True,)]:
        written = _query(store, f"SELECT count(*), sum({_value(workload)}) FROM {OUTPUT}")
        if written != [_of(workload)]:
            yield f"the output has {written}, not {_of(workload)}"


def _stored(store: Store, made: Materialization) -> pa.Table:
    """The rows of a materialization, wherever they are."""
    place = local_path(made.folder) if made.folder is not None else None
    if place is None:
        return store.read(made)
    columns = [column.name for column in made.columns]
    return pa.concat_tables(pq.read_table(place / name) for name in made.files).rename_columns(columns)


def _locks(store: Store) -> Iterator[str]:
    mine = "AND pid NOT IN (SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'chaos%' OR application_name = 'airflow-lineage')"
    for pid, kind in _query(store, f"SELECT pid, locktype FROM pg_locks WHERE locktype = 'advisory' {mine}"):
        yield f"process {pid} of the server still holds a lock ({kind})"
    idle = (
        "SELECT pid, application_name, state FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'chaos check'"
        " AND (application_name LIKE 'lineage-%' OR state LIKE 'idle in transaction%')"
    )
    for pid, name, state in _query(store, idle):
        yield f"connection {pid} of {name} is still there, {state}"


def _files(world: World) -> Iterator[str]:
    for path in sorted(world.home.iterdir()):
        if path.name not in FILES:
            yield f"{path} was left in the home folder"
    for path in sorted((world.home / "runs").glob("*")):
        yield f"{path} says that a run's driver lives, and nobody runs it"


def _value(workload: Workload) -> str:
    return "x" if workload == "store" else "y"


def _of(workload: Workload) -> tuple[int, int]:
    return expected() if workload == "store" else expected_of_query()


def _query(store: Store, text: str) -> list[tuple[Any, ...]]:
    connection = psycopg2.connect(store.url, application_name="chaos check")
    try:
        with connection.cursor() as cursor:
            cursor.execute(text)
            return [tuple(int(v) if isinstance(v, int) or type(v).__name__ == "Decimal" else v for v in row) for row in cursor.fetchall()]
    finally:
        connection.close()


def _until(condition: Callable[[], bool], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.2)
