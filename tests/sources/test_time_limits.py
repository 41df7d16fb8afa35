"""Looks through files end in time, and so do those who wait for another's."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_lineage_provider.deriving import stored_files
from airflow_lineage_provider.errors import QueryTooSlow
from airflow_lineage_provider.plan.lineage_keys import ROW
from airflow_lineage_provider.sources.duckdb_query import fetched
from airflow_lineage_provider.sources.kept import Kept
from airflow_lineage_provider.sources.time_limits import NO_LIMIT, TimeLimit
from airflow_lineage_provider.store import Column, Materialization
from airflow_lineage_provider.store.layout import make_layout
from airflow_lineage_provider.store.materialization import ExecutorUrls
from airflow_lineage_provider.store.read import Order

ROWS = 2_000_000
SLOW = "SELECT count(*) AS n FROM range(40000) a, range(40000) b WHERE (a.range * b.range) % 7 = 3"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Materialization:
    """A result of many rows in a file, as a run writes it."""
    path = tmp_path_factory.mktemp("large") / "part-00000-of-tests.parquet"
    numbers = np.arange(ROWS)
    pq.write_table(pa.table({"c0": numbers * 7919 % ROWS, "c1": numbers}), path, row_group_size=200_000)
    return Materialization(
        1, "01a", "result", "result", "t", make_layout([Column("n", "bigint"), Column(ROW, "bigint", "row")]), ExecutorUrls("", ""),
        folder=path.parent.as_uri(), files={path.name: path.stat().st_size},
    )  # fmt: skip


def look(stored: Materialization, within: TimeLimit) -> list[int]:
    return list(stored_files.matching(stored, [ROW, "n"], "n % 3 = 1", 3, [Order("n", True)], within=within))


@pytest.mark.long
def test_a_look_through_many_rows_is_ended(large: Materialization) -> None:
    threads = threading.active_count()
    with pytest.raises(QueryTooSlow, match="was ended after 0"):
        look(large, TimeLimit.of(0.02))
    assert threading.active_count() == threads
    numbers = np.arange(ROWS) * 7919 % ROWS
    expected = sorted(np.flatnonzero(numbers % 3 == 1), key=lambda at: -numbers[at])[:3]
    assert look(large, NO_LIMIT) == look(large, TimeLimit.of(60)) == expected


@pytest.mark.parametrize("few", [True, False])
def test_rows_by_their_numbers_are_ended(large: Materialization, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not few:
        monkeypatch.setattr(stored_files, "FEW_ROWS", 0)
    with pytest.raises(QueryTooSlow):
        stored_files.rows(large, ["n"], [5, 1_999_999], TimeLimit.of(0))
    with pytest.raises(QueryTooSlow):
        stored_files.first(large, ["n"], None, TimeLimit.of(0))
    assert stored_files.rows(large, ["n"], [5], TimeLimit.of(60)).to_pydict() == {"n": [5 * 7919]}


@pytest.mark.parametrize("seconds", [0, 0.0001, 0.2])
def test_a_query_is_ended_whenever_its_time_is_over(seconds: float) -> None:
    """An interruption that comes between two statements ends none of them."""
    views = {f"v{at}": "SELECT 1 AS a" for at in range(20)}
    started = time.monotonic()
    with pytest.raises(QueryTooSlow):
        fetched(SLOW, views=views, tables={}, paths=(), seconds=seconds)
    assert time.monotonic() - started < 5


@dataclass(frozen=True)
class Some:
    nbytes: int = 1


def test_who_waits_for_anothers_look_waits_no_longer_than_their_own_time() -> None:
    kept: Kept[Some] = Kept(100)
    begun, end = threading.Event(), threading.Event()

    def slow() -> Some:
        begun.set()
        end.wait(30)
        return Some(7)

    first = threading.Thread(target=lambda: kept.found("key", slow))
    first.start()
    assert begun.wait(10)
    with pytest.raises(QueryTooSlow):
        kept.found("key", Some, TimeLimit.of(0.05))
    end.set()
    first.join()
    assert kept.found("key", Some, TimeLimit.of(0.05)) == Some(7)


def test_who_is_ended_ends_nobody_elses_look() -> None:
    """The time of the first who asks is not that of the next."""
    kept: Kept[Some] = Kept(100)
    begun, end = threading.Event(), threading.Event()

    def ended() -> Some:
        begun.set()
        end.wait(30)
        raise QueryTooSlow("ended")

    def failing() -> None:
        with pytest.raises(QueryTooSlow):
            kept.found("key", ended)

    first = threading.Thread(target=failing)
    first.start()
    assert begun.wait(10)
    found: list[Some] = []
    second = threading.Thread(target=lambda: found.append(kept.found("key", lambda: Some(8), TimeLimit.of(30))))
    second.start()
    end.set()
    first.join()
    second.join()
    assert found == [Some(8)]
