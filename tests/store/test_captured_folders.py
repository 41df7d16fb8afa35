"""Captured lineage in files: written before its run tells of it, read as it was written or not at all, and gone with its run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sa

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.capture import writing
from airflow_lineage_provider.capture.csr import Edges, csr
from airflow_lineage_provider.capture.parts import Parts
from airflow_lineage_provider.capture.recorded import RecordedIndex
from airflow_lineage_provider.capture.rids import counted
from airflow_lineage_provider.capture.writing import BuiltIndex, Writer
from airflow_lineage_provider.deriving import captured_parts, index_files
from airflow_lineage_provider.deriving.captured_parts import looked_up
from airflow_lineage_provider.deriving.spark_on_demand import SparkOnDemand
from airflow_lineage_provider.errors import IndexReplaced, LoadFailed, RecordDamaged, RunNotComplete, SparkRequired, StoreNotPermitted
from airflow_lineage_provider.kept_index import keep
from airflow_lineage_provider.store import Column, RunRecord, Store, home_rows, migrate, schema
from airflow_lineage_provider.store.connection import Connector, make_engine
from airflow_lineage_provider.tracing.maps import Rows, RowSet
from airflow_lineage_provider.tracing.reserved import TAG
from tests.new_process import ROOT
from tests.store.conftest import Granted, sql

ROWS, OTHERS = 7, 30
EDGES = {(row, (row * 11 + at) % OTHERS) for row in range(ROWS) for at in range(3)}
OTHER_EDGES = {(row, row) for row in range(ROWS)}


def built(pairs: set[tuple[int, int]] = EDGES, most: int = 0) -> BuiltIndex:
    """Pairs of rows of a result and of a source, as an index both ways."""
    writer, edges = Writer(parts=Parts(most)), csr(Edges(*np.array(sorted(pairs), np.int64).T), ROWS, OTHERS)
    for side, rows in ((("segment", 0), ROWS), (("source", 1), OTHERS)):
        counts = ("numbered", [(0, rows)])
        writer.add_space(side, counted(*counts), counts)  # type: ignore[arg-type]
    writer.add_map(("segment", 0), ("source", 1), "backward", edges, OTHERS)
    writer.add_map(("segment", 0), ("source", 1), "forward", edges.inverse(OTHERS), ROWS)
    return writer.recorded(datetime.now(UTC), 0.5, "test", {("segment", 0): set()}, {})


def asked(store: Store, run: str, index: RecordedIndex) -> set[tuple[int, int]]:
    """All pairs, as a process finds them that has asked nothing yet; both ways, which must agree."""
    captured_parts._parts._kept.clear()
    with store.session() as session:
        of: Any = SimpleNamespace(
            record=SimpleNamespace(id=run, captured=index),
            session=session,
            subqueries="partners",
            difference="data",
            recorded=SimpleNamespace(plan=None),
            on_demand=SparkOnDemand(),
        )
        lineage = looked_up(of)
        assert lineage is not None
        found = lineage.step(0, pa.table({TAG: [*range(ROWS)], "key_0": [*range(ROWS)]}))
        rows = Rows(of=RowSet("source", (1,)), keys=pa.table({TAG: [*range(OTHERS)], "key_0": [*range(OTHERS)]}))
        down = lineage.descendants(rows, RowSet("segment", (0,)))
    assert found is not None
    assert down is not None
    behind, forward = (set(zip(*(one.to_pylist() for one in table.columns), strict=True)) for table in (found[0].sources[1], down[0]))
    assert behind == {(row, rid) for rid, row in forward}
    return behind


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place in which all indexes go, in parts of two rows, and a folder for what is cached."""
    monkeypatch.setattr(writing, "ROWS_OF_A_PART", 2)
    monkeypatch.setenv("AIRFLOW_LINEAGE_INDEX_BYTES", "0")
    monkeypatch.setenv("AIRFLOW_LINEAGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "place"


@pytest.fixture
def lineage(store: Store, place: Path) -> Iterator[Lineage]:
    with Lineage(store=store, data=f"file:{place}") as opened:
        yield opened


@pytest.fixture
def run(store: Store, begin: Callable[[], str]) -> str:
    made = begin()
    store.publish_run(made)
    return made


def file_of(place: Path, run: str) -> Path:
    (folder,) = (place / run).iterdir()
    return folder / index_files.FILE


def in_store(store: Store, run: str) -> list[tuple[bool, int]]:
    """Of each part whether its content is in the store, and the bytes that it takes elsewhere."""
    found = sql(store.tcp_url, f"SELECT content IS NOT NULL, coalesce(length, 0) FROM lineage.captured_parts WHERE run_id = '{run}'")
    return [(bool(one), int(str(size))) for one, size in found]


def test_an_index_in_a_file_answers_as_one_in_the_store(store: Store, lineage: Lineage, place: Path, run: str, tmp_path: Path) -> None:
    before, made = store.size(), built()
    index = keep(lineage, run, made)
    assert index == store.run(run).captured == replace(made.index, in_files=True)
    path, total = file_of(place, run), made.parts.total
    assert path.parent.name == f"captured-{index.id}"
    assert path.read_bytes() == b"".join(content for *_, content in made.parts)
    kept = in_store(store, run)
    assert len(kept) == len(made.parts.places) > 10, "in many parts"
    assert not any(there for there, _ in kept)
    assert sum(size for _, size in kept) == total == path.stat().st_size
    assert 0 <= store.size() - before - total < 1 << 20
    assert asked(store, run, index) == EDGES
    cached = [*(tmp_path / "cache" / "parts" / index.id).iterdir()]
    assert len(cached) == len(kept)
    # What is cached on this host needs the file no more, and is made again where it is damaged.
    path.rename(tmp_path / "away")
    assert asked(store, run, index) == EDGES
    cached[3].write_bytes(b"")
    with pytest.raises(RecordDamaged, match=rf"the captured lineage of run {run} in file:.*/indexes is gone: restore it, capture the"):
        asked(store, run, index)
    (tmp_path / "away").rename(path)
    assert asked(store, run, index) == EDGES
    assert cached[3].stat().st_size
    # Without a cache, and through one that cannot be.
    for name, value in (("AIRFLOW_LINEAGE_CACHE", str(path / "none")), ("AIRFLOW_LINEAGE_CACHE_BYTES", "0")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, value)
            assert asked(store, run, index) == EDGES


def test_a_damaged_file_is_an_error_and_never_a_shorter_answer(
    store: Store, lineage: Lineage, place: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_LINEAGE_CACHE_BYTES", "0")
    index, path = keep(lineage, run, built()), file_of(place, run)
    whole = path.read_bytes()
    half = len(whole) // 2
    other = b"".join(content for *_, content in built({(row, 29 - rid) for row, rid in EDGES}).parts)
    flipped = whole[:half] + bytes([whole[half] ^ 4]) + whole[half + 1 :]
    others, size = (other + whole)[: len(whole)], "bytes, and"
    for damaged, told in (
        (whole[:-1], size), (whole + b"x", size), (flipped, "is damaged, in part"), (others, "is damaged"), (None, "cannot be read")
    ):  # fmt: skip
        path.unlink()
        if damaged is None:
            path.mkdir()
        else:
            path.write_bytes(damaged)
        with pytest.raises(RecordDamaged, match=rf"the captured lineage of run {run} in file:.*/indexes .*{told}"):
            asked(store, run, index)
        if damaged is None:
            path.rmdir()
        path.write_bytes(whole)
        assert asked(store, run, index) == EDGES
    sql(store.tcp_url, f"DELETE FROM lineage.captured_folders WHERE run_id = '{run}'")
    with pytest.raises(RecordDamaged, match="part 0 of captured lineage is gone"):
        asked(store, run, index)


def test_who_may_only_read_reads_it(granted: Granted, place: Path) -> None:
    with Store.open(granted.url) as owner, Lineage(store=owner, data=f"file:{place}") as lineage:
        run = owner.begin_run(RunRecord(pipeline="p"))
        owner.publish_run(run)
        index = keep(lineage, run, built())
    with Store.open(granted.user("lineage_reader")) as reader, Lineage(store=reader, data=f"file:{place}") as lineage:
        assert asked(reader, run, index) == EDGES
        with pytest.raises(StoreNotPermitted):
            keep(lineage, run, built(OTHER_EDGES))
        assert asked(reader, run, index) == EDGES
        assert len([*(place / run).iterdir()]) == 1, "nothing was written before"


def test_a_file_lives_as_long_as_what_it_is_of(
    store: Store, lineage: Lineage, place: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = keep(lineage, run, built())
    one = file_of(place, run)
    second = keep(lineage, run, built(OTHER_EDGES))
    assert file_of(place, run) != one
    assert asked(store, run, second) == OTHER_EDGES
    shutil.rmtree(Path(os.environ["AIRFLOW_LINEAGE_CACHE"]))
    with pytest.raises(IndexReplaced, match="captured anew"):
        asked(store, run, first)
    # Captured anew between the store's answer and the file's.
    read = index_files.contents

    def late(*given: Any) -> Any:
        monkeypatch.setattr(captured_parts, "contents", read)
        keep(lineage, run, built())
        return read(*given)

    monkeypatch.setattr(captured_parts, "contents", late)
    with pytest.raises(IndexReplaced, match="captured anew"):
        asked(store, run, second)
    # A small one goes into the store, as do those of a place that nobody knows without Spark; what stood in a file is removed.
    monkeypatch.setenv("AIRFLOW_LINEAGE_INDEX_BYTES", "100000")
    for unknown in (False, True):
        if unknown:
            monkeypatch.setenv("AIRFLOW_LINEAGE_INDEX_BYTES", "0")
        with Lineage(store=store, data=f"{place}" if unknown else f"file:{place}") as other:
            index = keep(other, run, built())
        assert not index.in_files
        assert all(there for there, _ in in_store(store, run))
        assert asked(store, run, index) == EDGES
        assert not (place / run).exists()
        assert keep(lineage, run, built()).in_files
    store.drop_captured(run)
    assert store.run(run).captured is None
    assert not (place / run).exists()
    keep(lineage, run, built())
    store.save_captured(run, RecordedIndex.begun(), [])
    assert not (place / run).exists()
    keep(lineage, run, built())
    lineage.drop(run)
    assert not (place / run).exists()
    assert not [folder for folder, of in store.discarded_folders() if of == run]


def test_what_no_run_tells_of_is_removed(store: Store, lineage: Lineage, place: Path, run: str) -> None:
    """A process that ends before it has published leaves a folder that goes a day later, and none that is published ever does."""
    made = built()
    folder = index_files.folder_of(f"file:{place}", run, made.index.id)
    store.lease_folder(run, folder)
    index_files.write(folder, made.parts, None)
    Store.open(store.url).close()
    assert file_of(place, run).exists()
    assert folder not in dict(store.discarded_folders()), "its time has not come"
    late = f"UPDATE lineage.discarded_folders SET discarded = now() - interval '1 s' WHERE folder = '{folder}' AND discarded > now()"
    sql(store.tcp_url, late)
    Store.open(store.url).close()
    assert not (place / run).exists()
    index = replace(made.index, in_files=True)
    with pytest.raises(LoadFailed, match=f"the captured lineage of run {run} was written to {folder}, which was given up meanwhile"):
        store.save_captured_in(folder, run, index, made.parts.places, made.parts.total)
    assert store.run(run).captured is None
    # Asked twice, as when an answer of the store's is lost.
    store.lease_folder(run, folder)
    store.lease_folder(run, folder)
    index_files.write(folder, made.parts, None)
    for _ in range(2):
        store.save_captured_in(folder, run, index, made.parts.places, made.parts.total)
        store.give_up_folder(folder)
    sql(store.tcp_url, late)
    Store.open(store.url).close()
    assert asked(store, run, index) == EDGES


KILLED = """
import os, signal, sys
from airflow_lineage_provider import Lineage
from airflow_lineage_provider.deriving import index_files
from airflow_lineage_provider.kept_index import keep
from airflow_lineage_provider.store import Store
from tests.store.test_captured_folders import OTHER_EDGES, built

url, place, run, when = sys.argv[1:]
store = Store.open(url)

def killed(*given):
    if when == "written":
        write(*given)
    os.kill(os.getpid(), signal.SIGKILL)

write, index_files.write = index_files.write, killed
with Lineage(store=store, data=f"file:{place}") as lineage:
    keep(lineage, run, built(OTHER_EDGES))
"""


@pytest.mark.processes
def test_a_driver_that_is_killed_leaves_what_was_captured_before(store: Store, lineage: Lineage, place: Path, run: str) -> None:
    index = keep(lineage, run, built())
    before = file_of(place, run)
    leased = f"UPDATE lineage.discarded_folders SET discarded = now() - interval '1 s' WHERE run_id = '{run}' AND discarded > now()"
    for when, folders in (("leased", 1), ("written", 2)):
        command = [sys.executable, "-W", "ignore", "-c", KILLED, store.tcp_url, str(place), run, when]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert len([*(place / run).iterdir()]) == folders
        assert store.run(run).captured == index
        assert asked(store, run, index) == EDGES
        sql(store.tcp_url, leased)
        Store.open(store.url).close()
        assert [*(place / run).iterdir()] == [before.parent]
    assert asked(store, run, keep(lineage, run, built(OTHER_EDGES))) == OTHER_EDGES


def test_what_cannot_be_written_or_kept_leaves_what_was(
    store: Store, lineage: Lineage, place: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = keep(lineage, run, built())
    with Lineage(store=store, data=f"file:{file_of(place, run)}/below") as other, pytest.raises(LoadFailed, match="cannot be written to"):
        keep(other, run, built(OTHER_EDGES))
    assert store.run(run).captured == index
    assert asked(store, run, index) == EDGES
    write = index_files.write

    def dropped(*given: Any) -> None:
        write(*given)
        store.drop_run(run)

    monkeypatch.setattr(index_files, "write", dropped)
    with pytest.raises(RunNotComplete, match=f"run {run} is dropped"):
        keep(lineage, run, built(OTHER_EDGES))
    assert not (place / run).exists()
    with pytest.raises(RunNotComplete, match="is dropped"):
        keep(lineage, run, built())


def test_a_path_is_one_of_this_machine_where_rows_of_the_run_stand(store: Store, place: Path) -> None:
    run = store.begin_run(RunRecord(pipeline="files"))
    stored = store.create_materialization(run, "result", "result", [Column("a", "int")], folder=f"file:{place}/{run}/result")
    store.enter_files(stored, {}, {})
    store.publish_run(run)
    with Lineage(store=store, data=str(place)) as lineage:
        index = keep(lineage, run, built())
    assert index.in_files
    assert asked(store, run, index) == EDGES
    store.drop_run(run)
    assert not (place / run).exists()


def test_what_spark_alone_reaches_is_told_without_it(store: Store, lineage: Lineage, place: Path, run: str) -> None:
    index = keep(lineage, run, built())
    asked(store, run, index)
    sql(store.tcp_url, f"UPDATE lineage.captured_folders SET folder = replace(folder, 'file:', 's3a:/') WHERE run_id = '{run}'")
    assert asked(store, run, index) == EDGES, "this host has it"
    shutil.rmtree(Path(os.environ["AIRFLOW_LINEAGE_CACHE"]))
    with pytest.raises(SparkRequired, match=r"in s3a:/.*/indexes is read through Spark, and there is no session"):
        asked(store, run, index)


def test_a_home_that_was_moved_and_a_store_that_goes_back(empty_url: str, place: Path) -> None:
    from alembic import command

    engine = make_engine(Connector(empty_url))
    with Store.open(empty_url) as store, Lineage(store=store, data=f"file:{place / home_rows.FOLDER}") as lineage:
        runs = [store.begin_run(RunRecord(pipeline="p")) for _ in range(2)]
        for one in runs:
            store.publish_run(one)
        index = keep(lineage, runs[0], built())
        place.rename(place.with_name("moved"))
        home_rows.follow(engine, place.with_name("moved"))
        assert asked(store, runs[0], index) == EDGES
        store.save_captured(runs[1], built().index, built().parts)
    (folder,) = (place.with_name("moved") / home_rows.FOLDER / runs[0]).iterdir()
    with engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0023")
        found = connection.execute(sa.text("SELECT id FROM lineage.runs WHERE captured IS NOT NULL")).scalars().all()
        assert found == [runs[1]]
        assert connection.execute(sa.text("SELECT folder FROM lineage.discarded_folders")).scalars().all() == [f"file:{folder}"]
        assert {*connection.execute(sa.text("SELECT run_id FROM lineage.captured_parts")).scalars()} == {runs[1]}
        command.upgrade(config, schema.HEAD)
    engine.dispose()
    with Store.open(empty_url) as store:
        assert not folder.exists()
        kept = store.run(runs[1]).captured
        assert kept is not None
        assert asked(store, runs[1], kept) == EDGES
