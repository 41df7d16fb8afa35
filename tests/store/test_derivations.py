"""Stored answers and reasons."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from airflow_lineage_provider.errors import RunNotComplete, RunNotFound, StoreError
from airflow_lineage_provider.plan.guarantees import Guarantee
from airflow_lineage_provider.records.derivation_sets import ChunkPlace, DerivationSetRecord
from airflow_lineage_provider.store import DerivationRecord, DerivationTable, Store, derivations
from tests.store.conftest import known
from tests.store.strategies import TYPES, build, same


@pytest.fixture
def run(store: Store, begin: Callable[[], str]) -> str:
    made = begin()
    store.publish_run(made)
    return made


@pytest.fixture(params=["at once", "in parts"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How an answer is kept: small ones at once."""
    if request.param == "in parts":
        monkeypatch.setattr(derivations, "is_small", lambda _: False)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_tables_come_back_exactly(store: Store, run: str) -> None:
    every = pa.Table.from_arrays([build([None, None], text) for text in TYPES], names=TYPES).replace_schema_metadata({"k": "v"})
    tables = {
        "client": DerivationTable("source", every, "exact"),
        "a.b '\x00": DerivationTable("reasons", pa.table({"v": [float("nan")], "s": ["\x00"]}), "superset", "the difference's right side"),
        "result": DerivationTable("target", every.slice(0, 0), "unavailable", "x"),
    }
    given = DerivationRecord(
        run_id=run,
        target="judge = 'Reject'",
        created=datetime(2025, 1, 1, tzinfo=UTC),
        seconds=0.25,
        counts={"client": 2},
        guarantees={"client": Guarantee(level="superset", cause="doubtful", origin="unknown")},
        tables=tables,
        airflow={"dag_id": "d"},
    )
    derivation = store.save_derivation(given)
    found = store.derivation(derivation)
    assert list(found.tables) == list(tables)
    for name, table in tables.items():
        got = found.tables[name]
        assert (got.kind, got.guarantee, got.cause) == (table.kind, table.guarantee, table.cause)
        assert got.table.schema.equals(table.table.schema, check_metadata=True)
        assert all(
            same(left.combine_chunks(), right.combine_chunks()) for left, right in zip(got.table.columns, table.table.columns, strict=True)
        )
    assert {**found.__dict__, "tables": {}} == {**given.__dict__, "id": derivation, "tables": {}}
    later = store.save_derivation(DerivationRecord(run_id=run, target="true"))
    assert [(one.id, dict(one.tables)) for one in store.derivations(run)] == [(later, {}), (derivation, {})]


@pytest.mark.usefixtures("way")
def test_derivations_need_a_complete_run(store: Store, begin: Callable[[], str]) -> None:
    with pytest.raises(RunNotComplete, match="running"):
        store.save_derivation(DerivationRecord(run_id=begin(), target="t"))
    with pytest.raises(RunNotFound):
        store.save_derivation(DerivationRecord(run_id="x", target="t"))
    with pytest.raises(StoreError, match="no derivation 'x'"):
        store.derivation("x")


def test_the_chunk_that_was_stored_last(store: Store, run: str, begin: Callable[[], str]) -> None:
    """Of a run and a DAG run, whichever task and try of it stored the chunk; other DAG runs' names may contain this one's."""
    other = begin()
    store.publish_run(other)

    def stored(run_id: str, dag_run: str, chunk: int | None, **airflow: object) -> None:
        place = None
        if chunk is not None:
            asked = DerivationSetRecord(
                question=f"{run_id} {dag_run} {chunk}", run_id=run_id, occasion=dag_run, target="t", rows=90, chunk_rows=10
            )
            place = ChunkPlace(store.begin_derivation_set(asked).id, chunk, 9)
        store.save_derivation(DerivationRecord(run_id=run_id, target="t", airflow={"run_id": dag_run, **airflow}, place=place))

    stored(run, 'manual "1"', 0, try_number=2)
    stored(run, 'manual "1"', 3, try_number=1)
    stored(run, 'manual "1"', None)
    stored(run, 'manual "1"1', 5)
    stored(run, "manual 2", None)
    stored(other, 'manual "1"', 7)
    asked = [(run, 'manual "1"'), (run, "manual 2"), (other, 'manual "1"'), (other, "manual 2"), ("no\x00run", "manual 2")]
    found = store.last_chunks(asked)
    assert {key: one.chunk for key, one in found.items()} == {(run, 'manual "1"'): 3, (other, 'manual "1"'): 7}
    assert store.last_chunks([]) == {}


def test_reasons_are_kept_once(store: Store, run: str) -> None:
    rows = {f"d{i}": (f'"{i}"', '{"a": 1}') for i in range(25_000)}
    store.save_reasons(run, "f", rows)
    assert known(store, run, "f", [*rows, "unknown"]) == rows
    store.save_reasons(run, "f", {"d0": ('"other"', "{}"), "new": ("\x00", "{}")})
    assert known(store, run, "f", ["d0", "new"]) == {"d0": ('"0"', '{"a": 1}'), "new": ("\x00", "{}")}
    assert known(store, run, "g", ["d0"]) == {}
    assert known(store, run, "f", []) == {}
    store.save_reasons(run, "f", {})
