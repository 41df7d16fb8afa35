"""Staging tables in a user's database: gone at the end, whatever the end is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.store import Column, ResultTable
from airflow_lineage_provider.store.result_table import undo_append
from tests.store.conftest import sql

COLUMNS = [Column("a", "int")]
BATCH = pa.record_batch({"a": pa.array([1, 2], pa.int32())})

WRITER = """
import sys, time
from airflow_lineage_provider.errors import LoadFailed
from airflow_lineage_provider.store import Column, ResultTable
from airflow_lineage_provider.store.result_table import undo_append
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


class Noted(dict[str, Any]):
    """A note of an append to table ``t``, as the journal keeps it."""

    def undo(self, url: str, how: Mapping[str, Any] | None = None) -> int:
        return undo_append(url, "t", "a-run", self if how is None else how, self.update, lambda: self)


@pytest.fixture
def appended(empty_url: str) -> Noted:
    """Two rows of a run beside two of somebody else."""
    noted = Noted()
    sql(empty_url, "CREATE TABLE t AS SELECT a FROM (VALUES (8), (9)) v (a)")
    with ResultTable.staged(empty_url, "t", COLUMNS, "append") as result:
        result.load(0, iter([BATCH]))
        result.publish(lambda place, **how: noted.update(how))
    return noted


def test_rows_are_taken_out_once_however_often_it_is_tried(empty_url: str, appended: Noted) -> None:
    before = dict(appended)

    def dies(**_: object) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        undo_append(empty_url, "t", "a-run", appended, dies, lambda: appended)
    assert sql(empty_url, "SELECT count(*) FROM t") == [(4,)], "nothing is taken out that is not noted"
    assert appended.undo(empty_url) == 2
    assert sql(empty_url, "SELECT a FROM t ORDER BY a") == [(8,), (9,)]
    assert appended.undo(empty_url) == 0, "who took them out died before that was settled"
    assert appended.undo(empty_url, before) == 0, "another took them out meanwhile"
    assert undo_append(empty_url, "t", "a-run", before, appended.update, lambda: None) == 0, "and has settled it"
    with pytest.raises(LoadFailed, match="of which 0 are as it wrote them"):
        undo_append(empty_url, "t", "a-run", before, appended.update, lambda: before)


def test_a_try_that_was_rolled_back_is_none(empty_url: str, appended: Noted) -> None:
    (undone,) = sql(empty_url, "SELECT txid_current()")[0]
    sql(empty_url, "BEGIN; SELECT txid_current(); ROLLBACK")
    assert appended.undo(empty_url, {**appended, "undone": int(str(undone)) + 1}) == 2
