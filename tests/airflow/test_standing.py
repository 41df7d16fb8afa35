"""A whole Airflow whose tasks are killed and cleared, with others beside them, and many in a row: `make faults`, in minutes."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.store import Store
from tests.airflow.standing import Standing, standing, until
from tests.airflow.submitting import tables
from tests.growth import files_below, growth, memory_of, orphans
from tests.store.conftest import sql

pytestmark = [
    pytest.mark.skipif("FAULTS" not in os.environ, reason="make faults"),
    pytest.mark.timeout(0),
    pytest.mark.spark,
]
CLEAN = {number: 2 * number for number in range(8)}
MANY = int(os.environ.get("FAULTS_RUNS", "20"))
MEMORY = 256 * 1024
"""Bytes that the API server, with the tab in it, or the store's server may grow by with each run: of the product, only these two live on.
(What Airflow's scheduler takes grows by itself, as it starts tasks.)"""


@pytest.fixture(scope="module")
def airflow(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    with standing(tmp_path_factory.mktemp("airflow"), store.url) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the source is, in two files, and the output goes."""
    (tmp_path / "numbers").mkdir()
    for part in range(2):
        numbers = pa.table({"id": pa.array(range(4 * part, 4 * part + 4), pa.int64())})
        pq.write_table(numbers, tmp_path / "numbers" / f"part-{part}.parquet")
    return tmp_path


def going(folder: Path, so_many: int = 1) -> list[int]:
    """The Python workers of Spark that are in the middle of their work."""
    found: list[Path] = until(lambda: len(there := sorted(folder.glob("going-*"))) >= so_many and there)
    return [int(one.name.removeprefix("going-")) for one in found]


def go_on(folder: Path) -> None:
    (folder / "go").touch()


def written(folder: Path) -> dict[int, int]:
    rows = pq.read_table(folder / "out").to_pylist()
    assert len(rows) == len(CLEAN), rows
    return {row["id"]: row["judged"] for row in rows}


def recorded(store: Store, dag_run: str) -> list[Any]:
    """The runs of a DAG run, the first first."""
    return sorted((one for one in store.runs("judged", 1_000) if (one.airflow or {}).get("run_id") == dag_run), key=lambda one: one.id)


def check_clean(store: Store, airflow: Standing, before: list[str], made: list[Any]) -> None:
    """What runs that are complete stored is there, answers, and nothing else is: no table, session, lock or process."""
    until(lambda: not airflow.processes())
    until(lambda: not sessions(store))
    names = {one.table.split(".", 1)[1].strip('"') for run in made for one in store.materializations(run.id).values()}
    assert set(tables(store)) == {*before, *names}
    with Lineage(store=store) as lineage:
        for run in made:
            found = lineage.get_run(run.id).explain("id = 7", save=False)
            assert [row["id"] for row in found.sources["numbers"].rows.to_pylist()] == [7]
            (reasons,) = found.reasons.values()
            assert len(reasons.rows) == 1
            assert found.guarantee.level == "exact"


def sessions(store: Store) -> list[tuple[object, ...]]:
    """Those of runs, which hold locks, and those that are in the middle of something."""
    return sql(
        store.url,
        "SELECT pid, application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND (application_name LIKE 'lineage-%' OR state LIKE 'idle in transaction%')",
    )


def test_a_task_that_is_cleared_while_it_runs(airflow: Standing, store: Store, folder: Path) -> None:
    before = tables(store)
    airflow.trigger("judged", "cleared", folder=str(folder))
    (first,) = going(folder)
    airflow.asked(
        "POST", "/dags/judged/clearTaskInstances",
        {"dry_run": False, "dag_run_id": "cleared", "task_ids": ["judge"], "only_failed": False},
    )  # fmt: skip
    check_begun_anew(airflow, store, folder, "cleared", first, before)


def test_a_task_whose_process_is_killed(airflow: Standing, store: Store, folder: Path) -> None:
    import psutil

    before = tables(store)
    airflow.trigger("judged", "killed", folder=str(folder))
    (worker,) = going(folder)
    above = psutil.Process(worker).parents()
    driver = next(above[at + 1] for at, one in enumerate(above) if one.name() == "java")
    driver.send_signal(signal.SIGKILL)
    check_begun_anew(airflow, store, folder, "killed", worker, before)


def check_begun_anew(airflow: Standing, store: Store, folder: Path, dag_run: str, first: int, before: list[str]) -> None:
    """Another worker than the first has begun, and ends well; what the first did is a failed run, and nothing else is left of it."""
    until(lambda: [worker for worker in going(folder) if worker != first])
    go_on(folder)
    assert airflow.ended("judged", dag_run) == "success"
    ended, complete = recorded(store, dag_run)
    assert (ended.status, complete.status) == ("failed", "complete"), ended.error
    assert written(folder) == CLEAN
    check_clean(store, airflow, before, [complete])


def test_two_runs_of_one_dag_at_once(airflow: Standing, store: Store, folder: Path) -> None:
    before = tables(store)
    for name in ("one", "other"):
        airflow.trigger("judged", name, folder=str(folder))
    going(folder, 2)
    go_on(folder)
    assert [airflow.ended("judged", name) for name in ("one", "other")] == ["success", "success"]
    made = [*recorded(store, "one"), *recorded(store, "other")]
    assert [run.status for run in made] == ["complete", "complete"]
    assert {type(output.version).__name__ for run in made if (output := store.run(run.id).output)} == {"FilesVersion"}
    assert written(folder) == CLEAN
    check_clean(store, airflow, before, made)


def test_many_in_a_row(airflow: Standing, store: Store, folder: Path, lineage_home: Path) -> None:
    """Catalogs, files and memory after each run: what there was after the first, and what runs have recorded."""
    before = tables(store)
    sizes, files, memory = [], [], dict[str, list[int]]()
    for number in range(MANY):
        airflow.trigger("judged", f"row-{number}", folder=str(folder), wait=False)
        assert airflow.ended("judged", f"row-{number}") == "success"
        until(lambda: not airflow.processes())
        (run,) = recorded(store, f"row-{number}")
        look_at(airflow, run.id)
        until(lambda: not sessions(store))
        sizes.append(catalog(store))
        files.append(files_of(airflow, lineage_home))
        for part, pid in {"api-server": airflow.pids["api-server"], "PostgreSQL": server_of(lineage_home)}.items():
            memory.setdefault(part, []).append(memory_of(pid))
    made = [run for number in range(MANY) for run in recorded(store, f"row-{number}")]
    assert len(made) == MANY
    grown = {tuple(after - earlier for earlier, after in zip(*one, strict=True)) for one in itertools.pairwise(sizes)}
    assert len(grown) == 1, "each run adds as much as the one before"
    assert {number: left for number, found in enumerate(files) if (left := found - files[0])} == {}, "files that a run has left"
    check_clean(store, airflow, before, made)
    with Lineage(store=store) as lineage:
        for run in made:
            lineage.drop(run.id)
    assert tables(store) == before
    assert orphans(store, lineage_home / "postgres") == set(), "files of tables that are gone"
    if MANY >= 20:  # (fewer tell nothing about memory)
        told = {part: growth(of_part) for part, of_part in memory.items()}
        assert {part: line for part, line in told.items() if line[0] - 2 * line[1] > MEMORY} == {}, memory


def look_at(airflow: Standing, run_id: str) -> None:
    """Have the API server answer what the tab asks about a run."""

    def asked(part: str, **asked: Any) -> Any:
        return airflow.asked("POST" if asked else "GET", f"/runs/{run_id}{part}", asked or None, "/lineage/api/v1")

    assert asked("")["run"]["rows"] == len(CLEAN)
    assert len(asked("/rows", where="id = 7")["rows"]) == 1
    assert len(asked("/explanation", where="id = 7")["document"]["target"]["rows"]) == 1


def files_of(airflow: Standing, home: Path) -> set[str]:
    """The files of Airflow and its tasks, temporary ones among them, and those of the store, but for logs and databases."""
    return files_below([airflow.home, home], but=("logs", "*.log", "airflow.db*", "postgres"))


def server_of(home: Path) -> int:
    """The process of the store's server."""
    return int((home / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def catalog(store: Store) -> tuple[int, ...]:
    """Rows of the catalog's tables that runs add to, and tables of stored rows."""
    names = ("runs", "materializations", "loads", "outputs")
    counts = [store.query(f"SELECT count(*) AS n FROM lineage.{name}").to_pylist()[0]["n"] for name in names]
    return (*counts, len(tables(store)))
