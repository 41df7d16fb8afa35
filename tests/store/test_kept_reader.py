"""Connections that are kept for statements that are asked often."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import StoreError, StoreUnavailable
from airflow_lineage_provider.store import Store
from airflow_lineage_provider.store.connection import Connector
from airflow_lineage_provider.store.kept_reader import KeptReader, Statement
from tests.store.conftest import sql
from tests.store.test_forks import in_a_child

SUM = Statement("asked_sum", "SELECT $1 + x, pg_backend_pid() FROM unnest($2) AS x ORDER BY x", ("int", "int[]"))
NO_TABLE = Statement("no_table", "SELECT $1 FROM no_such_table", ("int",))
OTHER = Statement("asked_text", "SELECT $1", ("text",))


@pytest.fixture
def reader(store: Store) -> Iterator[KeptReader]:
    made = KeptReader(Connector(store.url))
    yield made
    made.close()


def sums(reader: KeptReader) -> list[int]:
    return [found for found, _ in reader.rows(SUM, [5, [2, 1]])]


def backend(reader: KeptReader) -> int:
    return int(reader.rows(SUM, [0, [0]])[0][1])


def test_one_connection_answers_one_after_the_other(reader: KeptReader) -> None:
    assert sums(reader) == [6, 7]
    first = backend(reader)
    assert reader.rows(OTHER, ["100 %s; \\ 'ü'"]) == [("100 %s; \\ 'ü'",)]
    assert backend(reader) == first


def test_a_lost_connection_is_another_one(store: Store, reader: KeptReader) -> None:
    first = backend(reader)
    sql(store.url, f"SELECT pg_terminate_backend({first}, 5000)")
    assert sums(reader) == [6, 7]
    assert backend(reader) != first


def test_what_is_refused_is_not_asked_twice_and_keeps_no_connection(store: Store, reader: KeptReader) -> None:
    first = backend(reader)
    for statement in (NO_TABLE, Statement("divides", "SELECT 1 / $1", ("int",))):
        with pytest.raises(Exception, match=r"no_such_table|division"):
            reader.rows(statement, [0])
    assert backend(reader) != first
    count = "SELECT count(*) FROM pg_stat_activity WHERE pid = {}"
    assert int(str(sql(store.url, count.format(first))[0][0])) == 0


def test_it_only_reads(reader: KeptReader) -> None:
    with pytest.raises(Exception, match="read-only"):
        reader.rows(Statement("counts", "SELECT $1 + nextval('lineage.array_relations_id_seq')", ("int",)), [1])


def test_threads_have_their_own_and_some_stay(reader: KeptReader) -> None:
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.extend(sums(reader) for _ in range(10))) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [[6, 7]] * 80
    assert len(reader._idle) <= 6


def test_a_forked_child_has_its_own(reader: KeptReader) -> None:
    first = backend(reader)

    def work() -> None:
        assert backend(reader) != first
        reader.close()

    in_a_child(work)
    assert backend(reader) == first


def test_a_store_tells_what_it_did_and_closes_them(store: Store) -> None:
    lineage = Lineage(store=store.url)
    lineage.arrays.array("A", (2,))
    assert len(lineage.store._reader._idle) == 1
    with pytest.raises(StoreError, match=r"the results store refused, reading arrays in postgresql://.*no_such_table"):
        lineage.store._asked_often("reading arrays", NO_TABLE, [1])
    lineage.arrays.prov_query(["A"], 0)
    reader = lineage.store._reader
    lineage.close()
    assert reader._idle == []
    gone = Store("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(StoreUnavailable, match="does not answer, reading arrays in"):
        gone._asked_often("reading arrays", OTHER, ["x"])


def test_questions_go_on_when_the_server_ends_their_connection(store: Store) -> None:
    with Lineage(store=store.url) as lineage:
        lineage.arrays.array("A", (2,))
        assert lineage.arrays.prov_query(["A"], 0).count == 1
        ours: Any = "pid <> pg_backend_pid() AND application_name = 'airflow-lineage'"
        sql(store.url, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {ours}")
        assert lineage.arrays.prov_query(["A"], 1).count == 1
