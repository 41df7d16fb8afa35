"""Staging tables in a user's database: gone at the end, whatever the end is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.records.appends import KnownBy
from airflow_lineage_provider.store import Column, ResultTable
from airflow_lineage_provider.store.appended_rows import undo_append
from airflow_lineage_provider.store.note import Note
from tests.store.conftest import sql

COLUMNS = [Column("a", "int")]
BATCH = pa.record_batch({"a": pa.array([1, 2], pa.int32())})

WRITER = """
import sys, time
from airflow_lineage_provider.store import Column, ResultTable
with ResultTable.staged(sys.argv[1], "t", [Column("a", "int")], "append") as result:
    print(result.staging, flush=True)
    time.sleep(60)
"""


def staging(url: str) -> list[str]:
    return [str(name) for (name,) in sql(url, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'lineage_staging%'")]


def test_a_killed_writer_s_staging_table_is_dropped_by_the_next(empty_url: str) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, empty_url], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    left = writer.stdout.readline().strip()
    with ResultTable.staged(empty_url, "t", COLUMNS, "append") as result:
        assert sorted(staging(empty_url)) == sorted([left, result.staging]), "a live writer's is left alone"
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    deadline = time.monotonic() + 10
    while sql(empty_url, "SELECT 1 FROM pg_stat_activity WHERE application_name = 'lineage-staging'"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with ResultTable.staged(empty_url, "t", COLUMNS, "append") as result:
        assert staging(empty_url) == [result.staging]
        result.load(0, iter([BATCH]))
        result.publish()
    assert staging(empty_url) == []
    assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_a_writer_that_fails_leaves_nothing(empty_url: str) -> None:
    with pytest.raises(KeyError), ResultTable.staged(empty_url, "t", COLUMNS, "error"):
        raise KeyError
    assert staging(empty_url) == []


def test_a_stranger_s_table_of_such_a_name_stays(empty_url: str) -> None:
    sql(empty_url, "CREATE TABLE lineage_staging_mine (a int)")
    with ResultTable.staged(empty_url, "t", COLUMNS, "error"):
        pass
    assert staging(empty_url) == ["lineage_staging_mine"]


class Noted:
    """A note of an append to table ``t``, and the journal that keeps it."""

    def __init__(self, *replaced: Noted) -> None:
        self.to_replace, self.removed, self.how = replaced, -1, KnownBy()

    def intend(self, places: Sequence[str], how: KnownBy) -> list[Note]:
        self.how = how
        return [one.note() for one in self.to_replace]

    def replaced(self, notes: Iterable[Note], removed: int) -> None:
        self.removed = removed

    def note(
        self, how: KnownBy | None = None, amend: Callable[[KnownBy], None] | None = None, now: Callable[[], KnownBy] | None = None
    ) -> Note:
        return Note("a-run", "t", how or self.how, amend or self.amend, now or (lambda: None))

    def amend(self, how: KnownBy) -> None:
        self.how = how

    def undo(self, url: str) -> int:
        return undo_append(url, "t", self.note(now=lambda: self.how))


def append(url: str, notes: Noted) -> Noted:
    with ResultTable.staged(url, "t", COLUMNS, "append") as result:
        result.load(0, iter([BATCH]))
        result.publish(notes)
    return notes


@pytest.fixture
def appended(empty_url: str) -> Noted:
    """Two rows of a run beside two of somebody else."""
    sql(empty_url, "CREATE TABLE t AS SELECT a FROM (VALUES (8), (9)) v (a)")
    return append(empty_url, Noted())


def test_rows_are_taken_out_once_however_often_it_is_tried(empty_url: str, appended: Noted) -> None:
    before = appended.how

    def dies(_: KnownBy) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        undo_append(empty_url, "t", appended.note(amend=dies))
    assert sql(empty_url, "SELECT count(*) FROM t") == [(4,)], "nothing is taken out that is not noted"
    assert appended.undo(empty_url) == 2
    assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(8,), (9,)]
    assert appended.undo(empty_url) == 0, "who took them out died before that was settled"
    assert undo_append(empty_url, "t", appended.note(before, now=lambda: appended.how)) == 0, "another took them out meanwhile"
    assert undo_append(empty_url, "t", appended.note(before)) == 0, "and has settled it"
    with pytest.raises(LoadFailed, match="of which 0 are as it wrote them"):
        undo_append(empty_url, "t", appended.note(before, now=lambda: before))


def test_rows_are_replaced_in_one_step(empty_url: str, appended: Noted) -> None:
    class Dies(Noted):
        def intend(self, places: Sequence[str], how: KnownBy) -> list[Note]:
            assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (8,), (9,)], "others see the rows of before"
            super().intend(places, how)
            raise KeyError

    with pytest.raises(KeyError):
        append(empty_url, Dies(appended))
    assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (8,), (9,)]
    again = append(empty_url, Noted(appended))
    assert again.removed == 2
    assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (8,), (9,)]
    once_more = append(empty_url, Noted(appended, again))  # who replaced the first died before that was settled
    assert once_more.removed == 2
    assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (8,), (9,)]
    sql(empty_url, "UPDATE t SET a = 7 WHERE a = 1")
    with pytest.raises(LoadFailed, match=r"of which 1 are as it wrote them: nothing is taken out and nothing appended.*drop a-run"):
        append(empty_url, Noted(once_more))
    assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(2,), (7,), (8,), (9,)]


def test_a_try_that_was_rolled_back_is_none(empty_url: str, appended: Noted) -> None:
    (undone,) = sql(empty_url, "SELECT txid_current()")[0]
    sql(empty_url, "BEGIN; SELECT txid_current(); ROLLBACK")
    assert undo_append(empty_url, "t", appended.note(replace(appended.how, undone=int(str(undone)) + 1))) == 2
