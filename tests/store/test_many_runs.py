"""Finding a run reads no other: with 20,000 of them, by the plans that PostgreSQL makes and the pages that it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg2
import pytest

from airflow_lineage_provider.store import RunRecord, Store, adbc, embedded
from airflow_lineage_provider.store.connection import adbc_connect
from airflow_lineage_provider.store.run_list import RunsWanted
from tests.statements import noted
from tests.store.conftest import sql

RUNS = 20_000
# One in five hundred is complete; the others failed, and none is of the pipeline that is looked for.
MANY = f"""
    INSERT INTO lineage.runs (id, pipeline, status, started, finished, strategy, reasons, plan)
    SELECT format('%s-%s', md5(n::text), n), format('pipeline %s', n % 700), CASE WHEN n % 500 = 0 THEN 'complete' ELSE 'failed' END,
        now(), now(), 'rerun', 'lazy', repeat('p', 100) FROM generate_series(1, {RUNS}) AS n"""
# A stream whose plan was changed twice; a few of its batches failed, and three were never recorded.
STREAMED = f"""
    INSERT INTO lineage.plans (digest, plan) VALUES ('d', 'a plan');
    INSERT INTO lineage.runs (id, pipeline, status, started, finished, strategy, reasons, shared_plan, segments)
    SELECT format('s-%s', lpad(n::text, 6, '0')), 'streamed', CASE WHEN n % 5000 = 7 THEN 'failed' ELSE 'complete' END,
        now(), now(), 'rerun', 'lazy', 'd', format('[%s]', repeat(' ', n / 7000))
    FROM generate_series(0, {RUNS - 1}) AS n WHERE n NOT BETWEEN 100 AND 102;
    INSERT INTO lineage.batches (pipeline, query, batch, run_id)
    SELECT 'streamed', 'q', right(id, 6)::bigint, id FROM lineage.runs WHERE pipeline = 'streamed' ORDER BY id"""


# A pipeline that is not run any more, and one that was run 20,000 times since.
STOPPED = f"""
    INSERT INTO lineage.runs (id, pipeline, status, started, finished, strategy, reasons, plan)
    SELECT format('%s-%s', lpad(n::text, 6, '0'), n), CASE WHEN n < {RUNS // 4} THEN 'stopped' ELSE 'going on' END, 'complete',
        now(), now(), 'rerun', 'lazy', repeat('p', 100) FROM generate_series(0, {RUNS + RUNS // 4 - 1}) AS n"""


@pytest.fixture(scope="module")
def crowded(server: embedded.Server) -> Iterator[Store]:
    """A store in which one complete run is older than all others of its pipeline, which failed."""
    sql(server.url, "CREATE DATABASE crowded")
    url = server.url.replace("/lineage?", "/crowded?")
    with Store.open(url) as store:
        store.begin_run(RunRecord(id="00-first", pipeline="wanted"))
        store.publish_run("00-first")
        sql(url, MANY)
        sql(url, "UPDATE lineage.runs SET pipeline = 'wanted' WHERE status = 'failed' AND id > '8'")
        sql(url, "VACUUM ANALYZE lineage.runs")
        yield store


def opened(store: Store) -> None:
    Store.open(store.url).close()


@pytest.mark.parametrize(
    ("ask", "statements"),
    [
        (lambda store: store.latest_run("wanted"), 1),
        (lambda store: store.latest_run(None), 1),
        (lambda store: store.find_run("00-fir"), 4),
        (lambda store: store.find_run("00-", "wanted"), 4),
        (lambda store: store.run("00-first"), 1),
        (lambda store: store.runs("wanted", 3), 1),
        (opened, 7),
    ],
    ids=["latest of a pipeline", "latest", "beginning of an id", "beginning, of a pipeline", "id", "list", "opening"],
)
def test_no_other_run_is_read(crowded: Store, server: embedded.Server, ask: Callable[[Store], object], statements: int) -> None:
    with noted(server, crowded.url) as asked:
        ask(crowded)
    queries = [text for text in asked.texts if "lineage" in text and text.startswith("SELECT")]
    assert 1 <= len(queries) <= statements, asked
    for query in queries:
        plan = explained(crowded.url, query)
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 60, (query, plan)
        assert "Seq Scan" not in [node["Node Type"] for node in nodes(plan) if node.get("Relation Name") == "runs"], (query, plan)


@pytest.mark.parametrize("analyzed", [False, True])
def test_runs_of_a_pipeline_that_stopped_are_found_without_the_newer_ones(server: embedded.Server, own_url: str, analyzed: bool) -> None:
    sql(own_url, "ALTER TABLE lineage.runs SET (autovacuum_enabled = false)")
    sql(own_url, STOPPED)
    sql(own_url, "VACUUM ANALYZE lineage.runs" if analyzed else "VACUUM lineage.runs")
    with Store.open(own_url) as store, noted(server, own_url) as asked:
        newest = store.latest_run("stopped")
        listed = store.runs("stopped", 3)
        found = store.list_runs(RunsWanted(pipeline="stopped", status="complete"), lambda run: True, 3)
    last = [f"{n:06}-{n}" for n in (RUNS // 4 - 1, RUNS // 4 - 2, RUNS // 4 - 3)]
    assert (newest.id, [one.id for one in listed], [one.id for one in found.runs]) == (last[0], last, last)
    queries = [text for text in asked.texts if "lineage.runs" in text and text.startswith("SELECT")]
    assert len(queries) == 3, asked
    for query in queries:
        plan = explained(own_url, query)
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 60, (query, plan)


def test_groups_of_batches_are_found_without_the_batches(server: embedded.Server, own_url: str) -> None:
    sql(own_url, STREAMED)
    sql(own_url, "VACUUM ANALYZE lineage.runs, lineage.batches")
    with Store.open(own_url) as crowded, noted(server, own_url) as asked:
        groups = crowded.batch_groups("streamed")
        not_asked = crowded.batches_not_asked("streamed")
        pages = [crowded.batches_of_group(group, 2_000, 3) for group in groups]
    assert [[one.batch for one in page] for page in pages] == [[2001, 2002, 2003], [7000, 7001, 7002], [14000, 14001, 14002]]
    assert [one.example for one in groups] == ["s-006999", "s-013999", "s-019999"]
    assert list(map(str, not_asked.values())) == ["4 failed (7, 5007, 10007, 15007)", "3 unrecorded (100 to 102)"]
    queries = [text for text in asked.texts if "lineage.batches" in text]
    assert len(queries) == 2 + len(groups), asked
    for query in queries:
        plan = explained(own_url, query)
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 100, (query, plan)
        assert "Seq Scan" not in [node["Node Type"] for node in nodes(plan) if node.get("Relation Name") in ("batches", "runs")], plan


def explained(url: str, query: str) -> dict[str, Any]:
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}")
        found = cursor.fetchone()
    assert found is not None
    plan: dict[str, Any] = (json.loads(found[0]) if isinstance(found[0], str) else found[0])[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


def test_a_connection_does_not_read_the_tables_of_all_runs(crowded: Store, server: embedded.Server) -> None:
    with noted(server, crowded.url) as asked, closing(adbc_connect(crowded.url)):
        pass
    assert not [text for text in asked.texts if "pg_attribute" in text or "pg_type" in text], asked


def test_a_driver_that_does_not_know_the_option_connects_too(crowded: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbc, "_options", {"adbc.postgresql.not_in_this_release": "builtin"})
    for _ in range(2):
        with closing(adbc_connect(crowded.url)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchone() == (1,)
    assert adbc._options == {}
