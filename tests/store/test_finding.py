"""Runs and derivations by what people write for an id: nothing is found by an empty one, and nothing is dropped by half of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_lineage_provider import Lineage
from airflow_lineage_provider.errors import AmbiguousRun, DerivationNotFound, RunNotFound, StoreError
from airflow_lineage_provider.store import RunRecord, Store
from airflow_lineage_provider.store import store as store_module

NO_IDS: list[Any] = ["", " ", "\n", "None", "a\x00b", "\ud800", "%", "_", "x" * 1_000_000, None, 7, b"findme-a1"]


@pytest.fixture(scope="module")
def two(store: Store) -> Iterator[Lineage]:
    """Two complete runs, of pipelines of their own."""
    for run_id, pipeline in (("findme-a1", "first finding"), ("findme-a2", "second finding"), ("findme-b", "second finding")):
        store.begin_run(RunRecord(id=run_id, pipeline=pipeline))
        store.publish_run(run_id)
    yield Lineage(store=store)
    for run_id in ("findme-a1", "findme-a2", "findme-b"):
        store.drop_run(run_id)


def test_a_run_by_its_id_or_an_unambiguous_beginning(two: Lineage) -> None:
    assert two.get_run("findme-a1").id == "findme-a1"
    assert two.get_run("findme-b").id == two.get_run("findme-b", "second finding").id == "findme-b"
    assert two.get_run("findme-a", "first finding").id == "findme-a1"
    assert two.latest("second finding").id == "findme-b"


def test_an_ambiguous_beginning_is_told_as_such(two: Lineage) -> None:
    with pytest.raises(AmbiguousRun, match="'findme-' is the beginning of several runs' ids: findme-a1, findme-a2, findme-b; write more"):
        two.get_run("findme-")


def test_a_run_of_another_pipeline_is_not_taken(two: Lineage) -> None:
    with pytest.raises(RunNotFound, match="run findme-a1 is one of pipeline 'first finding', not of 'second finding'"):
        two.get_run("findme-a1", "second finding")
    with pytest.raises(RunNotFound, match="no complete run"):
        two.latest("third finding")


@pytest.mark.parametrize("run_id", NO_IDS, ids=lambda one: repr(one)[:12])
def test_what_is_no_id_finds_nothing(two: Lineage, run_id: Any) -> None:
    for ask in (two.get_run, two.drop, two.store.run, two.store.drop_run):
        with pytest.raises(RunNotFound) as found:
            ask(run_id)
        assert len(str(found.value)) < 400
    with pytest.raises(DerivationNotFound) as none:
        two.derivation(run_id)
    assert len(str(none.value)) < 400


@pytest.mark.parametrize("run_id", ["latest", "findme-a", "findme-", "findme-a1 "])
def test_drop_takes_a_whole_id_alone(two: Lineage, run_id: str) -> None:
    with pytest.raises(RunNotFound):
        two.drop(run_id)
    assert {two.get_run(one).summary.status for one in ("findme-a1", "findme-a2", "findme-b")} == {"complete"}


def test_drop_says_which_run_is_meant(two: Lineage) -> None:
    with pytest.raises(RunNotFound, match="'findme-a' is only the beginning of run findme-a1: here the whole id is needed"):
        two.get_run("findme-a", "first finding", whole=True)


def test_one_row_is_read_to_find_a_run(two: Lineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module.Store, "runs", lambda *_: pytest.fail("the runs were listed"))
    assert two.get_run("findme-b").id == "findme-b"
    assert two.latest().summary.status == "complete"


@pytest.mark.parametrize("url", ["", "  "])
def test_an_empty_store_is_not_the_default_store(url: str) -> None:
    with pytest.raises(StoreError, match="empty"):
        Lineage(store=url)
