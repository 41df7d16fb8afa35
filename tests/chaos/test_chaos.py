"""A fixed sample of `make chaos`; and that its checks find what they look for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from airflow_lineage_provider.store import Column, RunRecord, Store
from tests.chaos.checks import problems
from tests.chaos.done import Done
from tests.chaos.plans import BLOWS, Plan, plans
from tests.chaos.rounds import Outcome, play
from tests.chaos.work import OUTPUT, PIPELINE
from tests.chaos.world import World, world

SECONDS = 4.0


@pytest.fixture(scope="module")
def home() -> Iterator[World]:
    with world() as made:
        Store.open().close()
        yield made


@pytest.mark.timeout(300)
def test_a_killed_driver_and_a_killed_server_leave_nothing_behind(home: World) -> None:
    outcome = play(home, Plan(0, "store", 1, ((0.4, "postmaster"), (0.7, "driver")), seed=1), SECONDS)
    assert not outcome.problems, str(outcome)


def test_the_checks_find_what_they_look_for(home: World) -> None:
    assert problems(home, "store") == []
    with Store.open() as store:
        other = store.begin_run(RunRecord(pipeline="in files"))
        folder = home.data / other / "result"
        folder.mkdir(parents=True)
        (folder / "part").write_text("x")
        made = store.create_materialization(other, "result", "result", [Column("x", "bigint")], folder=f"file:{folder}")
        store.enter_files(made, {"part": 2}, {})
        store.publish_run(other)
        run = store.begin_run(RunRecord(pipeline=PIPELINE))
        connection = psycopg2.connect(store.url)
        connection.autocommit = True
        (home.home / "left").touch()
        (home.data / "0" / "result").mkdir(parents=True)
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE lineage_data.orphan (x int)")
            cursor.execute(f"DROP TABLE IF EXISTS {OUTPUT}")
            cursor.execute(f"CREATE TABLE {OUTPUT} (x bigint)")
            cursor.execute("CREATE TABLE public.lineage_staging_1 (x bigint)")
            cursor.execute("SELECT pg_advisory_lock(7)")
        found = "\n".join(problems(home, "store", patience=0.5))
        for text in (
            f"run {run} is running",
            "table orphan belongs to no",
            "the output has",
            "still holds a lock",
            "left was left",
            "data/0 belongs to no complete run",
            f"folder {folder} of a complete run has {{'part': 1}}; its record says {{'part': 2}}",
            "staging_1",
        ):
            assert text in found
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE lineage_data.orphan, {OUTPUT}, public.lineage_staging_1")
        connection.close()
        (home.home / "left").unlink()
        shutil.rmtree(home.data / "0")
        store.fail_run(run, "ended by the test")
        store.drop_run(other)
    assert problems(home, "store") == []


def test_a_seed_gives_the_same_rounds() -> None:
    made = plans(7, 200, tuple(BLOWS), disk=True)
    assert made == plans(7, 200, tuple(BLOWS), disk=True) != plans(8, 200, tuple(BLOWS), disk=True)
    assert made[:50] == plans(7, 50, tuple(BLOWS), disk=True)
    given = {(plan.workload, blow) for plan in made for _, blow in plan.blows}
    assert 0.4 < sum(plan.in_files for plan in made) / sum(plan.workload != "store" for plan in made) < 0.6
    assert given == {(workload, blow) for workload, blows in BLOWS.items() for blow in blows} | {("store", "disk full")}


def test_a_series_goes_on_where_it_was(tmp_path: Path) -> None:
    first, second = plans(7, 2, ("store",))
    done = Done(tmp_path / "series" / "7.txt")
    done.note(Outcome(first, ("driver: process 1",), (0,), ()))
    done.note(Outcome(second, ("driver: process 2",), (-9,), ("a table is left",)))
    again = Done(done.file)
    assert first in again
    assert second not in again
    assert "a table is left" in done.file.read_text()


def test_make_knows_it() -> None:
    assert "tests.chaos" in (Path(__file__).parents[2] / "Makefile").read_text()
